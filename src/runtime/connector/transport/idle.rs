//! Connections that nobody uses, the latest first.
//!
//! Pure and generic over what is kept. The latest first, so that those which a burst left behind
//! come to their end. Never: more than the pool allows, or one past its time handed out.

use std::collections::HashMap;

use tokio::time::Instant;

use super::pool::Origin;

/// What is kept, by host.
#[derive(Debug)]
pub(super) struct Idle<T> {
    hosts: HashMap<Origin, Vec<Kept<T>>>,
    per_host: usize,
    in_all: usize,
}

#[derive(Debug)]
struct Kept<T> {
    what: T,
    since: Instant,
    until: Instant,
}

impl<T> Idle<T> {
    /// Nothing yet.
    pub(super) fn new(per_host: usize, in_all: usize) -> Self {
        Self {
            hosts: HashMap::new(),
            per_host,
            in_all,
        }
    }

    /// Keeps `what` for `origin` until then; the oldest makes room if there is none.
    pub(super) fn put(&mut self, origin: &Origin, what: T, until: Instant) {
        if self.len() >= self.in_all {
            self.drop_oldest();
        }
        let since = Instant::now();
        let kept = self.hosts.entry(origin.clone()).or_default();
        if kept.len() >= self.per_host {
            kept.remove(0);
        }
        kept.push(Kept { what, since, until });
    }

    /// The latest for `origin` whose time is not over.
    pub(super) fn take(&mut self, origin: &Origin, now: Instant) -> Option<T> {
        let kept = self.hosts.get_mut(origin)?;
        while let Some(latest) = kept.pop() {
            if now < latest.until {
                return Some(latest.what);
            }
        }
        None
    }

    /// Drops whatever is past its time or no longer `alive`.
    pub(super) fn expire(&mut self, now: Instant, alive: impl Fn(&T) -> bool) {
        for kept in self.hosts.values_mut() {
            kept.retain(|kept| now < kept.until && alive(&kept.what));
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.hosts.values().map(Vec::len).sum()
    }

    fn drop_oldest(&mut self) {
        let hosts = self.hosts.values_mut();
        let oldest = hosts
            .filter(|kept| !kept.is_empty())
            .min_by_key(|kept| kept.first().map(|kept| kept.since));
        if let Some(kept) = oldest {
            kept.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn origin(name: &str) -> Origin {
        Origin::new(name)
    }

    #[tokio::test(start_paused = true)]
    async fn the_latest_comes_first_and_none_past_its_time() {
        let mut idle = Idle::new(9, 9);
        let (here, start) = (origin("here"), Instant::now());
        for (nth, seconds) in [(1, 60), (2, 60), (3, 4)] {
            idle.put(&here, nth, start + Duration::from_secs(seconds));
        }
        let later = start + Duration::from_secs(4);
        assert_eq!(idle.take(&here, later), Some(2), "3 is past its time");
        assert_eq!(idle.take(&origin("there"), later), None);
        assert_eq!(idle.take(&here, later), Some(1));
        assert_eq!(idle.take(&here, later), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_makes_room_for_the_latest() {
        let mut idle = Idle::new(2, 3);
        let until = Instant::now() + Duration::from_secs(60);
        let second = Duration::from_secs(1);
        for (host, nth) in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("b", 5)] {
            idle.put(&origin(host), nth, until);
            tokio::time::advance(second).await;
        }
        assert_eq!(idle.len(), 3);
        let now = Instant::now();
        assert_eq!(idle.take(&origin("a"), now), Some(3));
        assert_eq!(idle.take(&origin("a"), now), None);
        assert_eq!(idle.take(&origin("b"), now), Some(5));
        assert_eq!(idle.take(&origin("b"), now), Some(4));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_dead_or_late_is_dropped_unasked() {
        let mut idle = Idle::new(9, 9);
        let start = Instant::now();
        for (nth, seconds) in [(1, 5), (2, 60), (3, 60)] {
            idle.put(&origin("a"), nth, start + Duration::from_secs(seconds));
        }
        idle.expire(start + Duration::from_secs(5), |nth| *nth != 3);
        assert_eq!(idle.len(), 1);
        assert_eq!(idle.take(&origin("a"), start), Some(2));
    }
}

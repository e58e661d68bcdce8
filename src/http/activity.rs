//! Whether anything is under way on a connection.
//!
//! Neither version of HTTP tells: hyper has no bound on how long an HTTP/2 connection is idle, nor
//! on how long a client takes to show which version it speaks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::timeout};

/// The requests under way on one connection; a clone counts into the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<State>);

#[derive(Debug, Default)]
struct State {
    under_way: AtomicUsize,
    changed: Notify,
}

impl Activity {
    /// A request is under way until the returned value is dropped.
    pub(super) fn begin(&self) -> UnderWay {
        self.0.under_way.fetch_add(1, Ordering::AcqRel);
        self.0.changed.notify_one();
        UnderWay(self.clone())
    }

    /// Returns once nothing was under way for as long as `within`.
    pub(super) async fn idle_for(&self, within: Duration) {
        loop {
            let changed = self.0.changed.notified();
            if self.0.under_way.load(Ordering::Acquire) > 0 {
                changed.await;
            } else if timeout(within, changed).await.is_err() {
                return;
            }
        }
    }
}

/// One request, from its head to the end of its answer.
#[derive(Debug)]
pub(super) struct UnderWay(Activity);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let state = &self.0.0;
        state.under_way.fetch_sub(1, Ordering::AcqRel);
        state.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, advance};

    use super::*;

    const WITHIN: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_from_the_end_of_its_last_request() {
        let activity = Activity::default();
        let (first, second) = (activity.begin(), activity.begin());
        let began = Instant::now();
        let watching = activity.clone();
        let idle = tokio::spawn(async move { watching.idle_for(WITHIN).await });
        for request in [first, second] {
            advance(WITHIN * 3).await;
            assert!(!idle.is_finished());
            drop(request);
        }
        idle.await.unwrap();
        assert_eq!(began.elapsed().as_secs(), (WITHIN * 7).as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_short_request_begins_the_wait_anew() {
        let activity = Activity::default();
        let began = Instant::now();
        let watching = activity.clone();
        let idle = tokio::spawn(async move { watching.idle_for(WITHIN).await });
        tokio::time::sleep(WITHIN / 2).await;
        drop(activity.begin());
        idle.await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 15);
    }
}

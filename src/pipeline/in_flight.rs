//! The deliveries that this worker is walking with, so that the broker can be told and a cancel
//! can find them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::store::{AckToken, RequestKey};

/// Every delivery between its arrival and its settlement. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct InFlight(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    entries: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    ack: AckToken,
    told: Instant,
    named: Option<(RequestKey, CancellationToken)>,
}

/// A delivery's place in the table, until it is dropped.
#[derive(Debug)]
pub(super) struct Flight {
    table: InFlight,
    id: u64,
}

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enter(&self, ack: &AckToken) -> Flight {
        let mut table = self.lock();
        let id = table.next;
        table.next += 1;
        let entry = Entry {
            ack: ack.clone(),
            told: Instant::now(),
            named: None,
        };
        table.entries.insert(id, entry);
        Flight {
            table: self.clone(),
            id,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those of which the broker was last told `every` ago or longer; they count as told now.
    #[must_use]
    pub fn due(&self, every: Duration) -> Vec<AckToken> {
        let now = Instant::now();
        let mut table = self.lock();
        let due = table
            .entries
            .values_mut()
            .filter(|it| now - it.told >= every);
        due.map(|entry| {
            entry.told = now;
            entry.ack.clone()
        })
        .collect()
    }

    /// Whether a request is among them.
    #[must_use]
    pub fn has(&self, key: &RequestKey) -> bool {
        let table = self.lock();
        let mut named = table.entries.values().filter_map(|it| it.named.as_ref());
        named.any(|(named, _)| named == key)
    }

    /// Aborts a request if it is here.
    pub fn cancel(&self, key: &RequestKey) {
        let table = self.lock();
        let named = table.entries.values().filter_map(|it| it.named.as_ref());
        for (_, cancel) in named.filter(|(named, _)| named == key) {
            cancel.cancel();
        }
    }
}

#[cfg(test)]
impl InFlight {
    /// A walk with a request, until it is dropped.
    pub(crate) fn walking_with(&self, key: &RequestKey) -> impl Sized + use<> {
        let flight = self.enter(&AckToken::new("walking"));
        flight.named(key);
        flight
    }
}

impl Flight {
    /// Says which request the delivery is; the token ends when that request is cancelled.
    pub(super) fn named(&self, key: &RequestKey) -> CancellationToken {
        let cancel = CancellationToken::new();
        if let Some(entry) = self.table.lock().entries.get_mut(&self.id) {
            entry.named = Some((key.clone(), cancel.clone()));
        }
        cancel
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.table.lock().entries.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_broker_is_told_of_each_in_turn_and_of_none_that_left() {
        let every = Duration::from_secs(5);
        let in_flight = InFlight::default();
        let one = in_flight.enter(&AckToken::new("one"));
        tokio::time::advance(Duration::from_secs(3)).await;
        let _two = in_flight.enter(&AckToken::new("two"));
        assert_eq!(in_flight.due(every), []);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(in_flight.due(every), [AckToken::new("one")]);
        drop(one);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(in_flight.due(every), [AckToken::new("two")]);
        assert_eq!(in_flight.len(), 1);
    }

    #[test]
    fn a_cancel_reaches_every_delivery_of_its_request_and_no_other() {
        let key = |id: &str| RequestKey {
            target: "t".parse().unwrap(),
            request: id.parse().unwrap(),
        };
        let in_flight = InFlight::default();
        let flights = ["one", "two"].map(|it| in_flight.enter(&AckToken::new(it)));
        let cancels = [flights[0].named(&key("r1")), flights[1].named(&key("r2"))];
        in_flight.cancel(&key("r1"));
        assert_eq!(cancels.map(|it| it.is_cancelled()), [true, false]);
    }
}

//! Run slots: how many handlers of one target may work at once in this process.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::sleep,
};

use crate::handler::Waiting;

/// The slots of one target. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Slots {
    semaphore: Arc<Semaphore>,
    freed: Arc<Notify>,
    all: usize,
}

/// One slot, taken until it is dropped. Who only waits under it lets others have it meanwhile.
#[derive(Debug)]
pub struct Slot(Arc<Lent>);

/// A slot in the hands of whoever works under it.
#[derive(Debug)]
struct Lent {
    /// None where nobody else could have it.
    slots: Option<Slots>,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Slot {
    /// One that nobody else could have: for a walk on which no handler runs.
    #[must_use]
    pub fn of_its_own() -> Self {
        Self(Arc::new(Lent {
            slots: None,
            permit: Mutex::default(),
        }))
    }

    /// Waits on behalf of whoever works under this slot, and without it.
    pub(super) fn waiting(&self) -> Arc<dyn Waiting> {
        Arc::<Lent>::clone(&self.0)
    }
}

impl Drop for Slot {
    /// Also where somebody may still wait under it: the work is over.
    fn drop(&mut self) {
        self.0.give_back();
    }
}

impl Lent {
    fn keep(&self, permit: Option<OwnedSemaphorePermit>) -> Option<OwnedSemaphorePermit> {
        let mut kept = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
        mem::replace(&mut kept, permit)
    }

    fn give_back(&self) {
        let permit = self.keep(None);
        if let (Some(slots), Some(permit)) = (&self.slots, permit) {
            drop(permit);
            slots.nudge();
        }
    }

    async fn take_again(&self) {
        let Some(slots) = &self.slots else {
            return;
        };
        // Before anybody whom the broker would have to deliver to first.
        if let Ok(permit) = Arc::clone(&slots.semaphore).acquire_owned().await {
            self.keep(Some(permit));
            // There is one fewer to be pulled for.
            slots.nudge();
        }
    }
}

impl Waiting for Lent {
    fn wait(&self, delay: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.give_back();
            sleep(delay).await;
            self.take_again().await;
        })
    }
}

impl Slots {
    /// `all` free slots.
    #[must_use]
    pub fn new(all: usize) -> Self {
        Self {
            semaphore: Arc::new(Semaphore::new(all)),
            freed: Arc::default(),
            all,
        }
    }

    /// How many there are, free or taken.
    #[must_use]
    pub const fn all(&self) -> usize {
        self.all
    }

    /// How many are free.
    #[must_use]
    pub fn free(&self) -> usize {
        self.semaphore.available_permits()
    }

    /// Takes one if one is free.
    #[must_use]
    pub fn take(&self) -> Option<Slot> {
        let permit = Arc::clone(&self.semaphore).try_acquire_owned().ok()?;
        Some(Slot(Arc::new(Lent {
            slots: Some(self.clone()),
            permit: Mutex::new(Some(permit)),
        })))
    }

    /// Waits until a slot has been given back since this last returned. For one waiter.
    pub async fn freed(&self) {
        self.freed.notified().await;
    }

    /// Wakes whoever waits in [`Slots::freed`] for another reason.
    pub fn nudge(&self) {
        self.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn a_slot_is_free_again_when_it_is_dropped_and_its_waiter_is_told() {
        let slots = Slots::new(1);
        let slot = slots.take().expect("free");
        assert!(slots.take().is_none());
        drop(slot);
        slots.freed().await;
        assert_eq!((slots.free(), slots.all()), (1, 1));
    }
    #[tokio::test(start_paused = true)]
    async fn who_only_waits_lets_others_work_and_comes_before_those_who_come_later() {
        let slots = Slots::new(1);
        let first = slots.take().expect("free");
        let waiting = first.waiting();
        let mut waits = waiting.wait(Duration::from_secs(5));
        assert!(poll!(&mut waits).is_pending());
        let second = slots.take().expect("free while the first one waits");
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(poll!(&mut waits).is_pending(), "the second one works");
        drop(second);
        assert!(slots.take().is_none(), "it is the first one's turn");
        waits.await;
        drop(first);
        assert_eq!(slots.free(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slot_that_ends_while_somebody_waits_under_it_is_not_taken_again() {
        let slots = Slots::new(1);
        let slot = slots.take().expect("free");
        let waiting = slot.waiting();
        let mut waits = waiting.wait(Duration::from_secs(5));
        assert!(poll!(&mut waits).is_pending());
        drop(waits);
        drop(slot);
        assert_eq!(slots.free(), 1);
        let alone = Slot::of_its_own();
        alone.waiting().wait(Duration::from_secs(1)).await;
    }
}

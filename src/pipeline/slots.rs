//! Run slots: how many handlers of one target may work at once in this process.

use std::sync::Arc;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The slots of one target. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Slots {
    semaphore: Arc<Semaphore>,
    freed: Arc<Notify>,
    all: usize,
}

/// One slot, taken until it is dropped.
#[derive(Debug)]
pub struct Slot {
    // Dropped before `freed` tells, since fields drop in order.
    _permit: Option<OwnedSemaphorePermit>,
    _freed: Tell,
}

#[derive(Debug)]
struct Tell(Arc<Notify>);

impl Drop for Tell {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Slot {
    /// One that nobody else could have: for a walk on which no handler runs.
    #[must_use]
    pub fn of_its_own() -> Self {
        Self {
            _permit: None,
            _freed: Tell(Arc::default()),
        }
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
        Some(Slot {
            _permit: Some(permit),
            _freed: Tell(Arc::clone(&self.freed)),
        })
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
}

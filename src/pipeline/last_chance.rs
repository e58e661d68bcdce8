//! Last chances: executions after which a request is poisoned, should the worker die once more.
//!
//! A death counts against everything that the worker ran, not only against what killed it, and
//! what died together is delivered again together. So the last time a request runs without another
//! such one beside it: then only what kills its worker itself is taken for poison.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::store::Attempt;

/// Lets one last chance at a time run in this process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LastChances {
    max_attempts: Attempt,
    turns: Arc<Semaphore>,
}

/// Leave to run, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn(
    #[expect(dead_code, reason = "held for what its end does")] Option<OwnedSemaphorePermit>,
);

impl LastChances {
    /// For requests that are executed at most `max_attempts` times.
    #[must_use]
    pub fn new(max_attempts: Attempt) -> Self {
        Self {
            max_attempts,
            turns: Arc::new(Semaphore::new(1)),
        }
    }

    /// Leave to run `attempt`; `None` while another request has its last chance. Where each request
    /// has one chance only, none waits for another.
    pub(super) fn turn(&self, attempt: Attempt) -> Option<Turn> {
        if attempt < self.max_attempts || attempt == Attempt::new(1) {
            return Some(Turn(None));
        }
        let turn = Arc::clone(&self.turns).try_acquire_owned().ok()?;
        Some(Turn(Some(turn)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_last_chances_wait_for_each_other() {
        let chances = LastChances::new(Attempt::new(3));
        let _earlier: Vec<_> = [1, 2, 2]
            .map(|number| chances.turn(Attempt::new(number)).expect("a turn"))
            .into();
        let last = chances.turn(Attempt::new(3)).expect("a turn");
        assert!(chances.turn(Attempt::new(3)).is_none());
        drop(last);
        // Also one that ran more often, under another configuration.
        let _last = chances.turn(Attempt::new(4)).expect("a turn");
        assert!(chances.turn(Attempt::new(3)).is_none());
    }

    #[test]
    fn where_one_chance_is_all_there_is_nobody_waits() {
        let chances = LastChances::new(Attempt::new(1));
        let turns = [1, 1].map(|number| chances.turn(Attempt::new(number)));
        assert!(turns.iter().all(Option::is_some));
    }
}

//! What a handler may spend, and what it has spent.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::contract::{Exhausted, Limits, Spent};

/// The budget of one request. Clones share what is spent.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    limits: Limits,
    spent: Arc<Mutex<Accounts>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Accounts {
    /// What stands in the request's record: its earlier turns, its children, and what is granted to
    /// those that run.
    recorded: Spent,
    /// What its record does not know yet.
    turn: Spent,
}

impl Budget {
    /// What may be spent, and what was spent of it before.
    #[must_use]
    pub fn new(limits: Limits, recorded: Spent) -> Self {
        let accounts = Accounts {
            recorded,
            turn: Spent::default(),
        };
        Self {
            limits,
            spent: Arc::new(Mutex::new(accounts)),
        }
    }

    /// What may be spent.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether `more` can be spent.
    ///
    /// # Errors
    /// The first limit that would be exceeded.
    pub fn allows(&self, more: Spent) -> Result<(), Exhausted> {
        let mut spent = self.all();
        spent += more;
        self.limits.hold(&spent)
    }

    /// It was spent, whether it was allowed or not; the request's record is told at its end.
    pub fn spend(&self, more: Spent) {
        self.accounts().turn += more;
    }

    /// The record says that so much was spent, this turn's share that it knows included.
    pub fn recorded(&self, recorded: Spent) {
        self.accounts().recorded = recorded;
    }

    /// What was spent in this turn and stands in no record yet.
    #[must_use]
    pub fn unrecorded(&self) -> Spent {
        self.accounts().turn
    }

    /// What is left.
    #[must_use]
    pub fn left(&self) -> Limits {
        self.limits.after(&self.all())
    }

    fn all(&self) -> Spent {
        let Accounts { mut recorded, turn } = *self.accounts();
        recorded += turn;
        recorded
    }

    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(requests: u64) -> Spent {
        Spent {
            requests,
            ..Spent::default()
        }
    }

    #[test]
    fn what_was_spent_before_and_in_this_turn_is_within_one_limit() {
        let limits = Limits {
            requests: Some(5),
            ..Limits::default()
        };
        let budget = Budget::new(limits, requests(3));
        budget.spend(requests(1));
        assert_eq!(budget.left().requests, Some(1));
        assert_eq!(budget.allows(requests(1)), Ok(()));
        let refused = budget.allows(requests(2)).unwrap_err();
        assert_eq!((refused.reached, refused.limit), (6, 5));
        budget.recorded(requests(4));
        assert_eq!(budget.left().requests, Some(0));
        assert_eq!(budget.unrecorded(), requests(1));
    }
}

//! What a handler may spend, and what it has spent in this turn.

use std::sync::{Arc, Mutex, PoisonError};

use crate::contract::{Exhausted, Limits, Spent};

/// The budget of one request. Clones share what is spent.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    limits: Limits,
    /// What was spent in earlier turns, children included, and what is granted to children.
    before: Spent,
    now: Arc<Mutex<Spent>>,
}

impl Budget {
    /// What may be spent, and what was spent of it before.
    #[must_use]
    pub fn new(limits: Limits, before: Spent) -> Self {
        Self {
            limits,
            before,
            now: Arc::default(),
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
        let mut spent = self.before;
        spent += self.spent();
        spent += more;
        self.limits.hold(&spent)
    }

    /// It was spent, whether it was allowed or not.
    pub fn spend(&self, more: Spent) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) += more;
    }

    /// What was spent in this turn.
    #[must_use]
    pub fn spent(&self) -> Spent {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is left.
    #[must_use]
    pub fn left(&self) -> Limits {
        let mut spent = self.before;
        spent += self.spent();
        self.limits.after(&spent)
    }
}

//! Whether this process can do its work now: named checks, each fine or with a reason.
//!
//! Whoever knows sets its own check; `http` shows them all.
//! Never: a probe of its own; reading the checks costs no round trip.

use std::sync::{Arc, PoisonError, RwLock};

/// What a check says before its owner has said anything.
const STARTING: &str = "starting";

/// All checks of a process; a clone shows the same.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<RwLock<Vec<Check>>>);

#[derive(Debug)]
struct Check {
    name: &'static str,
    // `None` while all is well.
    why_not: Option<String>,
}

/// A check that is not fine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    /// The check's name.
    pub check: &'static str,
    /// Its owner's reason.
    pub why: String,
}

/// The hand that sets one check.
#[derive(Clone, Debug)]
pub struct Setter {
    health: Health,
    at: usize,
}

impl Health {
    /// Adds a check, which is not fine until its owner says so.
    #[must_use = "a check that nobody sets is never fine"]
    pub fn check(&self, name: &'static str) -> Setter {
        let mut checks = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let at = checks.len();
        checks.push(Check {
            name,
            why_not: Some(STARTING.into()),
        });
        Setter {
            health: self.clone(),
            at,
        }
    }

    /// The checks that are not fine; the process is ready when there is none.
    #[must_use]
    pub fn not_ready(&self) -> Vec<NotReady> {
        let checks = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let not_ready = |check: &Check| {
            check.why_not.clone().map(|why| NotReady {
                check: check.name,
                why,
            })
        };
        checks.iter().filter_map(not_ready).collect()
    }
}

impl Setter {
    /// All is well.
    pub fn ok(&self) {
        self.set(None);
    }

    /// Something is not, and this is what; no secret, since anyone who asks is told.
    pub fn failing(&self, why: impl Into<String>) {
        self.set(Some(why.into()));
    }

    fn set(&self, why_not: Option<String>) {
        let mut checks = self
            .health
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(check) = checks.get_mut(self.at) {
            check.why_not = why_not;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_ready_once_every_check_is_fine() {
        let health = Health::default();
        let (broker, store) = (health.check("broker"), health.check("store"));
        broker.ok();
        let starting = NotReady {
            check: "store",
            why: STARTING.into(),
        };
        assert_eq!(health.not_ready(), [starting]);
        store.ok();
        assert_eq!(health.not_ready(), []);
        broker.failing("disconnected");
        assert_eq!(health.not_ready()[0].why, "disconnected");
    }
}

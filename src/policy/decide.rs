//! The decision: may this caller ask that target for this, at this depth?
//!
//! Never: reads a file, looks at a clock. The checks stand in one order and the first that fails
//! answers: enabled, target, action, hop.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::contract::{ActionName, ErrorCode, Hop, PurutoName, ResultError, TimeoutSec};

/// What one caller may ask of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whose policy it is: the name of the folder that the file lies in.
    pub(super) caller: PurutoName,
    pub(super) enabled: bool,
    /// The first depth that is denied.
    pub(super) max_hops: u64,
    pub(super) default_timeout: TimeoutSec,
    pub(super) allowed_targets: BTreeSet<PurutoName>,
    /// A target that is absent here takes every action.
    pub(super) allowed_actions: BTreeMap<PurutoName, BTreeSet<ActionName>>,
}

impl Policy {
    /// Whose policy it is.
    #[must_use]
    pub const fn caller(&self) -> &PurutoName {
        &self.caller
    }

    /// How long a request of this caller may take when it does not say so itself.
    #[must_use]
    pub const fn default_timeout(&self) -> Duration {
        self.default_timeout.duration()
    }

    /// The targets that it names, each with the actions that it names for it; every action where
    /// there are none named.
    pub fn named(&self) -> impl Iterator<Item = (&PurutoName, Option<&BTreeSet<ActionName>>)> {
        let targets = self.allowed_targets.iter();
        targets.map(|target| (target, self.allowed_actions.get(target)))
    }

    /// Decides one request.
    ///
    /// # Errors
    /// The first check that fails, in the order enabled, target, action, hop.
    pub fn decide(&self, target: &PurutoName, action: &ActionName, hop: Hop) -> Result<(), Denial> {
        let caller = || self.caller.clone();
        if !self.enabled {
            return Err(Denial::Disabled { caller: caller() });
        }
        if !self.allowed_targets.contains(target) {
            return Err(Denial::Target {
                caller: caller(),
                target: target.clone(),
            });
        }
        let listed = self.allowed_actions.get(target);
        if listed.is_some_and(|actions| !actions.contains(action)) {
            return Err(Denial::Action {
                caller: caller(),
                target: target.clone(),
                action: action.clone(),
            });
        }
        if u64::from(hop.depth()) >= self.max_hops {
            return Err(Denial::TooDeep {
                caller: caller(),
                hop,
                max_hops: self.max_hops,
            });
        }
        Ok(())
    }
}

/// Why a request is refused. The message names the file, relative to the workers folder, and the
/// key in it: the two things that its owner would change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// The caller has no policy file.
    #[error("{caller} may call nobody: the workers folder has no {caller}/.puruto-ipc.json")]
    NoPolicy {
        /// Who asked.
        caller: PurutoName,
    },
    /// The caller's policy file has mistakes and never held a usable policy.
    #[error("{caller} may call nobody: {caller}/.puruto-ipc.json has errors, see `puruto check`")]
    Broken {
        /// Who asked.
        caller: PurutoName,
    },
    /// The caller's policy is switched off.
    #[error("{caller}/.puruto-ipc.json#enabled is false: {caller} may call nobody")]
    Disabled {
        /// Who asked.
        caller: PurutoName,
    },
    /// The caller may not call this target.
    #[error("{caller}/.puruto-ipc.json#allowed_targets does not list {target}")]
    Target {
        /// Who asked.
        caller: PurutoName,
        /// Who was asked.
        target: PurutoName,
    },
    /// The caller may not ask this target for this action.
    #[error("{caller}/.puruto-ipc.json#allowed_actions.{target} does not list {action}")]
    Action {
        /// Who asked.
        caller: PurutoName,
        /// Who was asked.
        target: PurutoName,
        /// For what.
        action: ActionName,
    },
    /// The chain of delegations is too long for the caller.
    #[error("{caller}/.puruto-ipc.json#max_hops is {max_hops}: hop {} is too deep", hop.depth())]
    TooDeep {
        /// Who asked.
        caller: PurutoName,
        /// How deep the request stands.
        hop: Hop,
        /// The first depth that is denied.
        max_hops: u64,
    },
    /// The target does not do this, whoever asks.
    #[error("{target}/worker.toml#actions does not list {action}")]
    NotServed {
        /// Who was asked.
        target: PurutoName,
        /// For what.
        action: ActionName,
    },
}

impl From<Denial> for ResultError {
    fn from(denial: Denial) -> Self {
        Self::new(ErrorCode::Denied, denial.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        Policy {
            caller: name("puruto-reservations"),
            enabled: true,
            max_hops: 2,
            default_timeout: TimeoutSec::new(120).expect("in range"),
            allowed_targets: [name("puruto-financial")].into(),
            allowed_actions: [(name("puruto-financial"), [action("pay_invoice")].into())].into(),
        }
    }

    fn name(raw: &str) -> PurutoName {
        raw.parse().expect("a name")
    }

    fn action(raw: &str) -> ActionName {
        raw.parse().expect("an action")
    }

    fn ask(policy: &Policy, target: &str, what: &str, hop: u64) -> Result<(), String> {
        policy
            .decide(&name(target), &action(what), Hop::new(hop).expect("a hop"))
            .map_err(|denial| denial.to_string())
    }

    #[test]
    fn what_is_listed_passes() {
        assert_eq!(ask(&policy(), "puruto-financial", "pay_invoice", 0), Ok(()));
    }

    #[test]
    fn the_first_of_enabled_target_action_hop_that_fails_answers() {
        // Everything is wrong at first; each step mends what answered.
        let mut strict = policy();
        strict.enabled = false;
        let denied = |policy: &Policy, target, what, hop| {
            ask(policy, target, what, hop).expect_err("denied")
        };
        assert_eq!(
            denied(&strict, "puruto-data", "drop", 2),
            "puruto-reservations/.puruto-ipc.json#enabled is false: \
             puruto-reservations may call nobody"
        );
        strict.enabled = true;
        assert_eq!(
            denied(&strict, "puruto-data", "drop", 2),
            "puruto-reservations/.puruto-ipc.json#allowed_targets does not list puruto-data"
        );
        assert_eq!(
            denied(&strict, "puruto-financial", "drop", 2),
            "puruto-reservations/.puruto-ipc.json#allowed_actions.puruto-financial \
             does not list drop"
        );
        assert_eq!(
            denied(&strict, "puruto-financial", "pay_invoice", 2),
            "puruto-reservations/.puruto-ipc.json#max_hops is 2: hop 2 is too deep"
        );
    }

    #[test]
    fn with_two_hops_allowed_hops_0_and_1_pass_and_2_does_not() {
        let passes = |hop| ask(&policy(), "puruto-financial", "pay_invoice", hop).is_ok();
        assert_eq!([0, 1, 2, 64].map(passes), [true, true, false, false]);
    }

    #[test]
    fn a_target_without_a_list_of_actions_takes_every_action() {
        let mut lax = policy();
        lax.allowed_actions.clear();
        assert_eq!(ask(&lax, "puruto-financial", "whatever", 0), Ok(()));
    }

    #[test]
    fn a_target_with_an_empty_list_of_actions_takes_none() {
        let mut shut = policy();
        shut.allowed_actions
            .insert(name("puruto-financial"), BTreeSet::new());
        assert!(ask(&shut, "puruto-financial", "pay_invoice", 0).is_err());
    }

    #[test]
    fn no_allowed_target_denies_every_target_even_with_actions_listed() {
        let mut shut = policy();
        shut.allowed_targets.clear();
        assert!(ask(&shut, "puruto-financial", "pay_invoice", 0).is_err());
    }

    #[test]
    fn a_denial_becomes_a_denied_result_with_its_message() {
        let denial = Denial::NoPolicy {
            caller: name("stranger"),
        };
        let error = ResultError::from(denial);
        assert_eq!(error.code, ErrorCode::Denied);
        assert_eq!(
            error.message,
            "stranger may call nobody: the workers folder has no stranger/.puruto-ipc.json"
        );
    }
}

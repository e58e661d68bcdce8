//! Which Purutos are agents to others, and what each can be asked to do.

use std::sync::Arc;

use crate::{
    contract::{ActionName, Hop, PurutoName},
    policy::{LivePolicies, Policy},
    puruto::{Actions, Fleet, Puruto, WorkerSpec},
};

/// What a Puruto is asked to do that serves whatever it is asked, when the caller names nothing.
const ANYTHING: &str = "ask";

/// The Purutos of a workers folder, as far as the gateway may ask them.
#[derive(Clone, Debug)]
pub struct Agents {
    fleet: Arc<Fleet>,
    policies: LivePolicies,
    caller: PurutoName,
}

/// A Puruto that can be asked.
#[derive(Clone, Debug)]
pub(super) struct Agent<'a> {
    pub(super) puruto: &'a Puruto,
    pub(super) worker: &'a WorkerSpec,
    /// What it can be asked to do, never empty.
    pub(super) actions: Vec<ActionName>,
    takes: Takes,
}

/// Which actions an agent takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// Those that are listed.
    Listed,
    /// Any; one is listed for whoever names none.
    Any,
}

/// Why there is no action for a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoAction {
    #[error("say what is to be done in metadata.action: one of {}", listed(.0))]
    Unsaid(Vec<ActionName>),
    #[error("metadata.action is none that can be asked for: use one of {}", listed(.0))]
    Unknown(Vec<ActionName>),
}

fn listed(actions: &[ActionName]) -> String {
    let names: Vec<_> = actions.iter().map(ActionName::as_str).collect();
    names.join(", ")
}

impl Agents {
    /// Those of `fleet` that the policy of `caller` lets the gateway ask.
    #[must_use]
    pub const fn new(fleet: Arc<Fleet>, policies: LivePolicies, caller: PurutoName) -> Self {
        Self {
            fleet,
            policies,
            caller,
        }
    }

    /// As whom they are asked.
    pub(super) const fn caller(&self) -> &PurutoName {
        &self.caller
    }

    /// The agent of this name, if there is one that may be asked for anything.
    pub(super) fn get(&self, name: &PurutoName) -> Option<Agent<'_>> {
        let puruto = self.fleet.get(name)?;
        let worker = puruto.worker.as_ref()?;
        let policies = self.policies.current();
        let policy = policies.get(&self.caller)?;
        let (mut actions, takes) = offered(policy, name, worker)?;
        actions.retain(|action| policy.decide(name, action, Hop::default()).is_ok());
        (!actions.is_empty()).then_some(Agent {
            puruto,
            worker,
            actions,
            takes,
        })
    }
}

fn offered(
    policy: &Policy,
    name: &PurutoName,
    worker: &WorkerSpec,
) -> Option<(Vec<ActionName>, Takes)> {
    let (_, allowed) = policy.named().find(|(target, _)| *target == name)?;
    Some(match (allowed, &worker.actions) {
        (Some(allowed), served) => {
            let both = allowed.iter().filter(|action| served.contain(action));
            (both.cloned().collect(), Takes::Listed)
        }
        (None, Actions::Only(served)) => (served.keys().cloned().collect(), Takes::Listed),
        (None, Actions::Every) => {
            let anything = ANYTHING.parse().expect("a word is a name");
            (vec![anything], Takes::Any)
        }
    })
}

impl Agent<'_> {
    /// What it is asked to do by a caller who names `asked`; the one thing that it does where
    /// nothing is named.
    pub(super) fn action(&self, asked: Option<&ActionName>) -> Result<ActionName, NoAction> {
        match (asked, self.actions.as_slice()) {
            (None, [only]) => Ok(only.clone()),
            (None, several) => Err(NoAction::Unsaid(several.to_vec())),
            (Some(asked), listed) if self.takes == Takes::Any || listed.contains(asked) => {
                Ok(asked.clone())
            }
            (Some(_), listed) => Err(NoAction::Unknown(listed.to_vec())),
        }
    }
}

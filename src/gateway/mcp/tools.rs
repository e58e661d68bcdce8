//! What of the fleet is a tool: whatever the gateway's policy allows and the target serves.
//!
//! Never: who asks; that is the admission's to say.

use std::{borrow::Cow, collections::BTreeSet};

use rmcp::model::Tool;

use super::arguments;
use crate::{
    contract::{ActionName, Hop, PurutoName},
    policy::PolicySet,
    puruto::{Actions, Fleet, Puruto, WorkerSpec},
};

/// Longest name that the protocol takes.
const NAME_BYTES_MAX: usize = 128;

/// Between target and action.
const SEPARATOR: &str = "__";

/// Between those of which one has the separator in itself.
const SEPARATOR_OF_ODD: &str = ".";

/// Stands for the action of a target of which every action may be asked.
const ANY: &str = "any";

/// Something that can be asked of the fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// Whom.
    pub(super) target: PurutoName,
    /// For what; the caller names it where there is none.
    pub(super) action: Option<ActionName>,
    description: Option<String>,
    needs_approval: bool,
}

/// What `caller` may ask of the fleet, sorted by target and action.
pub(super) fn offered(fleet: &Fleet, policies: &PolicySet, caller: &PurutoName) -> Vec<Offer> {
    let Some(policy) = policies.get(caller) else {
        return Vec::new();
    };
    let any: ActionName = ANY.parse().expect("an action's name");
    let offers = policy
        .named()
        .flat_map(|(target, named)| of_target(fleet.get(target), target, named));
    offers
        .filter(|offer| {
            let action = offer.action.as_ref().unwrap_or(&any);
            let decided = policies.decide(caller, &offer.target, action, Hop::default());
            decided.is_ok() && offer.name().len() <= NAME_BYTES_MAX
        })
        .collect()
}

/// What can be asked of one target, where the policy names these actions, or none in particular.
fn of_target(
    puruto: Option<&Puruto>,
    target: &PurutoName,
    named: Option<&BTreeSet<ActionName>>,
) -> Vec<Offer> {
    let worker = match puruto {
        // It only calls others.
        Some(Puruto { worker: None, .. }) => return Vec::new(),
        Some(puruto) => puruto.worker.as_ref(),
        // Its folder is elsewhere.
        None => None,
    };
    let served = |action: &&ActionName| worker.is_none_or(|it| it.actions.contain(action));
    let actions: Vec<Option<ActionName>> = match (named, worker.map(|it| &it.actions)) {
        (Some(named), _) => named.iter().filter(served).cloned().map(Some).collect(),
        (None, Some(Actions::Only(listed))) => listed.keys().cloned().map(Some).collect(),
        (None, Some(Actions::Every) | None) => vec![None],
    };
    let offers = actions.into_iter();
    offers.map(|it| Offer::new(target, it, worker)).collect()
}

impl Offer {
    fn new(target: &PurutoName, action: Option<ActionName>, worker: Option<&WorkerSpec>) -> Self {
        let asks = |worker: &WorkerSpec| {
            let action = action.as_ref();
            action.is_some_and(|action| worker.actions.needs_approval(action))
        };
        Self {
            target: target.clone(),
            needs_approval: worker.is_some_and(asks),
            description: worker.and_then(|it| it.description.clone()),
            action,
        }
    }

    /// `target__action`, or `target` where the caller names the action. No two offers share a name:
    /// those in which the separator stands anyway are written with a dot, which no name has.
    pub(super) fn name(&self) -> String {
        let target = self.target.as_str();
        let action = self.action.as_ref().map(ActionName::as_str);
        let is_odd = |name: &str| name.contains(SEPARATOR);
        match action {
            None if is_odd(target) => format!("{target}{SEPARATOR_OF_ODD}{ANY}"),
            None => target.to_owned(),
            Some(action) if is_odd(target) || is_odd(action) => {
                format!("{target}{SEPARATOR_OF_ODD}{action}")
            }
            Some(action) => format!("{target}{SEPARATOR}{action}"),
        }
    }

    /// The same as a client is told of it.
    pub(super) fn tool(&self) -> Tool {
        let title = match &self.action {
            Some(action) => format!("{}: {action}", self.target),
            None => self.target.to_string(),
        };
        let schema = arguments::schema(self);
        let described = Cow::from(self.description());
        Tool::new_with_raw(self.name(), Some(described), schema).with_title(title)
    }

    fn description(&self) -> String {
        let asks = match &self.action {
            Some(action) => format!("Asks {} for `{action}`.", self.target),
            None => format!("Asks {} for the action that is named.", self.target),
        };
        let described = self.description.as_deref();
        let described = described.map(|it| it.trim_end_matches('.'));
        let approved = "A person has to approve each call before it is carried out.";
        let parts = [
            described.map(|it| format!("{it}.")),
            Some(asks),
            self.needs_approval.then(|| approved.to_owned()),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        parts.join(" ")
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
pub(super) mod tests;

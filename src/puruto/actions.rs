//! What a Puruto can be asked to do, and what of it somebody has to approve first.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::contract::ActionName;

/// Whether a person has to approve a request before it is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approval {
    /// It is served as it comes.
    #[default]
    Never,
    /// Each time.
    Needed,
}

/// What a Puruto can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actions {
    /// Whatever a caller names.
    Every,
    /// These, of which there is at least one.
    Only(BTreeMap<ActionName, Approval>),
}

impl Actions {
    /// Whether `action` is one of them.
    #[must_use]
    pub fn contain(&self, action: &ActionName) -> bool {
        match self {
            Self::Every => true,
            Self::Only(listed) => listed.contains_key(action),
        }
    }

    /// Whether a person has to approve a request for `action` before it is served.
    #[must_use]
    pub fn needs_approval(&self, action: &ActionName) -> bool {
        match self {
            Self::Every => false,
            Self::Only(listed) => listed.get(action) == Some(&Approval::Needed),
        }
    }
}

impl FromIterator<ServedAction> for Actions {
    /// No action listed means every action; one that is listed twice needs approval if either says
    /// so.
    fn from_iter<I: IntoIterator<Item = ServedAction>>(listed: I) -> Self {
        let mut actions = BTreeMap::new();
        for ServedAction { name, approval } in listed {
            let stands = actions.entry(name).or_insert(approval);
            *stands = approval.max(*stands);
        }
        if actions.is_empty() {
            Self::Every
        } else {
            Self::Only(actions)
        }
    }
}

/// One action that a Puruto lists.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServedAction {
    name: ActionName,
    #[serde(default, deserialize_with = "needed_if_true")]
    approval: Approval,
}

impl From<ActionName> for ServedAction {
    /// One that nobody has to approve.
    fn from(name: ActionName) -> Self {
        Self {
            name,
            approval: Approval::Never,
        }
    }
}

fn needed_if_true<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Approval, D::Error> {
    let needed = bool::deserialize(from)?;
    Ok(if needed {
        Approval::Needed
    } else {
        Approval::Never
    })
}

//! Delegation as values: what a Puruto asks of others in the middle of a request of its own.
//!
//! Never: a hop or an ancestry that somebody said of himself; the fleet keeps both.

use std::{fmt, num::NonZeroU16};

use serde::{Deserialize, Serialize};

use super::{ActionName, Fingerprint, Limits, PurutoName, RequestId, TimeoutSec};

/// Which of a request's delegations, counting from 0; an agent counts its steps.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Step(u32);

impl Step {
    /// The step with this number, from 0.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number, from 0.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a child stands among those of its parent.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ChildPlace {
    /// The delegation.
    pub step: Step,
    /// Which child of it, from 0.
    pub index: u16,
}

impl ChildPlace {
    /// The id of the child in this place: UUIDv5 over the parent's target and id, the step and the
    /// index. So a parent that is executed again asks for the same children, whoever executes it.
    #[must_use]
    pub fn child_of(self, parent_target: &PurutoName, parent: &RequestId) -> RequestId {
        let Self { step, index } = self;
        // A target has no slash and the two numbers have none: the parts cannot run together.
        let name = format!("{parent_target}/{step}/{index}/{parent}");
        let id = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, name.as_bytes());
        RequestId::from_uuid(id)
    }
}

/// One request that a Puruto makes of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildRequest {
    /// Who is asked.
    pub target: PurutoName,
    /// What it is asked to do.
    pub action: ActionName,
    /// The instruction, at most [`super::PROMPT_BYTES_MAX`] bytes.
    pub prompt: String,
    /// How long it may take; never beyond its parent's deadline.
    pub timeout_sec: Option<TimeoutSec>,
    /// What it may spend of what its parent has left; an equal share when nothing is said.
    pub budget: Option<Limits>,
}

/// How many children have to end before their parent goes on; the rest is cancelled then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// Every one of them.
    #[default]
    All,
    /// The first that ends.
    Any,
    /// So many.
    Count(NonZeroU16),
}

impl Join {
    /// How many of `children` are waited for.
    #[must_use]
    pub fn of(self, children: u16) -> u16 {
        match self {
            Self::All => children,
            Self::Any => children.min(1),
            Self::Count(count) => count.get().min(children),
        }
    }
}

/// What a Puruto asks of others at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegation {
    /// Which of its request's delegations this is.
    pub step: Step,
    /// Who is asked for what, in the order of their indices.
    pub children: Vec<ChildRequest>,
    /// For how many of them it waits.
    pub join: Join,
}

/// A request in somebody's ancestry, as far as it takes to know it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    /// Who was asked.
    pub target: PurutoName,
    /// To do what.
    pub action: ActionName,
    /// The digest of its prompt.
    pub prompt: Fingerprint,
}

/// The requests above one, the first caller's first. As many as the hop says, unless the first
/// caller gave itself a hop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ancestry(Vec<Ancestor>);

impl Ancestry {
    /// Whether the same was asked of the same target above: a cycle.
    #[must_use]
    pub fn repeats(&self, request: &Ancestor) -> bool {
        self.0.contains(request)
    }

    /// The ancestry of those whom `request`, which has this one, asks.
    #[must_use]
    pub fn below(&self, request: Ancestor) -> Self {
        let mut below = self.clone();
        below.0.push(request);
        below
    }

    /// From the first caller's request down.
    #[must_use]
    pub fn as_slice(&self) -> &[Ancestor] {
        &self.0
    }
}

impl fmt::Display for Ancestry {
    /// `target/action > target/action`, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, ancestor) in self.0.iter().enumerate() {
            let arrow = if at == 0 { "" } else { " > " };
            write!(f, "{arrow}{}/{}", ancestor.target, ancestor.action)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(step: u32, index: u16) -> ChildPlace {
        let step = Step::new(step);
        ChildPlace { step, index }
    }

    #[test]
    fn a_childs_id_is_a_function_of_its_parent_and_its_place() {
        let ids = |target: &str, parent: &str, place: ChildPlace| {
            place.child_of(&target.parse().unwrap(), &parent.parse().unwrap())
        };
        let first = ids("a", "1", place(0, 0));
        assert_eq!(first, ids("a", "1", place(0, 0)));
        for other in [
            ids("b", "1", place(0, 0)),
            ids("a", "2", place(0, 0)),
            ids("a", "1", place(1, 0)),
            ids("a", "1", place(0, 1)),
            // The parts cannot run together.
            ids("a", "0/1", place(0, 0)),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_join_waits_for_no_more_than_there_are() {
        let two = Join::Count(NonZeroU16::new(2).unwrap());
        for (join, children, waited) in [
            (Join::All, 3, 3),
            (Join::Any, 3, 1),
            (Join::Any, 0, 0),
            (two, 3, 2),
            (two, 1, 1),
        ] {
            assert_eq!(join.of(children), waited, "{join:?} of {children}");
        }
    }

    #[test]
    fn only_the_same_question_to_the_same_target_is_a_cycle() {
        let asked = |target: &str, action: &str, prompt: &str| Ancestor {
            target: target.parse().unwrap(),
            action: action.parse().unwrap(),
            prompt: Fingerprint::of_bytes(prompt.as_bytes()),
        };
        let ancestry = Ancestry::default()
            .below(asked("a", "plan", "trip"))
            .below(asked("b", "pay", "42"));
        assert!(ancestry.repeats(&asked("a", "plan", "trip")));
        assert!(!ancestry.repeats(&asked("a", "plan", "another trip")));
        assert!(!ancestry.repeats(&asked("b", "plan", "trip")));
        assert_eq!(ancestry.to_string(), "a/plan > b/pay");
        let text = serde_json::to_string(&ancestry).unwrap();
        assert_eq!(serde_json::from_str::<Ancestry>(&text).unwrap(), ancestry);
    }
}

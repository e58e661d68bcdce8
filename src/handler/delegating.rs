//! Delegation as a handler sees it: it plans, ends its turn, and is called again with what came of
//! it, perhaps in another process.
//!
//! Never: a child that was not checked. `Planned` is made by `Delegating::plan` alone.

use std::fmt;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    contract::{ActionName, Delegation, ErrorCode, Outcome, ResultError, Step},
    store::{RequestKey, kin::Park},
};

/// What the turn of a handler came to.
#[derive(Debug)]
pub enum Ended {
    /// The result: `{"summary": ..., "output": ...}`.
    Answer(Value),
    /// It goes on when others have done their part. Until then it holds nothing: no slot, no
    /// memory, no worker.
    Delegate(Planned),
}

/// A delegation that breaks no rule.
#[derive(Debug)]
pub struct Planned(Park);

impl Planned {
    /// What `park` says. For whoever has checked it.
    #[must_use]
    pub const fn checked(park: Park) -> Self {
        Self(park)
    }

    /// What is to be written down in the parent's record.
    #[must_use]
    pub const fn park(&self) -> &Park {
        &self.0
    }
}

/// The rule that a delegation would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The delegating Puruto's own `.puruto-ipc.json` does not allow it, or the chain is too deep.
    Policy,
    /// The same was asked of the same target further up.
    Cycle,
    /// More children at once than may be.
    MaxChildren,
    /// More requests below the chain's first one than may be.
    MaxDescendants,
    /// More than there is left to spend.
    Budget,
    /// A child that could not be published: its prompt is too long, or its time is up.
    Request,
}

/// Why a delegation is refused. For an agent it is an observation like any other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// The rule.
    pub rule: Rule,
    /// What broke it, with the value and the limit.
    pub message: String,
}

impl Refused {
    /// As an observation.
    #[must_use]
    pub fn to_observation(&self) -> Value {
        json!({"error": self.message, "rule": self.rule})
    }

    /// As the answer of a handler that cannot do without.
    #[must_use]
    pub fn to_result_error(&self) -> ResultError {
        let code = match self.rule {
            Rule::Policy | Rule::Cycle | Rule::MaxChildren | Rule::Request => ErrorCode::Denied,
            Rule::MaxDescendants | Rule::Budget => ErrorCode::BudgetExhausted,
        };
        ResultError::new(code, self.message.clone()).with("rule", json!(self.rule))
    }
}

/// What came of one child.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildOutcome {
    /// The request.
    pub key: RequestKey,
    /// What it was asked to do.
    pub action: ActionName,
    /// Its answer; `None` where its parent went on without it.
    pub outcome: Option<Outcome>,
}

impl ChildOutcome {
    /// As an observation: `{"request_id", "target", "action", "status", "result" | "error"}`, with
    /// `status` `ok`, `error` or `dropped`.
    #[must_use]
    pub fn to_observation(&self) -> Value {
        let mut told = json!({
            "request_id": self.key.request,
            "target": self.key.target,
            "action": self.action,
        });
        let (status, said) = match &self.outcome {
            Some(Outcome::Ok(result)) => ("ok", Some(("result", result.clone()))),
            Some(Outcome::Error(error)) => ("error", Some(("error", json!(error)))),
            None => ("dropped", None),
        };
        if let Value::Object(told) = &mut told {
            told.insert("status".to_owned(), status.into());
            told.extend(said.map(|(key, value)| (key.to_owned(), value)));
        }
        told
    }
}

/// The power to ask others.
pub trait Delegating: Send + Sync + fmt::Debug {
    /// Checks a delegation against every rule. Nobody is asked before the handler ends its turn
    /// with the plan.
    ///
    /// # Errors
    /// The first rule that it breaks.
    fn plan(&self, delegation: Delegation) -> Result<Planned, Refused>;

    /// What came of the delegation `step`, in the order of its children; `None` unless it was made
    /// and is over.
    fn outcome(&self, step: Step) -> BoxFuture<'_, Option<Vec<ChildOutcome>>>;

    /// The delegations of this request that are over, oldest first.
    fn over(&self) -> &[Step];
}

/// For a handler that asks nobody.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Delegating for Nobody {
    fn plan(&self, _: Delegation) -> Result<Planned, Refused> {
        Err(Refused {
            rule: Rule::Policy,
            message: "nothing can be delegated here".to_owned(),
        })
    }

    fn outcome(&self, _: Step) -> BoxFuture<'_, Option<Vec<ChildOutcome>>> {
        Box::pin(std::future::ready(None))
    }

    fn over(&self) -> &[Step] {
        &[]
    }
}

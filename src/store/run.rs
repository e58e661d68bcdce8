//! What the store keeps of an agent's run: three frontiers, each one step of its revision.

use std::{fmt, future::Future};

use serde::{Deserialize, Serialize};

use super::{RequestKey, StoreFault, kin::Owned};
use crate::{
    clock::WallTime,
    contract::{Exhausted, Good, Limits, Micros, Spent, Step},
};

/// Counts the changes of a run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Revision(u64);

impl Revision {
    /// The revision with this number; a new run has 0.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Nobody has begun.
    Queued,
    /// Its model is asked, or its decision carried out.
    Running,
    /// It waits for others.
    Waiting,
    /// It has its report.
    Completed,
    /// Somebody cancelled it.
    Cancelled,
    /// It used up what it may use.
    BudgetExhausted,
    /// It ended with an error.
    Failed,
}

impl RunStatus {
    /// Whether nothing changes it any more.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Cancelled | Self::BudgetExhausted | Self::Failed => true,
            Self::Queued | Self::Running | Self::Waiting => false,
        }
    }

    /// Its name, in records and for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Failed => "failed",
        }
    }

    /// The status with this name.
    #[must_use]
    pub fn recorded(name: &str) -> Option<Self> {
        let all = [
            Self::Queued,
            Self::Running,
            Self::Waiting,
            Self::Completed,
            Self::Cancelled,
            Self::BudgetExhausted,
            Self::Failed,
        ];
        all.into_iter().find(|it| it.as_str() == name)
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A decision that was carried out, with what was observed. Both are JSON, opaque to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What was decided.
    pub decision: String,
    /// What came of it.
    pub result: String,
}

/// A run as its record keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where it stands.
    pub status: RunStatus,
    /// How many decisions were carried out.
    pub step: Step,
    /// How often its model was asked, failed calls included.
    pub requests: u32,
    /// How often it changed.
    pub revision: Revision,
    /// The decision that was accepted and is not carried out.
    pub pending: Option<String>,
    /// The route to its model, fixed when it was created.
    pub model: String,
    /// What it is to find out.
    pub goal: String,
    /// Everything that was carried out, oldest first.
    pub past: Vec<Operation>,
    /// What it reported, once it has.
    pub report: Option<String>,
    /// Why it ended without a report, as JSON, where [`Checkpoint::End`] said so.
    pub reason: Option<String>,
    /// What it and its children spent, and what its children may still spend.
    pub spent: Spent,
}

/// Something that happened to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEvent {
    /// Counts the run's events, from 1.
    pub seq: u64,
    /// When, by the store's clock.
    pub at: WallTime,
    /// What happened: `created`, `decision.accepted`, `operation.completed`, `stopped`, ...
    pub kind: String,
    /// What there is to say of it, as JSON.
    pub payload: String,
}

/// What a run is created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// The route to its model.
    pub model: String,
    /// What it is to find out.
    pub goal: String,
}

impl NewRun {
    /// What its first event says.
    pub(super) fn told(&self) -> String {
        serde_json::json!({"goal": self.goal, "model": self.model}).to_string()
    }
}

/// How far a run may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// How many decisions may be carried out.
    pub steps: u32,
    /// How often its model may be asked.
    pub requests: u32,
    /// What else it and its children may spend.
    pub tree: Limits,
}

impl RunLimits {
    /// The limit that one more request of `run` would break, if any, in the order in which they
    /// are held. Of tokens and money nobody knows what the next request takes: it may still be
    /// made while any is left.
    #[must_use]
    pub fn reached(&self, run: &Run, spent: &Spent) -> Option<RunExhausted> {
        if run.step.number() >= self.steps {
            return Some(RunExhausted::Steps);
        }
        if run.requests >= self.requests {
            return Some(RunExhausted::Requests);
        }
        let Micros(cost) = spent.cost;
        let money = self.tree.cost.map(|it| it.0).filter(|_| cost > 0);
        let asked = spent.requests.saturating_add(1);
        for (good, used, reached, limit) in [
            (Good::Requests, spent.requests, asked, self.tree.requests),
            (Good::Tokens, spent.tokens, spent.tokens, self.tree.tokens),
            (Good::Cost, cost, cost, money),
        ] {
            if let Some(limit) = limit.filter(|limit| used >= *limit) {
                return Some(RunExhausted::Tree(Exhausted {
                    good,
                    reached,
                    limit,
                }));
            }
        }
        None
    }
}

/// A change of a run, refused unless it stands where it is believed to stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// Its model is about to be asked: requests and revision + 1. Refused while a decision is
    /// pending, and where a limit is reached.
    Reserve {
        /// How far it may go.
        limits: RunLimits,
    },
    /// A decision was accepted: it is pending, revision + 1.
    Accept {
        /// The revision that the reservation led to.
        revision: Revision,
        /// The decision.
        decision: String,
        /// What the calls for it spent, beyond the one request that was reserved.
        spent: Spent,
    },
    /// The pending decision was carried out: step and revision + 1, nothing is pending.
    Execute {
        /// The revision at which it was accepted.
        revision: Revision,
        /// What came of it.
        operation: Operation,
        /// The report, where that is what was decided: the run is completed.
        report: Option<String>,
    },
    /// What an inference that led to no decision spent; nothing else changes.
    Charge {
        /// What it spent beyond the one request that was reserved.
        spent: Spent,
    },
    /// It ends without a report: `failed` or `budget_exhausted`.
    End {
        /// How.
        status: RunStatus,
        /// Why, as JSON.
        reason: String,
    },
}

/// What a checkpoint is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointAnswer {
    /// It is written; the run has this revision now.
    Written(Revision),
    /// The run stands elsewhere: read it again.
    Stale,
    /// A limit is reached: the run ends as `budget_exhausted`, and is written so.
    Exhausted(RunExhausted),
    /// The claim is not ours any more, or the run is cancelled: nothing was changed.
    Lost,
}

/// Which limit of a run was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunExhausted {
    /// Steps.
    Steps,
    /// Requests of its own.
    Requests,
    /// Something that it shares with its children.
    Tree(Exhausted),
}

/// The runs of agents.
pub trait Runs: Send + Sync + 'static {
    /// Makes a run where there is none, and reads it. What it was created with stays.
    ///
    /// # Errors
    /// The store did not answer in time or refused; making it again changes nothing.
    fn create(
        &self,
        key: &RequestKey,
        new: &NewRun,
    ) -> impl Future<Output = Result<Run, StoreFault>> + Send;

    /// Where a run stands; `None` where there is none. Changes nothing.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn run(&self, key: &RequestKey)
    -> impl Future<Output = Result<Option<Run>, StoreFault>> + Send;

    /// What happened to a run after the event `after`, oldest first.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn events(
        &self,
        key: &RequestKey,
        after: u64,
    ) -> impl Future<Output = Result<Vec<RunEvent>, StoreFault>> + Send;

    /// Changes a run, fenced by its claim and its revision. The same checkpoint again, after one
    /// whose answer got lost, is answered `Stale`: read the run to know.
    ///
    /// # Errors
    /// The store did not answer in time or refused; whether it changed is then unknown.
    fn checkpoint(
        &self,
        owned: &Owned,
        checkpoint: &Checkpoint,
    ) -> impl Future<Output = Result<CheckpointAnswer, StoreFault>> + Send;
}

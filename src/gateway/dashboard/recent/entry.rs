//! What is kept of one request, and how it changes by what is told of it, in whatever order.

use std::{sync::Arc, time::Duration};

use super::Key;
use crate::{
    clock::WallTime,
    contract::{CorrelationId, ErrorCode, PurutoName, RequestId},
};

/// How far a request is, as far as anything was told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It was published.
    Queued,
    /// A worker has it.
    Running,
    /// It waits for others.
    Waiting,
    /// It waits for somebody's verdict.
    Approval,
    /// Its result is ok.
    Ok,
    /// Its result is an error.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl Phase {
    /// Each of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Approval,
        Self::Ok,
        Self::Failed,
        Self::Cancelled,
    ];

    /// In a word.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Approval => "approval",
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether there is a result.
    pub(crate) const fn is_done(self) -> bool {
        match self {
            Self::Ok | Self::Failed | Self::Cancelled => true,
            Self::Queued | Self::Running | Self::Waiting | Self::Approval => false,
        }
    }

    /// How a result leaves its request.
    pub(crate) const fn of_result(code: Option<ErrorCode>) -> Self {
        match code {
            None => Self::Ok,
            Some(ErrorCode::Cancelled) => Self::Cancelled,
            Some(_) => Self::Failed,
        }
    }
}

/// Something that was told of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    /// Who is asked.
    pub(crate) target: PurutoName,
    /// The request.
    pub(crate) request: RequestId,
    /// The chain to which it belongs.
    pub(crate) correlation: CorrelationId,
    /// When it happened.
    pub(crate) at: WallTime,
    /// What.
    pub(crate) what: What<Box<str>>,
}

impl Told {
    /// When its request was there at the latest.
    pub(crate) fn began(&self) -> WallTime {
        match &self.what {
            What::Asked { .. } | What::Happened { .. } => self.at,
            What::Answered { duration, .. } => self.at.saturating_sub(*duration),
        }
    }
}

/// What was told, with names as `N`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What<N> {
    /// It was published.
    Asked {
        /// Who asks.
        caller: N,
        /// What for.
        action: N,
    },
    /// It is on its way.
    Happened {
        /// How far.
        phase: Phase,
        /// In which execution.
        attempt: Option<u32>,
        /// Who has it.
        worker: Option<N>,
    },
    /// It has its result.
    Answered {
        /// How it failed, if it did.
        code: Option<ErrorCode>,
        /// After how many executions.
        attempt: Option<u32>,
        /// Who answered.
        worker: Option<N>,
        /// From the first claim to the commit.
        duration: Duration,
        /// Who asked, where its result says so.
        caller: Option<N>,
        /// What for, where its result says so.
        action: Option<N>,
    },
}

impl<N> What<N> {
    pub(super) fn map<M>(self, mut name: impl FnMut(N) -> M) -> What<M> {
        match self {
            Self::Asked { caller, action } => What::Asked {
                caller: name(caller),
                action: name(action),
            },
            Self::Happened {
                phase,
                attempt,
                worker,
            } => What::Happened {
                phase,
                attempt,
                worker: worker.map(name),
            },
            Self::Answered {
                code,
                attempt,
                worker,
                duration,
                caller,
                action,
            } => What::Answered {
                code,
                attempt,
                worker: worker.map(&mut name),
                duration,
                caller: caller.map(&mut name),
                action: action.map(name),
            },
        }
    }
}

/// What is kept of one request.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) chain: Box<str>,
    pub(super) caller: Option<Arc<str>>,
    pub(super) action: Option<Arc<str>>,
    pub(super) worker: Option<Arc<str>>,
    pub(super) phase: Phase,
    pub(super) code: Option<ErrorCode>,
    pub(super) attempts: u32,
    /// When it was there at the latest.
    pub(super) began: WallTime,
    /// Of the last thing that moved it on.
    pub(super) moved: WallTime,
    pub(super) duration: Option<Duration>,
}

impl Entry {
    pub(super) const fn new(key: Key, chain: Box<str>, at: WallTime) -> Self {
        Self {
            key,
            chain,
            caller: None,
            action: None,
            worker: None,
            phase: Phase::Queued,
            code: None,
            attempts: 0,
            began: at,
            moved: WallTime::from_unix_millis(0),
            duration: None,
        }
    }

    /// Takes in what was told; whether anything is new. A result is the last word, and of what was
    /// told before it the latest counts.
    pub(super) fn hear(&mut self, at: WallTime, what: What<Arc<str>>) -> bool {
        match what {
            What::Asked { caller, action } => {
                let is_new = self.caller.is_none();
                self.caller.get_or_insert(caller);
                self.action.get_or_insert(action);
                self.began = self.began.min(at);
                is_new
            }
            What::Happened { .. } if self.phase.is_done() || at < self.moved => false,
            What::Happened {
                phase,
                attempt,
                worker,
            } => {
                self.phase = phase;
                self.attempts = self.attempts.max(attempt.unwrap_or(0));
                self.worker = worker.or_else(|| self.worker.take());
                self.began = self.began.min(at);
                self.moved = at;
                true
            }
            What::Answered { .. } if self.phase.is_done() => false,
            What::Answered {
                code,
                attempt,
                worker,
                duration,
                caller,
                action,
            } => {
                self.caller = self.caller.take().or(caller);
                self.action = self.action.take().or(action);
                self.phase = Phase::of_result(code);
                self.code = code;
                self.attempts = self.attempts.max(attempt.unwrap_or(0));
                self.worker = worker.or_else(|| self.worker.take());
                self.began = self.began.min(at.saturating_sub(duration));
                self.moved = at;
                self.duration = Some(duration);
                true
            }
        }
    }
}

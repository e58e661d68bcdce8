//! Where an execution stands, decided from what the fleet knows of its request.
//!
//! Never: I/O, and never a state that goes back: what has ended has ended.

use std::time::Duration;

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    client::{Standing, Status},
    clock::WallTime,
    contract::{ErrorCode, InvocationResult, Outcome, ResultError},
    store::{Record, RecordState, executions::Execution, kin::WaitsOn},
};

/// How long after its deadline a request of which nothing is known is waited for: by then the fleet
/// has answered everything that ever reached it.
const UNHEARD_OF_FOR: Duration = Duration::from_secs(60);

/// How an execution stands, in the words of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionStatus {
    /// It is stored and waits for a worker.
    Accepted,
    /// A worker took it.
    Running,
    /// It has its output.
    Completed,
    /// It has an error, or was cancelled.
    Failed,
    /// Its time passed.
    Timeout,
}

impl ExecutionStatus {
    /// Whether it stays so for good.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Timeout)
    }
}

/// What of an execution can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// How far it is.
    pub phase: Phase,
    /// When a worker first took it.
    pub started: Option<WallTime>,
    /// When its result was committed, where that is known.
    pub completed: Option<WallTime>,
    /// How often it was executed, where that is known.
    pub attempts: Option<u32>,
    /// Whether it waits until somebody approves of it.
    pub wants_approval: bool,
}

/// How far an execution is.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// No worker has taken it.
    Accepted,
    /// A worker took it; it may wait for others, or for its next worker.
    Running,
    /// It ended so.
    Ended(Outcome),
}

/// Nothing is kept of it any more but that it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl State {
    /// Before anybody has looked.
    pub const ACCEPTED: Self = Self {
        phase: Phase::Accepted,
        started: None,
        completed: None,
        attempts: None,
        wants_approval: false,
    };

    /// Where `execution` stands at `now`, by what the fleet says of its request; results are `kept`
    /// for so long.
    pub fn of(
        execution: &Execution,
        status: Option<Status>,
        now: WallTime,
        kept: Duration,
    ) -> Result<Self, Gone> {
        let Some(status) = status else {
            return Self::unheard_of(execution, now, kept);
        };
        let completed = || Some(status.first_claimed?.saturating_add(status.age?));
        let (phase, completed) = match &status.standing {
            Standing::Done(None) => return Err(Gone),
            Standing::Done(Some(result)) => (Phase::Ended(result.outcome.clone()), completed()),
            Standing::Intended | Standing::Flagged => (Phase::Accepted, None),
            Standing::Claimed { .. } | Standing::Released | Standing::Waiting { .. } => {
                (Phase::Running, None)
            }
        };
        Ok(Self {
            phase,
            completed,
            started: status.first_claimed,
            attempts: status.attempts,
            wants_approval: matches!(
                status.standing,
                Standing::Waiting {
                    on: WaitsOn::Verdict,
                    ..
                }
            ),
        })
    }

    /// Nobody has claimed it: it is queued, or was never published since its gateway died before it
    /// had answered, or all of it is forgotten.
    fn unheard_of(execution: &Execution, now: WallTime, kept: Duration) -> Result<Self, Gone> {
        let over_for = now.since(execution.deadline.at());
        if over_for >= kept {
            return Err(Gone);
        }
        if over_for < UNHEARD_OF_FOR {
            return Ok(Self::ACCEPTED);
        }
        let message = "no worker took it before its time passed";
        let error = ResultError::new(ErrorCode::Timeout, message);
        Ok(Self {
            phase: Phase::Ended(Outcome::Error(error)),
            completed: Some(execution.deadline.at()),
            ..Self::ACCEPTED
        })
    }

    /// The state of what a worker has taken and nobody has finished, by its record.
    pub fn under_way(record: &Record) -> Option<Self> {
        let wants_approval = match record.state {
            RecordState::Intended | RecordState::Flagged | RecordState::Done { .. } => return None,
            RecordState::Held { .. } | RecordState::Released => false,
            RecordState::Waiting { on, .. } => on == WaitsOn::Verdict,
        };
        Some(Self {
            phase: Phase::Running,
            started: record.first_claimed,
            completed: None,
            attempts: Some(record.attempts),
            wants_approval,
        })
    }

    /// The state once this result is heard of; when it was committed is read later.
    pub fn ended(&self, result: InvocationResult, heard: WallTime) -> Self {
        Self {
            phase: Phase::Ended(result.outcome),
            completed: self.completed.or(Some(heard)),
            wants_approval: false,
            ..self.clone()
        }
    }

    /// The state as it was while somebody worked on it.
    #[must_use]
    pub fn before_its_end(&self) -> Self {
        Self {
            phase: Phase::Running,
            completed: None,
            ..self.clone()
        }
    }

    /// The state in the words of the protocol.
    pub fn status(&self) -> ExecutionStatus {
        match &self.phase {
            Phase::Accepted => ExecutionStatus::Accepted,
            Phase::Running => ExecutionStatus::Running,
            Phase::Ended(Outcome::Ok(_)) => ExecutionStatus::Completed,
            Phase::Ended(Outcome::Error(error)) if error.code == ErrorCode::Timeout => {
                ExecutionStatus::Timeout
            }
            Phase::Ended(Outcome::Error(_)) => ExecutionStatus::Failed,
        }
    }

    /// Whether `later` tells of something that this does not; what has ended does not change.
    pub fn gives_way_to(&self, later: &Self) -> bool {
        !self.status().is_final() && (later.status() >= self.status()) && self != later
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        contract::{Deadline, Fingerprint},
        store::{RequestKey, SessionId},
    };

    const CREATED: WallTime = WallTime::from_unix_millis(1_780_000_000_000);
    const KEPT: Duration = Duration::from_secs(3_600);

    fn execution() -> Execution {
        Execution {
            key: RequestKey {
                target: "t".parse().unwrap(),
                request: "r".parse().unwrap(),
            },
            correlation: "c".parse().unwrap(),
            skill: "a.b".into(),
            fingerprint: Fingerprint::of_bytes(b""),
            created: CREATED,
            deadline: Deadline::of(CREATED, Duration::from_secs(30), None),
        }
    }

    fn after(seconds: u64) -> WallTime {
        CREATED.saturating_add(Duration::from_secs(seconds))
    }

    fn status(standing: Standing) -> Status {
        Status {
            target: None,
            correlation: None,
            attempts: Some(1),
            first_claimed: Some(after(1)),
            age: Some(Duration::from_secs(2)),
            standing,
        }
    }

    fn result(outcome: Outcome) -> Standing {
        Standing::Done(Some(InvocationResult {
            request_id: "r".parse().unwrap(),
            correlation_id: "c".parse().unwrap(),
            duration: Duration::from_secs(2),
            outcome,
        }))
    }

    fn error(code: ErrorCode) -> Standing {
        result(Outcome::Error(ResultError::new(code, "so")))
    }

    fn state_of(standing: Standing) -> State {
        State::of(&execution(), Some(status(standing)), after(5), KEPT).unwrap()
    }

    #[test]
    fn every_standing_is_one_of_the_five_statuses() {
        let held = Standing::Claimed {
            owner: SessionId::recorded("s"),
            owner_alive: false,
            cancelled: true,
        };
        let waiting = |on| Standing::Waiting {
            on,
            cancelled: false,
        };
        for (standing, expected) in [
            (Standing::Intended, ExecutionStatus::Accepted),
            (Standing::Flagged, ExecutionStatus::Accepted),
            (held, ExecutionStatus::Running),
            (Standing::Released, ExecutionStatus::Running),
            (waiting(WaitsOn::Children), ExecutionStatus::Running),
            (result(Outcome::Ok(json!({}))), ExecutionStatus::Completed),
            (error(ErrorCode::Timeout), ExecutionStatus::Timeout),
            (error(ErrorCode::Cancelled), ExecutionStatus::Failed),
            (error(ErrorCode::IpcError), ExecutionStatus::Failed),
        ] {
            let told = format!("{standing:?}");
            assert_eq!(state_of(standing).status(), expected, "{told}");
        }
        assert!(state_of(waiting(WaitsOn::Verdict)).wants_approval);
    }

    #[test]
    fn an_execution_is_completed_when_its_result_was_committed() {
        let state = state_of(result(Outcome::Ok(json!({}))));
        assert_eq!(state.started, Some(after(1)));
        assert_eq!(state.completed, Some(after(3)));
    }

    #[test]
    fn what_nobody_has_heard_of_is_queued_then_late_then_gone() {
        let at = |now| State::of(&execution(), None, now, KEPT).map(|it| it.status());
        assert_eq!(at(after(5)), Ok(ExecutionStatus::Accepted));
        assert_eq!(at(after(31)), Ok(ExecutionStatus::Accepted));
        assert_eq!(at(after(30 + 60)), Ok(ExecutionStatus::Timeout));
        assert_eq!(at(after(30 + 3_600)), Err(Gone));
        let forgotten = Some(status(Standing::Done(None)));
        assert_eq!(
            State::of(&execution(), forgotten, after(5), KEPT),
            Err(Gone)
        );
    }

    #[test]
    fn what_has_ended_gives_way_to_nothing_and_nothing_goes_back() {
        let running = state_of(Standing::Released);
        let done = state_of(result(Outcome::Ok(json!({}))));
        let failed = state_of(error(ErrorCode::Cancelled));
        assert!(State::ACCEPTED.gives_way_to(&running));
        assert!(running.gives_way_to(&done));
        assert!(!running.gives_way_to(&State::ACCEPTED));
        assert!(!running.gives_way_to(&running));
        assert!(!done.gives_way_to(&failed));
        assert!(!failed.gives_way_to(&done));
    }
}

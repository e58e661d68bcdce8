//! Faults on command: which operation shall fail, and when.

use std::time::Duration;

use super::super::StoreFault;

/// The time-out that an injected fault reports.
const FAULT_AFTER: Duration = Duration::from_secs(2);

/// An operation of the ports, to say which one shall fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// [`crate::store::Claims::claim`].
    Claim,
    /// [`crate::store::Claims::commit`].
    Commit,
    /// [`crate::store::Claims::settle`].
    Settle,
    /// [`crate::store::Claims::release`].
    Release,
    /// [`crate::store::Claims::correct`].
    Correct,
    /// [`crate::store::Sessions::open`].
    Open,
    /// [`crate::store::Sessions::renew`].
    Renew,
    /// [`crate::store::Sessions::time`].
    Time,
    /// [`crate::store::Sessions::close`].
    Close,
    /// [`crate::store::Supervision::lead`].
    Lead,
    /// [`crate::store::Supervision::answers_pings`].
    AnswersPings,
    /// [`crate::store::Supervision::roster`].
    Roster,
    /// [`crate::store::Supervision::held`].
    Held,
    /// [`crate::store::Supervision::serving`].
    Serving,
    /// [`crate::store::Supervision::ever_served`].
    EverServed,
    /// [`crate::store::Supervision::evict`].
    Evict,
    /// [`crate::store::Records::targets`].
    Targets,
    /// [`crate::store::Records::read`].
    Read,
    /// [`crate::store::Records::cancel`].
    Cancel,
    /// [`crate::store::Circuits::admit`].
    CircuitAdmit,
    /// [`crate::store::Circuits::report`].
    CircuitReport,
    /// [`crate::store::Runs::create`].
    RunCreate,
    /// [`crate::store::Runs::run`].
    RunRead,
    /// [`crate::store::Runs::events`].
    RunEvents,
    /// [`crate::store::Runs::checkpoint`].
    Checkpoint,
    /// [`crate::store::executions::Executions::begin`].
    ExecutionBegin,
    /// [`crate::store::executions::Executions::find`].
    ExecutionFind,
    /// [`crate::store::executions::Executions::list`].
    ExecutionList,
    /// [`crate::store::Waits::park`].
    Park,
    /// [`crate::store::Waits::intend`].
    Intend,
    /// [`crate::store::Waits::let_go`].
    LetGo,
    /// [`crate::store::Waits::child_ended`].
    ChildEnded,
    /// [`crate::store::Waits::wait`].
    Wait,
    /// [`crate::store::Waits::outbox`].
    Outbox,
    /// [`crate::store::Waits::resume`].
    Resume,
    /// [`crate::store::Waits::children`].
    Children,
    /// [`crate::store::Waits::due`].
    Due,
    /// [`crate::store::Waits::ask_verdict`].
    AskVerdict,
    /// [`crate::store::Waits::decide`].
    Decide,
    /// [`crate::store::Waits::note_root`].
    NoteRoot,
    /// [`crate::store::Waits::roots`].
    Roots,
}

impl Op {
    pub(super) const fn timed_out(self) -> StoreFault {
        StoreFault::TimedOut {
            operation: self.name(),
            after: FAULT_AFTER,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Commit => "commit",
            Self::Settle => "settle",
            Self::Release => "release",
            Self::Correct => "correct",
            Self::Open => "session_open",
            Self::Renew => "session_renew",
            Self::Time => "time",
            Self::Close => "session_close",
            Self::Lead => "lead",
            Self::AnswersPings => "session_answers",
            Self::Roster => "session_roster",
            Self::Held => "session_held",
            Self::Serving => "serving",
            Self::EverServed => "ever_served",
            Self::Evict => "session_evict",
            Self::Targets => "targets",
            Self::Read => "read",
            Self::Cancel => "cancel",
            Self::CircuitAdmit => "circuit_admit",
            Self::CircuitReport => "circuit_report",
            Self::RunCreate => "run_create",
            Self::RunRead => "run_read",
            Self::RunEvents => "run_events",
            Self::Checkpoint => "checkpoint",
            Self::ExecutionBegin => "execution_begin",
            Self::ExecutionFind => "execution",
            Self::ExecutionList => "execution_list",
            Self::Park => "park",
            Self::Intend => "intend",
            Self::LetGo => "let_go",
            Self::ChildEnded => "child_ended",
            Self::Wait => "wait_read",
            Self::Outbox => "outbox",
            Self::Resume => "resume",
            Self::Children => "children",
            Self::Due => "due",
            Self::AskVerdict => "ask_verdict",
            Self::Decide => "decide",
            Self::NoteRoot => "note_root",
            Self::Roots => "roots",
        }
    }
}

/// When a call fails: both look the same to whoever called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It times out and has not been carried out.
    BeforeEffect,
    /// It times out and has been carried out.
    AfterEffect,
}

//! An execution as a task of the protocol: its states, its documents, what it came to.

use serde_json::{Map, Value, json};

use super::version::Version;
use crate::{
    contract::{ErrorCode, Outcome},
    gateway::{
        executions::{Phase, State},
        skills::answer_of,
    },
    store::executions::Execution,
};

/// The one artifact of a task: what the agent answers.
const ARTIFACT: &str = "answer";

/// How a task stands, in the words of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskState {
    Submitted,
    Working,
    InputRequired,
    Completed,
    Failed,
    Canceled,
    Rejected,
}

impl TaskState {
    /// The state of an execution that stands so.
    pub(super) fn of(state: &State) -> Self {
        match &state.phase {
            Phase::Accepted => Self::Submitted,
            Phase::Running if state.wants_approval => Self::InputRequired,
            Phase::Running => Self::Working,
            Phase::Ended(Outcome::Ok(_)) => Self::Completed,
            Phase::Ended(Outcome::Error(error)) => match error.code {
                ErrorCode::Cancelled => Self::Canceled,
                ErrorCode::Denied => Self::Rejected,
                ErrorCode::TargetNotFound
                | ErrorCode::Timeout
                | ErrorCode::InvalidResponse
                | ErrorCode::IpcError
                | ErrorCode::BudgetExhausted => Self::Failed,
            },
        }
    }

    /// Whether it stays so for good.
    pub(super) const fn is_final(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => true,
            Self::Submitted | Self::Working | Self::InputRequired => false,
        }
    }

    /// Whether whoever waits for its answer is answered.
    pub(super) const fn is_settled(self) -> bool {
        self.is_final() || matches!(self, Self::InputRequired)
    }

    const fn word(self, version: Version) -> &'static str {
        let [old, new] = match self {
            Self::Submitted => ["submitted", "TASK_STATE_SUBMITTED"],
            Self::Working => ["working", "TASK_STATE_WORKING"],
            Self::InputRequired => ["input-required", "TASK_STATE_INPUT_REQUIRED"],
            Self::Completed => ["completed", "TASK_STATE_COMPLETED"],
            Self::Failed => ["failed", "TASK_STATE_FAILED"],
            Self::Canceled => ["canceled", "TASK_STATE_CANCELED"],
            Self::Rejected => ["rejected", "TASK_STATE_REJECTED"],
        };
        match version {
            Version::V03 => old,
            Version::V10 => new,
        }
    }
}

/// Whether a piece of an artifact goes on with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// It is the first; forget what came before.
    First,
    /// It goes on.
    Next,
    /// It is all of it; forget what came before.
    Whole,
}

/// An execution in the words of one version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told<'e> {
    pub(super) execution: &'e Execution,
    pub(super) version: Version,
}

impl Told<'_> {
    /// The task as it stands.
    pub(super) fn task(&self, state: &State) -> Value {
        let mut task = self.kind("task");
        task.insert("id".to_owned(), json!(self.execution.key.request));
        task.insert("contextId".to_owned(), json!(self.execution.correlation));
        task.insert("status".to_owned(), self.status(state));
        if let Some(answer) = self.answer(state) {
            task.insert("artifacts".to_owned(), json!([self.artifact(answer)]));
        }
        task.into()
    }

    /// What sending a message is answered, and the first event of a stream.
    pub(super) fn sent(&self, state: &State) -> Value {
        self.wrapped("task", self.task(state))
    }

    /// The event that tells of a state.
    pub(super) fn turned(&self, state: &State) -> Value {
        let mut event = self.event("status-update");
        event.insert("status".to_owned(), self.status(state));
        if self.version == Version::V03 {
            let last = TaskState::of(state).is_final();
            event.insert("final".to_owned(), last.into());
        }
        self.wrapped("statusUpdate", event.into())
    }

    /// The event that tells what the agent says; none where there is nothing.
    pub(super) fn answered(&self, state: &State) -> Option<Value> {
        let parts = self.answer(state)?;
        Some(self.said_in(parts, Piece::Whole))
    }

    /// The event that tells a piece of what the agent says.
    pub(super) fn said(&self, text: &str, piece: Piece) -> Value {
        self.said_in(vec![self.text(text)], piece)
    }

    fn said_in(&self, parts: Vec<Value>, piece: Piece) -> Value {
        let mut event = self.event("artifact-update");
        event.insert("artifact".to_owned(), self.artifact(parts));
        event.insert("append".to_owned(), (piece == Piece::Next).into());
        event.insert("lastChunk".to_owned(), (piece == Piece::Whole).into());
        self.wrapped("artifactUpdate", event.into())
    }

    fn event(&self, kind: &str) -> Map<String, Value> {
        let mut event = self.kind(kind);
        event.insert("taskId".to_owned(), json!(self.execution.key.request));
        event.insert("contextId".to_owned(), json!(self.execution.correlation));
        event
    }

    /// The older version says in each object what it is, ...
    fn kind(&self, kind: &str) -> Map<String, Value> {
        let kinds = match self.version {
            Version::V03 => Some(("kind".to_owned(), kind.into())),
            Version::V10 => None,
        };
        kinds.into_iter().collect()
    }

    /// ... the newer around it.
    fn wrapped(&self, name: &str, value: Value) -> Value {
        match self.version {
            Version::V03 => value,
            Version::V10 => json!({ name: value }),
        }
    }

    fn status(&self, state: &State) -> Value {
        let word = TaskState::of(state).word(self.version);
        let since = state.completed.or(state.started);
        let since = since.unwrap_or(self.execution.created);
        let mut status = json!({"state": word, "timestamp": since.to_string()});
        if let (Some(text), Value::Object(status)) = (explanation(state), &mut status) {
            status.insert("message".to_owned(), self.message(&text));
        }
        status
    }

    fn message(&self, text: &str) -> Value {
        let mut message = self.kind("message");
        let id = &self.execution.key.request;
        let role = match self.version {
            Version::V03 => "agent",
            Version::V10 => "ROLE_AGENT",
        };
        for (key, value) in [
            ("messageId", json!(format!("{id}.status"))),
            ("role", json!(role)),
            ("parts", json!([self.text(text)])),
            ("taskId", json!(id)),
            ("contextId", json!(self.execution.correlation)),
        ] {
            message.insert(key.to_owned(), value);
        }
        message.into()
    }

    /// What the agent answers, as parts: its text, and its JSON where it has some.
    fn answer(&self, state: &State) -> Option<Vec<Value>> {
        let Phase::Ended(Outcome::Ok(result)) = &state.phase else {
            return None;
        };
        let (text, data) = answer_of(result);
        let mut parts = vec![self.text(text)];
        // The older version knows data as objects only.
        let data = data.filter(|it| it.is_object());
        parts.extend(data.map(|data| self.data(data)));
        Some(parts)
    }

    fn artifact(&self, parts: Vec<Value>) -> Value {
        json!({"artifactId": ARTIFACT, "name": ARTIFACT, "parts": parts})
    }

    fn text(&self, text: &str) -> Value {
        let mut part = self.kind("text");
        part.insert("text".to_owned(), text.into());
        part.into()
    }

    fn data(&self, data: &Value) -> Value {
        let mut part = self.kind("data");
        part.insert("data".to_owned(), data.clone());
        part.into()
    }
}

/// What is said of a state that does not speak for itself.
fn explanation(state: &State) -> Option<String> {
    match &state.phase {
        Phase::Ended(Outcome::Error(error)) => {
            Some(format!("{}: {}", error.code.as_str(), error.message))
        }
        Phase::Running if state.wants_approval => {
            Some("it waits until a person approves of it".to_owned())
        }
        Phase::Accepted | Phase::Running | Phase::Ended(Outcome::Ok(_)) => None,
    }
}

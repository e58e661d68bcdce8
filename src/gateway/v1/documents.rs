//! The documents of the protocol: what comes in, and what goes out.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;

use super::front::Front;
use crate::{
    clock::WallTime,
    contract::{ErrorCode, IpcKind, Outcome, ResultError},
    gateway::{
        executions::{ExecutionStatus, Phase, State},
        skills::{Retry, Skill},
    },
    store::executions::Execution,
};

/// An invocation of a skill. Fields that are not named here are passed over.
//
// A field whose schema stands in line has its words there: with words of its own it would be
// described as an object beside.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(examples(json!({
    "caller": {"id": "ifay-instance-001", "type": "ifay"},
    "skill_id": "com.example.echo-v1",
    "inputs": {"text": "Hello, world!"},
    "context": {"trace_id": "trace-abc-123", "priority": "normal", "timeout_ms": 30000}
})))]
pub(super) struct InvocationDocument {
    // Who asks.
    #[schema(inline)]
    pub(super) caller: CallerDocument,
    /// Which skill, by the id in its descriptor.
    #[schema(min_length = 1, max_length = 128)]
    pub(super) skill_id: String,
    /// What the skill is given, as its descriptor asks for.
    #[schema(value_type = Object)]
    pub(super) inputs: Map<String, Value>,
    // What else there is to say.
    #[serde(default)]
    #[schema(inline)]
    pub(super) context: ContextDocument,
}

/// Who asks.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct CallerDocument {
    /// What the caller calls itself.
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001F\u007F-\u009F]*$"
    )]
    pub(super) id: String,
    // What it is.
    #[schema(inline)]
    pub(super) r#type: CallerType,
    // What proves who it is, unless that comes in a header.
    #[serde(default)]
    #[schema(inline)]
    pub(super) credentials: CredentialsDocument,
}

/// What a caller is.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CallerType {
    /// An agent.
    Ifay,
    /// A program.
    Service,
    /// A person.
    User,
}

/// What proves who a caller is.
#[derive(Default, Deserialize, ToSchema)]
pub(super) struct CredentialsDocument {
    /// One of the gateway's keys; it may come in the header `X-API-Key` instead.
    #[serde(default)]
    #[schema(required = false, nullable = false)]
    pub(super) api_key: Option<String>,
}

impl std::fmt::Debug for CredentialsDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CredentialsDocument(***)")
    }
}

/// What else a caller says.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(super) struct ContextDocument {
    /// The chain to which the execution belongs; the fleet's `correlation_id`.
    #[serde(default)]
    #[schema(
        required = false,
        nullable = false,
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001F\u007F-\u009F]*$"
    )]
    pub(super) trace_id: Option<String>,
    // How urgent it is.
    #[serde(default)]
    #[schema(required = false, nullable = false, inline)]
    pub(super) priority: Option<PriorityWord>,
    /// How long it may take; rounded up to whole seconds.
    #[serde(default, deserialize_with = "whole")]
    #[schema(required = false, nullable = false, minimum = 1, maximum = 86_400_000)]
    pub(super) timeout_ms: Option<u64>,
}

/// An integer, which may be written as 30000.0 too: to JSON Schema both are the same.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let number = Number::deserialize(from)?;
    let whole = number.as_f64().filter(|it| it.fract() == 0.0 && *it >= 0.0);
    let read = number
        .as_u64()
        .or_else(|| format!("{:.0}", whole?).parse().ok());
    read.map(Some)
        .ok_or_else(|| D::Error::custom("expected an integer of 0 or more"))
}

/// How urgent an execution is.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum PriorityWord {
    /// It can wait.
    Low,
    /// As most are.
    Normal,
    /// Before others.
    High,
}

/// How an execution stands.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ExecutionDocument {
    /// By which it is asked for.
    execution_id: String,
    /// How it stands.
    status: ExecutionStatus,
    /// Which skill it is of, or by which name it was asked for over another door.
    skill_id: String,
    /// What came out, once it is completed and where the result is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, value_type = Object)]
    output: Option<Value>,
    /// Why nothing came out, once it is failed or timed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    error: Option<ErrorDocument>,
    /// What it waits for, if that is somebody's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    waiting_for: Option<WaitingFor>,
    /// When what happened.
    timestamps: TimestampsDocument,
}

/// Whose word an execution waits for.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum WaitingFor {
    /// Somebody has to approve of it.
    Approval,
}

/// When what happened; RFC 3339.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TimestampsDocument {
    /// It was stored.
    #[schema(format = DateTime)]
    created_at: String,
    /// A worker took it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, format = DateTime)]
    started_at: Option<String>,
    /// It ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, format = DateTime)]
    completed_at: Option<String>,
}

/// Why an execution has no output.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorDocument {
    /// Why, for programs. Tolerate codes that you do not know.
    code: String,
    /// Why, for people.
    message: String,
    /// More, by the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, value_type = Object)]
    details: Option<Map<String, Value>>,
    /// How to try again, where that may help: the n-th time after the delay times two to the n.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    retry: Option<RetryDocument>,
}

/// How to try again.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RetryDocument {
    /// Before the first time.
    suggested_delay_ms: u64,
    /// How often.
    max_attempts: u32,
}

/// A page of one's own executions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ListDocument {
    /// The latest first.
    pub(super) executions: Vec<ExecutionDocument>,
    /// Where the next page begins; none behind the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    pub(super) next_cursor: Option<String>,
}

/// Whether a document shows what came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Showing {
    /// How it stands alone.
    Status,
    /// What came out too.
    Result,
}

impl ExecutionDocument {
    /// `execution` as it stands.
    pub(super) fn of(
        front: &Front,
        execution: &Execution,
        state: &State,
        showing: Showing,
    ) -> Self {
        let skills = front.skills.current();
        // A skill that is offered no longer says nothing of what it was.
        let skill = execution.skill.parse().ok().and_then(|id| skills.get(&id));
        let (output, error) = match &state.phase {
            Phase::Accepted | Phase::Running => (None, None),
            Phase::Ended(Outcome::Ok(result)) => (Some(output(skill, result)), None),
            Phase::Ended(Outcome::Error(error)) => {
                let retry = skill.map(Skill::retry).unwrap_or_default();
                (None, Some(ErrorDocument::of(error, execution, retry)))
            }
        };
        let text = |at: WallTime| at.to_string();
        Self {
            execution_id: execution.key.request.to_string(),
            status: state.status(),
            skill_id: execution.skill.to_string(),
            output: output.filter(|_| showing == Showing::Result),
            error,
            waiting_for: state.wants_approval.then_some(WaitingFor::Approval),
            timestamps: TimestampsDocument {
                created_at: execution.created.to_string(),
                started_at: state.started.map(text),
                completed_at: state.completed.map(text),
            },
        }
    }
}

/// What came out, as the skill's descriptor promises it.
fn output(skill: Option<&Skill>, result: &Value) -> Value {
    skill.map_or_else(|| result.clone(), |skill| skill.output(result))
}

impl ErrorDocument {
    fn of(error: &ResultError, execution: &Execution, retry: Retry) -> Self {
        let may_help = match error.code {
            ErrorCode::Timeout => true,
            ErrorCode::IpcError => [
                IpcKind::ModelUnavailable,
                IpcKind::RateLimited,
                IpcKind::CircuitOpen,
            ]
            .iter()
            .any(|kind| error.kind() == Some(kind.as_str())),
            ErrorCode::TargetNotFound
            | ErrorCode::Denied
            | ErrorCode::InvalidResponse
            | ErrorCode::Cancelled
            | ErrorCode::BudgetExhausted => false,
        };
        let (code, message) = match error.code {
            ErrorCode::Timeout => {
                let allowed = execution.deadline.left(execution.created).as_millis();
                let message =
                    format!("Skill execution exceeded the configured timeout of {allowed}ms");
                ("EXECUTION_TIMEOUT", message)
            }
            code => (code.as_str(), error.message.clone()),
        };
        Self {
            code: code.to_owned(),
            message,
            details: error.details.clone(),
            retry: may_help.then(|| RetryDocument {
                suggested_delay_ms: u64::try_from(retry.suggested_delay.as_millis())
                    .unwrap_or(u64::MAX),
                max_attempts: retry.max_attempts,
            }),
        }
    }
}

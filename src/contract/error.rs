//! The error codes of a result and their one vocabulary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Violation;

/// Why an invocation has no result. Consumers tolerate codes that they do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// No such Puruto in the fleet.
    TargetNotFound,
    /// The policy says no.
    Denied,
    /// The deadline passed, wherever the request was.
    Timeout,
    /// The target's answer breaks the output contract.
    InvalidResponse,
    /// Anything else that failed; `details.kind` says which, see [`IpcKind`].
    IpcError,
    /// Cancelled by a caller, or by the cancel of an ancestor.
    Cancelled,
    /// An agent run used up what it was given.
    BudgetExhausted,
}

impl ErrorCode {
    /// The code as it stands in JSON and in logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TargetNotFound => "TARGET_NOT_FOUND",
            Self::Denied => "DENIED",
            Self::Timeout => "TIMEOUT",
            Self::InvalidResponse => "INVALID_RESPONSE",
            Self::IpcError => "IPC_ERROR",
            Self::Cancelled => "CANCELLED",
            Self::BudgetExhausted => "BUDGET_EXHAUSTED",
        }
    }
}

/// What failed when the code is [`ErrorCode::IpcError`]; stands in `details.kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IpcKind {
    /// The request breaks its contract; `details.violations` lists how.
    InvalidRequest,
    /// The model could not be reached or kept failing.
    ModelUnavailable,
    /// The model's provider refuses for now.
    RateLimited,
    /// The provider's circuit breaker is open.
    CircuitOpen,
    /// The provider refused our credentials.
    Auth,
    /// The same request id came before with another payload.
    RequestIdConflict,
    /// The request's workers kept dying.
    Poisoned,
    /// A fault of the fleet itself.
    Internal,
}

impl IpcKind {
    /// The kind as it stands in JSON and in logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::ModelUnavailable => "model_unavailable",
            Self::RateLimited => "rate_limited",
            Self::CircuitOpen => "circuit_open",
            Self::Auth => "auth",
            Self::RequestIdConflict => "request_id_conflict",
            Self::Poisoned => "poisoned",
            Self::Internal => "internal",
        }
    }
}

/// The `error` of a result. Never holds a secret, a prompt or a payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultError {
    /// Stable code.
    pub code: ErrorCode,
    /// One sentence for the person who reads it.
    pub message: String,
    /// More, as an object; the key is always there, `null` when there is no more.
    pub details: Option<Map<String, Value>>,
}

impl ResultError {
    /// An error without details.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    /// An [`ErrorCode::IpcError`] of this kind.
    pub fn ipc(kind: IpcKind, message: impl Into<String>) -> Self {
        Self::new(ErrorCode::IpcError, message).with("kind", kind.as_str())
    }

    /// The request breaks its contract in these ways.
    #[must_use]
    pub fn invalid_request(violations: &[Violation]) -> Self {
        let message = format!("the request breaks its contract: {}", listed(violations));
        Self::ipc(IpcKind::InvalidRequest, message).with("violations", json!(violations))
    }

    /// The target's answer breaks the output contract in these ways.
    #[must_use]
    pub fn contract_violation(violations: &[Violation]) -> Self {
        let message = format!(
            "the answer breaks the output contract: {}",
            listed(violations)
        );
        Self::new(ErrorCode::InvalidResponse, message)
            .with("code", "CONTRACT_VIOLATION")
            .with("violations", json!(violations))
    }

    /// The same error with one more detail.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details
            .get_or_insert_default()
            .insert(key.to_owned(), value.into());
        self
    }

    /// The violations that `details` list; none where they list none, or in another form.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let listed = self.details.as_ref().and_then(|it| it.get("violations"));
        let read = listed.map(Vec::<Violation>::deserialize);
        read.and_then(Result::ok).unwrap_or_default()
    }

    /// The kind that `details` name, for an [`ErrorCode::IpcError`].
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        self.details.as_ref()?.get("kind")?.as_str()
    }
}

/// The first violation in words and how many more there are: the full list stands in `details`.
fn listed(violations: &[Violation]) -> String {
    match violations {
        [] => "no violation recorded".to_owned(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}

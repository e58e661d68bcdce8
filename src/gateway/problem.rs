//! What a caller over HTTP is told that gets no answer: one shape, one table of codes.
//!
//! Never: a secret, or what the caller may not know to be there.

use std::time::Duration;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{auth, server};
use crate::{
    broker::BrokerFault,
    client::ClientFault,
    contract::{ErrorCode, ResultError, Violation},
};

/// When to ask again where the fleet does not answer.
const FLEET_RETRY: Duration = Duration::from_secs(2);

/// Why a request has no answer, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProblemCode {
    /// Nothing proves who asks.
    AuthRequired,
    /// Who asks may not.
    PermissionDenied,
    /// There is no such skill.
    SkillNotFound,
    /// There is no such execution that this caller may see.
    ExecutionNotFound,
    /// There was such an execution, and its result is kept no longer.
    ExecutionGone,
    /// There is no such address.
    NotFound,
    /// The address has no such method.
    MethodNotAllowed,
    /// The `Idempotency-Key` was used for another request.
    Conflict,
    /// The request is not as the contract has it.
    ValidationError,
    /// The body is larger than is taken.
    PayloadTooLarge,
    /// The body is of a kind that is not taken.
    UnsupportedMediaType,
    /// The request did not arrive in time.
    RequestTimeout,
    /// The caller asked too much.
    RateLimited,
    /// The fleet does not answer at the moment.
    Unavailable,
    /// A fault of our own.
    Internal,
}

/// What a caller is told instead of an answer.
#[derive(Clone, Debug)]
pub struct Problem {
    status: StatusCode,
    code: ProblemCode,
    message: String,
    violations: Vec<Violation>,
    retry_after: Option<Duration>,
    challenge: Option<HeaderValue>,
}

/// One way in which a request breaks its contract.
#[derive(Serialize, ToSchema)]
pub(super) struct ViolationDocument {
    /// Where, such as `inputs.text`; `$` for the document as a whole.
    field: String,
    /// What is allowed there.
    expected: String,
    /// What was found, cut short.
    actual: String,
}

/// The body of every answer that is none.
#[derive(Serialize, ToSchema)]
pub(super) struct ProblemDocument {
    error: ProblemError,
}

#[derive(Serialize, ToSchema)]
struct ProblemError {
    /// Why, for programs.
    code: ProblemCode,
    /// Why, and what to do about it, for people.
    message: String,
    /// Everything that is wrong with the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    violations: Vec<ViolationDocument>,
}

impl Problem {
    /// A problem with nothing beside its message.
    pub fn new(status: StatusCode, code: ProblemCode, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            violations: Vec::new(),
            retry_after: None,
            challenge: None,
        }
    }

    /// A request that is not as the contract has it, in these ways.
    pub fn invalid(violations: Vec<Violation>) -> Self {
        let listed: Vec<_> = violations.iter().map(ToString::to_string).collect();
        let message = format!("the request is not as it should be: {}", listed.join("; "));
        Self {
            violations,
            ..Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                ProblemCode::ValidationError,
                message,
            )
        }
    }

    /// The same, to be tried again after so long.
    #[must_use]
    pub fn again_after(self, retry_after: Duration) -> Self {
        Self {
            retry_after: Some(retry_after),
            ..self
        }
    }

    /// There is no such execution that whoever asks may see.
    pub fn no_execution() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            ProblemCode::ExecutionNotFound,
            "there is no such execution, or it is not yours",
        )
    }

    /// There was one.
    pub fn gone() -> Self {
        Self::new(
            StatusCode::GONE,
            ProblemCode::ExecutionGone,
            "the result of this execution is kept no longer",
        )
    }

    /// What `refusal` means to a caller of this door.
    pub fn of_guard(refusal: server::Refusal) -> Self {
        let seconds = |within: Duration| humantime::format_duration(within).to_string();
        let (code, message) = match refusal {
            server::Refusal::BodyTooLarge { limit } => (
                ProblemCode::PayloadTooLarge,
                format!("the body is larger than {limit} bytes: send less"),
            ),
            server::Refusal::BodyLate { within } => (
                ProblemCode::RequestTimeout,
                format!("the body did not arrive within {}", seconds(within)),
            ),
            server::Refusal::BodyBroken => (
                ProblemCode::ValidationError,
                "the body broke off, or was not sent as HTTP has it".to_owned(),
            ),
            server::Refusal::Crowded => (
                ProblemCode::Unavailable,
                "too many bodies are under way: try again".to_owned(),
            ),
            server::Refusal::AnswerLate { within } => (
                ProblemCode::Unavailable,
                format!("there was no answer within {}", seconds(within)),
            ),
            server::Refusal::Panicked => {
                (ProblemCode::Internal, "a fault of the gateway".to_owned())
            }
        };
        let problem = Self::new(refusal.status(), code, message);
        match code {
            ProblemCode::Unavailable => problem.again_after(FLEET_RETRY),
            _ => problem,
        }
    }

    /// A request that the fleet would not take.
    pub fn of_refusal(error: &ResultError) -> Self {
        match error.code {
            ErrorCode::Denied => Self::new(
                StatusCode::FORBIDDEN,
                ProblemCode::PermissionDenied,
                error.message.clone(),
            ),
            ErrorCode::TargetNotFound => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                ProblemCode::Unavailable,
                format!("nobody serves this at the moment: {}", error.message),
            )
            .again_after(FLEET_RETRY),
            ErrorCode::Timeout
            | ErrorCode::InvalidResponse
            | ErrorCode::IpcError
            | ErrorCode::Cancelled
            | ErrorCode::BudgetExhausted => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                ProblemCode::Internal,
                error.message.clone(),
            ),
        }
    }
}

impl From<auth::Refusal> for Problem {
    fn from(refusal: auth::Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            auth::Refusal::AuthRequired { challenge, .. } => Self {
                challenge: Some(challenge),
                ..Self::new(StatusCode::UNAUTHORIZED, ProblemCode::AuthRequired, message)
            },
            auth::Refusal::Denied { challenge, .. } => Self {
                challenge,
                ..Self::new(
                    StatusCode::FORBIDDEN,
                    ProblemCode::PermissionDenied,
                    message,
                )
            },
            auth::Refusal::Unavailable { retry_after, .. } => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                ProblemCode::Unavailable,
                message,
            )
            .again_after(retry_after),
        }
    }
}

impl From<auth::TooMany> for Problem {
    fn from(too_many: auth::TooMany) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            ProblemCode::RateLimited,
            too_many.to_string(),
        )
        .again_after(too_many.retry_after)
    }
}

impl From<ClientFault> for Problem {
    /// Where a server is, or what it said, is for the log and not for callers.
    fn from(fault: ClientFault) -> Self {
        let violation = |actual| Violation::new("inputs", "less text", actual);
        match fault {
            ClientFault::PromptTooLong { bytes } => {
                Self::invalid(vec![violation(format!("a prompt of {bytes} bytes"))])
            }
            ClientFault::Broker(BrokerFault::TooLarge { .. }) => {
                Self::invalid(vec![violation("more than a message may hold".to_owned())])
            }
            fault => {
                tracing::warn!(%fault, "gateway_fleet_unanswered");
                Self::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    ProblemCode::Unavailable,
                    "the fleet does not answer at the moment: try again",
                )
                .again_after(FLEET_RETRY)
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let document = |it: Violation| ViolationDocument {
            field: it.field,
            expected: it.expected,
            actual: it.actual,
        };
        let body = ProblemDocument {
            error: ProblemError {
                code: self.code,
                message: self.message,
                violations: self.violations.into_iter().map(document).collect(),
            },
        };
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        if let Some(after) = self.retry_after {
            headers.insert(header::RETRY_AFTER, after.as_secs().max(1).into());
        }
        if let Some(challenge) = self.challenge {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

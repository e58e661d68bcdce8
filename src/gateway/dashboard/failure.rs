//! Why the dashboard has no answer. What failed is always said: a page must be able to tell it from
//! what is empty.

use axum::{
    Json,
    http::{StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use crate::{broker::BrokerFault, client::ClientFault, store::StoreFault};

/// After how many seconds it is worth asking again what a server did not answer.
const AGAIN_AFTER_SECONDS: u32 = 1;

/// Why there is no answer: `{"error": {"code", "message"}}`.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Failure {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
        }
    }

    /// Whoever asks has no session.
    pub(super) fn not_logged_in() -> Self {
        let message = "log in with the token that the gateway printed when it started";
        Self::new(StatusCode::UNAUTHORIZED, "AUTH_REQUIRED", message)
    }

    /// Another page asks.
    pub(super) fn foreign() -> Self {
        let message = "only the dashboard's own page may do this";
        Self::new(StatusCode::FORBIDDEN, "PERMISSION_DENIED", message)
    }

    /// What is asked for is not shown here.
    pub(super) fn withheld(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "WITHHELD", message)
    }

    /// There is no such thing.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    /// What is asked for does not fit what there is.
    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "CONFLICT", message)
    }

    /// What is asked for is not understood.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "VALIDATION_ERROR",
            message,
        )
    }

    /// A server that has to be asked does not answer.
    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message)
    }

    /// The same as a part of a larger answer.
    pub(super) fn to_json(&self) -> Value {
        json!({ "error": { "code": self.code, "message": self.message } })
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = Json(self.to_json());
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            let again = [(RETRY_AFTER, AGAIN_AFTER_SECONDS.to_string())];
            return (self.status, again, body).into_response();
        }
        (self.status, body).into_response()
    }
}

impl From<BrokerFault> for Failure {
    fn from(fault: BrokerFault) -> Self {
        Self::unavailable(fault.to_string())
    }
}

impl From<StoreFault> for Failure {
    fn from(fault: StoreFault) -> Self {
        Self::unavailable(fault.to_string())
    }
}

impl From<ClientFault> for Failure {
    fn from(fault: ClientFault) -> Self {
        let message = fault.to_string();
        match fault {
            ClientFault::Broker(fault) => fault.into(),
            ClientFault::Store(fault) => fault.into(),
            ClientFault::TargetUnknown { .. }
            | ClientFault::NotQueued { .. }
            | ClientFault::ChainUnknown { .. } => Self::not_found(message),
            ClientFault::OtherGoal { .. } | ClientFault::Ambiguous { .. } => {
                Self::conflict(message)
            }
            ClientFault::PromptTooLong { .. } => Self::invalid(message),
            ClientFault::Unreadable { .. } | ClientFault::NoDeadLetter(_) => {
                Self::unavailable(message)
            }
        }
    }
}

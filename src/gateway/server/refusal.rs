//! Why a request got no answer of its route.

use std::time::Duration;

use axum::http::StatusCode;

/// What kept a request from its route, or its route from an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its body is larger than is taken.
    BodyTooLarge {
        /// Bytes that a body may have.
        limit: usize,
    },
    /// Its body did not arrive in time.
    BodyLate {
        /// How long it may take.
        within: Duration,
    },
    /// Its body broke off, or was not sent as HTTP has it.
    BodyBroken,
    /// The bodies of others take all the room there is.
    Crowded,
    /// Its answer did not begin in time.
    AnswerLate {
        /// How long that was.
        within: Duration,
    },
    /// The route panicked.
    Panicked,
}

impl Refusal {
    /// The status it is answered with.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyLate { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::BodyBroken => StatusCode::BAD_REQUEST,
            Self::Crowded | Self::AnswerLate { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

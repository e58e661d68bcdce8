//! What a fault is called: by its caller's result, and in metrics, spans and log events.
//!
//! Never: what it means for the call; that stands with the fault itself.

use super::Fault;
use crate::contract::{ErrorCode, IpcKind};

impl Fault {
    /// The error code of the result.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::DeadlinePassed => ErrorCode::Timeout,
            Self::Contract(_) | Self::Unfit(_) | Self::BodyTooLarge { .. } => {
                ErrorCode::InvalidResponse
            }
            Self::Connection { .. }
            | Self::Timeout { .. }
            | Self::Server(_)
            | Self::Overloaded(_)
            | Self::RateLimited(_)
            | Self::TokenLimited(_)
            | Self::QuotaExhausted(_)
            | Self::Auth(_)
            | Self::Rejected(_)
            | Self::CircuitOpen { .. }
            | Self::CallsSpent { .. }
            | Self::Throttled { .. }
            | Self::Incomplete { .. } => ErrorCode::IpcError,
        }
    }

    /// The kind that goes with [`ErrorCode::IpcError`].
    #[must_use]
    pub const fn kind(&self) -> IpcKind {
        match self {
            Self::RateLimited(_)
            | Self::TokenLimited(_)
            | Self::QuotaExhausted(_)
            | Self::Throttled { .. } => IpcKind::RateLimited,
            Self::Auth(_) => IpcKind::Auth,
            Self::CircuitOpen { .. } => IpcKind::CircuitOpen,
            Self::Connection { .. }
            | Self::Timeout { .. }
            | Self::DeadlinePassed
            | Self::Server(_)
            | Self::Overloaded(_)
            | Self::Rejected(_)
            | Self::Contract(_)
            | Self::Unfit(_)
            | Self::BodyTooLarge { .. }
            | Self::CallsSpent { .. }
            | Self::Incomplete { .. } => IpcKind::ModelUnavailable,
        }
    }

    /// The fault in one word, for metrics, spans and log events.
    #[must_use]
    pub const fn error_type(&self) -> &'static str {
        match self {
            Self::Connection { .. } => "connection",
            Self::Timeout { phase, .. } => phase.error_type(),
            Self::DeadlinePassed => "deadline",
            Self::Server(_) => "server_error",
            Self::Overloaded(_) => "overloaded",
            Self::RateLimited(_) => "rate_limited",
            Self::TokenLimited(_) => "token_limited",
            Self::QuotaExhausted(_) => "quota_exhausted",
            Self::Auth(_) => "auth",
            Self::Rejected(_) => "rejected",
            Self::Contract(_) | Self::Unfit(_) => "contract_violation",
            Self::BodyTooLarge { .. } => "body_too_large",
            Self::CircuitOpen { .. } => "circuit_open",
            Self::CallsSpent { .. } => "calls_spent",
            Self::Throttled { .. } => "throttled",
            Self::Incomplete { .. } => "incomplete",
        }
    }
}

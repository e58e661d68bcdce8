//! How a command ends, for whoever called it: the one table of exit codes.

use std::process::ExitCode;

use crate::contract::{ErrorCode, InvocationResult, Outcome};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Ok,
    /// The result is an error, or the command failed.
    Error,
    /// It was used wrongly: flags, configuration or request.
    Usage,
    /// The policy says no.
    Denied,
    /// No result in time.
    Timeout,
    /// A server cannot be reached.
    NoConnection,
}

/// The table as `--help` shows it.
pub(super) const TABLE: &str = "\
Exit codes:
  0  done, result ok
  1  error result, or the command failed
  2  wrong usage, configuration or request
  3  denied by the policy
  4  no result in time
  5  no connection to a server";

impl Exit {
    /// The code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Denied => 3,
            Self::Timeout => 4,
            Self::NoConnection => 5,
        }
    }

    /// How a command ends whose answer is `result`.
    #[must_use]
    pub const fn of(result: &InvocationResult) -> Self {
        let Outcome::Error(error) = &result.outcome else {
            return Self::Ok;
        };
        match error.code {
            ErrorCode::Denied => Self::Denied,
            ErrorCode::Timeout => Self::Timeout,
            ErrorCode::TargetNotFound
            | ErrorCode::InvalidResponse
            | ErrorCode::IpcError
            | ErrorCode::Cancelled
            | ErrorCode::BudgetExhausted => Self::Error,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

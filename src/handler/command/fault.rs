//! Why a program gave no answer, and what its caller is told.
//!
//! Never repeats what the program wrote: that may be anything, a secret too.

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus};

use super::config::OutputMax;
use crate::contract::{ErrorCode, IpcKind, ResultError, Violation};

/// Why a program gave no answer.
#[derive(Debug)]
pub(super) enum Fault {
    /// It could not be started.
    NotStarted(io::Error),
    /// The system lost sight of it.
    System(io::Error),
    /// It wrote more than it may, and was killed.
    TooMuch(OutputMax),
    /// It ended, but something outside its process group holds its pipes open.
    LeftOpen,
    /// It ended otherwise than with 0.
    Failed(ExitStatus),
    /// What it wrote is no result of this request.
    Answer(Vec<Violation>),
}

impl Fault {
    /// What the caller of `program` is told.
    pub(super) fn to_result_error(&self, program: &str) -> ResultError {
        match self {
            Self::NotStarted(error) => ResultError::ipc(
                IpcKind::Internal,
                format!(
                    "cannot start {program} ({error}): install it where the workers run, or correct argv and env of [command] in the target's worker.toml"
                ),
            ),
            Self::System(error) => {
                let message = format!("the system lost sight of {program}: {error}");
                ResultError::ipc(IpcKind::Internal, message)
            }
            Self::TooMuch(limit) => {
                let limit = limit.bytes();
                let message = format!(
                    "{program} wrote more than {limit} bytes: let it write less, or raise output_max of [command] in the target's worker.toml"
                );
                invalid(message, "output_too_large").with("output_max", limit)
            }
            Self::LeftOpen => {
                let message =
                    format!("{program} ended and left a process behind that holds its output open");
                invalid(message, "output_left_open")
            }
            Self::Failed(status) => failed(program, *status),
            Self::Answer(violations) => ResultError::contract_violation(violations),
        }
    }
}

fn failed(program: &str, status: ExitStatus) -> ResultError {
    let see = "the worker's log has what it said";
    match (status.code(), status.signal()) {
        (Some(code), _) => invalid(
            format!("{program} ended with exit code {code}; {see}"),
            "exit_code",
        )
        .with("exit_code", code),
        (None, signal) => invalid(format!("{program} was ended by a signal; {see}"), "signal")
            .with("signal", signal),
    }
}

fn invalid(message: String, reason: &str) -> ResultError {
    ResultError::new(ErrorCode::InvalidResponse, message).with("reason", reason)
}

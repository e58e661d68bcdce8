//! Why the demo cannot be shown, or not to its end.

use std::{io, path::PathBuf};

use crate::{cli::failure::Failure, config::Mistakes, dev::error::DevError, policy::Finding};

/// Why the demo cannot be shown, or not to its end.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum DemoFault {
    /// The Purutos that ship are not there, or somebody broke them.
    #[error(
        "{}\nthe demo needs the Purutos that ship with the project, in its folder workers/: \
         run it there, or name that folder with `--workers-dir`",
        Finding::listed(.0)
    )]
    Workers(Vec<Finding>),
    /// Our own configuration of the demo is refused.
    #[error("{0}")]
    Config(#[from] Mistakes),
    /// The system refused something.
    #[error("the system refused: {0}")]
    Io(#[from] io::Error),
    /// A server could not be found, installed or started.
    #[error(transparent)]
    Server(#[from] DevError),
    /// The workers do not serve.
    #[error("the workers do not serve; their logs are in {}", .0.display())]
    NotServing(PathBuf),
    /// Its client has no connection.
    #[error(transparent)]
    Client(Box<Failure>),
    /// Somebody ended it.
    #[error("the demo was ended before its end")]
    Interrupted,
}

impl DemoFault {
    /// Whether it is a matter of what was asked, rather than of what happened.
    pub(in crate::cli) const fn is_usage(&self) -> bool {
        matches!(self, Self::Workers(_))
    }
}

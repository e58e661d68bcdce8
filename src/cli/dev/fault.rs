//! Why `puruto dev` cannot run, or had to end by itself.

use std::{io, path::PathBuf};

use super::keeper::KeeperFault;
use crate::{
    config::Mistakes,
    dev::{error::DevError, port::Port, tool::Tool},
    policy::Finding,
};

/// Why `puruto dev` cannot run, or had to end by itself.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum DevFault {
    /// The configuration has mistakes.
    #[error("{0}")]
    Config(Mistakes),
    /// The workers folder has mistakes, or is not there.
    #[error("{}\n`--workers-dir` names another folder, `puruto check` reads it", Finding::listed(.0))]
    Workers(Vec<Finding>),
    /// Another process works on the data folder.
    #[error(
        "another `puruto dev` works on {}; end it, or give this one a `--data-dir` of its own",
        .folder.display()
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The port that was named for the gateway is in use.
    #[error("port {port} for the gateway is in use; free it or choose another")]
    GatewayPortTaken {
        /// Which one.
        port: Port,
    },
    /// A file or folder of ours could not be made, read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system refused something.
    #[error("the system refused: {0}")]
    Io(#[from] io::Error),
    /// A server could not be found, installed or started.
    #[error(transparent)]
    Server(#[from] DevError),
    /// A server ended while it was needed.
    #[error("{tool} ended by itself: {} says why", .log.display())]
    ServerEnded {
        /// Which one.
        tool: Tool,
        /// Its log.
        log: PathBuf,
    },
    /// A worker could not be kept running.
    #[error(transparent)]
    Worker(#[from] KeeperFault),
}

impl DevFault {
    /// Whether it is a matter of what was asked, rather than of what happened.
    #[must_use]
    pub(in crate::cli) const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Config(_)
                | Self::Workers(_)
                | Self::InUse { .. }
                | Self::GatewayPortTaken { .. }
                | Self::Server(DevError::PortTaken { .. })
        )
    }
}

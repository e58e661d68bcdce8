//! What can go wrong with local servers, said so that a person can mend it.

use std::{io, path::PathBuf, time::Duration};

use super::{port::Port, tool::Tool};

/// Why a local server is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DevError {
    /// No program was found and none could be installed.
    #[error(
        "{tool} {} or newer is not on this machine and could not be installed ({}); \
         install it, or name its program in {}",
        .tool.oldest(), .tried.join("; "), .tool.variable()
    )]
    NoSource {
        /// The server that is missing.
        tool: Tool,
        /// Each way that was tried, and why it failed.
        tried: Vec<String>,
    },
    /// The model cannot be fetched or does not serve.
    #[error("there is no model here: {0}")]
    NoModel(String),
    /// Another process kept the tool folder locked for too long.
    #[error("another process has held {path} for more than {within:?}; end it and try again")]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long it was waited for.
        within: Duration,
    },
    /// A folder or file of ours could not be made or read.
    #[error("{path}: {source}")]
    File {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A process could not be started, waited for or signalled.
    #[error("{tool} could not be handled as a process: {source}")]
    Process {
        /// Which server.
        tool: Tool,
        /// Why.
        source: io::Error,
    },
    /// The port that was asked for is taken.
    #[error("port {port} for {tool} is in use; free it or choose another")]
    PortTaken {
        /// Which server.
        tool: Tool,
        /// The port.
        port: Port,
    },
    /// No free port was found.
    #[error("no free port was found in {tries} tries")]
    NoPort {
        /// How many ports were tried.
        tries: u32,
    },
    /// The server ended, or gave no answer in time.
    #[error("{tool} did not come up on port {port}: {why}; its last words:\n{log}")]
    NotReady {
        /// Which server.
        tool: Tool,
        /// The port it was to listen on.
        port: Port,
        /// What was seen.
        why: String,
        /// The last lines of its log.
        log: String,
    },
}

impl DevError {
    /// For `map_err`: an I/O error at `path`.
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    /// For `map_err`: an I/O error of `tool`'s process.
    pub(super) fn process(tool: Tool) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Process { tool, source }
    }
}

//! What one process of a fleet on local servers is started with, and as what.
//!
//! Owns how the process is told where its servers are: by its environment, which outweighs every
//! file. Starting it is the part of [`crate::dev::member`].

use std::{ffi::OsString, fs::File, io, path::PathBuf, process::Stdio};

use super::{guard::Guard, pair::Pair, port::Port};

/// What a process is to the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It works on requests.
    Worker,
    /// It serves whoever speaks HTTP.
    Gateway {
        /// Where.
        listen: Port,
    },
}

impl Role {
    pub(super) const fn verb(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Gateway { .. } => "gateway",
        }
    }

    /// What tells the process where it serves.
    pub(super) fn places(self, telemetry: Port) -> Vec<(&'static str, String)> {
        let telemetry = telemetry.address().to_string();
        match self {
            Self::Worker => vec![("PURUTO_WORKER__TELEMETRY", telemetry)],
            Self::Gateway { listen } => vec![
                ("PURUTO_GATEWAY__TELEMETRY", telemetry),
                ("PURUTO_GATEWAY__LISTEN", listen.address().to_string()),
            ],
        }
    }
}

/// What a member of the fleet is started with.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What it is to the fleet.
    pub role: Role,
    /// What it is called in logs, headers and connection names; unique among its fleet.
    pub name: String,
    /// The folder of the fleet's Purutos.
    pub workers_dir: PathBuf,
    /// The folder that it runs in; ours when there is none.
    pub folder: Option<PathBuf>,
    /// Where it serves `/metrics` and `/readyz`.
    pub telemetry: Port,
    /// More of its command line.
    pub arguments: Vec<OsString>,
    /// Variables that it gets.
    pub set: Vec<(String, String)>,
    /// Variables of ours that it does not get.
    pub unset: Vec<String>,
    /// Where it writes.
    pub output: Output,
    /// Lets it not outlive us.
    pub guard: Guard,
}

/// Where a member writes what it logs.
#[derive(Clone, Debug)]
pub enum Output {
    /// Into pipes, which somebody has to read: [`super::member::Member::take_output`].
    Piped,
    /// To the end of this file.
    File(PathBuf),
}

impl Output {
    pub(super) fn open(&self) -> io::Result<(Stdio, Stdio)> {
        match self {
            Self::Piped => Ok((Stdio::piped(), Stdio::piped())),
            Self::File(path) => {
                let file = File::options().create(true).append(true).open(path)?;
                Ok((file.try_clone()?.into(), file.into()))
            }
        }
    }
}

/// The variables that lead a process to `servers`, whatever else is configured.
#[must_use]
pub fn variables_of(servers: &Pair) -> Vec<(String, String)> {
    vec![
        ("PURUTO_NATS__URL".to_owned(), servers.nats.url()),
        ("PURUTO_REDIS__URL".to_owned(), servers.redis.url()),
    ]
}

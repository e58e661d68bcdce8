//! `puruto worker`: one worker process.

mod compose;
mod fault;
mod handlers;
mod parts;
mod preflight;
mod presence;
mod servers;
mod session;
pub(super) mod signals;
/// A worker for one request.
pub(super) mod single;
mod supervise;

use std::path::PathBuf;

use clap::Args;

pub use self::fault::WorkerFault;
use crate::{
    config::{Config, Environment, Flag},
    contract::PurutoName,
    worker::Drained,
};

/// Flags of `puruto worker`; each is a key of the configuration.
#[derive(Args, Debug)]
pub struct WorkerArgs {
    /// The folder of the fleet's Purutos, one folder each
    #[arg(long, value_name = "DIR")]
    workers_dir: Option<PathBuf>,
    /// Serve only this target; repeatable (default: all)
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<PurutoName>,
}

impl WorkerArgs {
    /// The flags as keys of the configuration.
    #[must_use]
    pub fn flags(&self) -> Vec<Flag> {
        let dir = self.workers_dir.as_ref().map(|dir| Flag {
            flag: "--workers-dir".to_owned(),
            key: "worker.workers_dir".to_owned(),
            value: dir.display().to_string(),
        });
        let names: Vec<_> = self.targets.iter().map(PurutoName::as_str).collect();
        let targets = (!names.is_empty()).then(|| Flag {
            flag: "--target".to_owned(),
            key: "worker.targets".to_owned(),
            value: names.join(","),
        });
        dir.into_iter().chain(targets).collect()
    }
}

/// Works until it is told to stop, on a runtime of one thread: one is faster here than two, and
/// more cores means more worker processes.
///
/// # Errors
/// What keeps the worker from starting, or from stopping cleanly.
pub fn work(config: &Config, environment: &Environment) -> Result<Drained, WorkerFault> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(compose::work(config, environment))
}

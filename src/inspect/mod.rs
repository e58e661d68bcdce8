//! What an operator sees of a fleet: its targets, its workers, its model servers, and why a request
//! is not finished.
//!
//! The terminal and the dashboard show the same, each in its way.
//! Never: a change to anything.

mod onlooker;
mod servers;
mod standing;
mod targets;
mod why;
mod workers;

pub use self::{
    onlooker::Onlooker,
    servers::{ModelServer, Server, Trouble, circuits_of, model_servers},
    standing::{node_state, node_time, record_state},
    targets::{Target, Targets, TargetsReader},
    why::{Ahead, Ending, Facts, Looking, Reason, Stands, reasons},
    workers::{ServingWorker, Workers, reports, serving},
};

use std::time::Duration;

/// Whole milliseconds.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

//! What keeps a worker from starting, or from stopping cleanly.

use std::io;

use super::handlers::InvalidPuruto;
use crate::{
    broker::BrokerFault, cli::observed::Unobserved, contract::PurutoName, policy::Finding,
    store::StoreFault,
};

/// What keeps a worker from starting, or from stopping cleanly.
#[derive(Debug, thiserror::Error)]
pub enum WorkerFault {
    /// The system refused something.
    #[error("the system refused: {0}")]
    Io(#[from] io::Error),
    /// The workers folder has mistakes.
    #[error("{}", Finding::listed(.0))]
    Fleet(Vec<Finding>),
    /// A target was named that the workers folder has not.
    #[error("there is no target {0} in the workers folder; `puruto check` lists what is there")]
    NoSuchTarget(PurutoName),
    /// A Puruto cannot be served as its folder says.
    #[error(transparent)]
    Puruto(#[from] InvalidPuruto),
    /// `CRASH_AT` names no place at which a process can be made to die.
    #[error("{0}")]
    CrashAt(String),
    /// The broker will not do.
    #[error(transparent)]
    Broker(#[from] BrokerFault),
    /// The store will not do.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// Its observability endpoints cannot be served.
    #[error(transparent)]
    Observed(#[from] Unobserved),
}

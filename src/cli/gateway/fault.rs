//! What keeps a gateway from serving.

use crate::{
    broker::BrokerFault,
    cli::observed::Unobserved,
    gateway::{auth::CannotOpen, server::OpenFault},
    policy::Finding,
    store::StoreFault,
};

/// What keeps a gateway from serving.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum GatewayFault {
    /// The skills' descriptors have mistakes.
    #[error("{}", Finding::listed(.0))]
    Skills(Vec<Finding>),
    /// Nobody can be let in.
    #[error(transparent)]
    Gate(#[from] CannotOpen),
    /// Its port cannot be served.
    #[error(transparent)]
    Open(#[from] OpenFault),
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

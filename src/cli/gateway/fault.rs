//! What keeps a gateway from serving.

use std::{io, net::SocketAddr};

use crate::{
    broker::BrokerFault,
    gateway::{auth::CannotOpen, server::OpenFault},
    policy::Finding,
    store::StoreFault,
};

/// What keeps a gateway from serving.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum GatewayFault {
    /// The skills' descriptors have mistakes.
    #[error("{}", listed(.0))]
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
    /// The address of the observability endpoints is taken or not ours.
    #[error(
        "cannot serve metrics on {address} ({error}): set gateway.telemetry to another address, port 0 or off"
    )]
    Telemetry {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
}

fn listed(findings: &[Finding]) -> String {
    let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

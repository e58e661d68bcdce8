//! How a process shows itself while it serves: `/metrics`, `/livez` and `/readyz`, where its
//! configuration says.
//!
//! Owns that a port which cannot be had is said before anything else is begun. Never: what is shown.

use std::{io, net::SocketAddr};

use tokio_util::sync::CancellationToken;

use crate::{
    config::Offered,
    telemetry::http::{self, Shown},
};

/// The address is taken or not ours.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot serve metrics on {address} ({error}): set {section}.telemetry to another address, port 0 or off"
)]
pub struct Unobserved {
    section: &'static str,
    address: SocketAddr,
    error: io::Error,
}

/// Serves `shown` until `stop`, if `[section]` of the configuration offers an address for it.
///
/// # Errors
///
/// When the address cannot be bound.
pub(super) async fn serve(
    section: &'static str,
    offered: Offered,
    shown: Shown,
    stop: CancellationToken,
) -> Result<(), Unobserved> {
    let Offered::At(address) = offered else {
        return Ok(());
    };
    let bound = http::bind(address, shown, stop).await;
    let (address, server) = bound.map_err(|error| Unobserved {
        section,
        address,
        error,
    })?;
    tracing::info!(%address, "serving /metrics, /livez and /readyz");
    tokio::spawn(server);
    Ok(())
}

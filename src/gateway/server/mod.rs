//! How the gateway is served: its port, its bounds, and what stands around every route.
//!
//! Never: a route, who a caller is, what a body means.

mod body;
mod events;
mod files;
mod guard;
mod headers;
mod observe;
mod origins;
mod patience;
mod refusal;

#[cfg(test)]
mod tests;

use std::{io, net::SocketAddr, time::Duration};

pub use self::{
    guard::{Guard, Tell, guarded},
    patience::Patience,
    refusal::Refusal,
};
use crate::{
    config::GatewayConfig,
    http::{Bounds, Server, Tls, TlsFault},
};

/// Requests under way at a time on one HTTP/2 connection.
const STREAMS: u32 = 128;
/// Headers of one request.
const HEADERS: usize = 64;
/// How long a client may take nothing of what it is sent.
const TAKEN_WITHIN: Duration = Duration::from_secs(60);

/// Why the gateway is not served.
#[derive(Debug, thiserror::Error)]
pub enum OpenFault {
    /// The address cannot be bound.
    #[error(
        "cannot listen on gateway.listen = {address} ({error}): name another address with --listen, or port 0 for any that is free"
    )]
    Address {
        /// Which one.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// TLS cannot be had.
    #[error("no tls by gateway.tls_certificate and gateway.tls_key: {0}")]
    Tls(#[from] TlsFault),
}

/// Binds the gateway's port, behind TLS where there is a certificate.
///
/// # Errors
/// When the address cannot be bound, or certificate and key are of no use.
pub async fn open(config: &GatewayConfig) -> Result<Server, OpenFault> {
    let address = config.listen;
    let tls = match (&config.tls_certificate, &config.tls_key) {
        (Some(certificate), Some(key)) => Some(Tls::load(certificate, key).await?),
        // One without the other is refused with the configuration.
        _ => None,
    };
    files::allow(config.max_connections.get());
    let server = Server::bind(address, bounds(config)).await;
    let server = server.map_err(|error| OpenFault::Address { address, error })?;
    Ok(match tls {
        Some(tls) => server.behind(tls),
        None => server,
    })
}

fn bounds(config: &GatewayConfig) -> Bounds {
    Bounds {
        connections: usize::try_from(config.max_connections.get()).unwrap_or(usize::MAX),
        streams: STREAMS,
        headers: HEADERS,
        head_bytes: usize::try_from(config.max_head.get()).unwrap_or(usize::MAX),
        head_within: config.request_timeout,
        taken_within: TAKEN_WITHIN,
        drain_within: config.drain_timeout,
    }
}

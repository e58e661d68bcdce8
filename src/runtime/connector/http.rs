//! What every HTTP provider needs: a client, a body read with a cap, broken connections named.
//!
//! Never: a provider's wire form. Redirects are not followed (the key would go with them), and
//! the client retries nothing by itself.

use std::{error::Error, io, time::Duration};

use reqwest::{Client, Response, redirect::Policy, retry};
use tokio::time::{Instant, timeout_at};

use crate::runtime::{Fault, fault::ConnectionFault};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Most connections to one host that are kept open while idle.
const IDLE_PER_HOST_MAX: usize = 50;
/// Longest body of a success, in bytes.
pub(super) const BODY_MAX: usize = 4 * 1024 * 1024;
/// Most that is read of a refusal's body, in bytes.
const ERROR_BODY_MAX: usize = 64 * 1024;
/// Longest wait for a refusal's body: a server that trickles it must not turn its 401 into a
/// time-out.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(2);

/// Makes ring this process's TLS provider, unless another one is installed already. Every
/// HTTP client of the process needs one before it is built.
pub fn install_tls() {
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        tracing::debug!("a tls provider is installed already");
    }
}

pub(super) fn client() -> reqwest::Result<Client> {
    install_tls();
    Client::builder()
        .user_agent(concat!("puruto-fleet/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
        .tcp_keepalive(KEEP_ALIVE)
        .redirect(Policy::none())
        .retry(retry::never())
        .build()
}

/// The whole body, if it is no longer than `cap`. Counts the bytes that arrive, after decoding;
/// what the server promised about the length is not believed.
pub(super) async fn body(mut response: Response, cap: usize) -> Result<Vec<u8>, Fault> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(cut)? {
        if body.len() + chunk.len() > cap {
            return Err(Fault::BodyTooLarge { cap });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The beginning of a refusal's body. What cannot be read is left out: the status says enough.
pub(super) async fn error_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let enough = Instant::now() + ERROR_BODY_WAIT;
    while let Ok(Ok(Some(chunk))) = timeout_at(enough, response.chunk()).await {
        let room = ERROR_BODY_MAX.saturating_sub(body.len());
        body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if body.len() >= ERROR_BODY_MAX {
            break;
        }
    }
    body
}

/// The fault of a request to which no response came.
pub(super) fn unanswered(error: reqwest::Error) -> Fault {
    let what = if error.is_dns() {
        ConnectionFault::Dns
    } else if error.is_connect() && error.is_timeout() {
        ConnectionFault::ConnectTimeout
    } else if let Some(tls) = cause::<rustls::Error>(&error) {
        match tls {
            rustls::Error::InvalidCertificate(_) => ConnectionFault::Certificate,
            _ => ConnectionFault::Tls,
        }
    } else {
        match cause::<io::Error>(&error).map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => ConnectionFault::Refused,
            Some(
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof,
            ) => ConnectionFault::Reset,
            _ => ConnectionFault::Other,
        }
    };
    connection(what, error)
}

fn cut(error: reqwest::Error) -> Fault {
    connection(ConnectionFault::Cut, error)
}

fn connection(what: ConnectionFault, error: reqwest::Error) -> Fault {
    // The address may hold what the operator wants to keep out of logs; the innermost cause says
    // most.
    let error = error.without_url();
    let innermost = causes(&error).last().map(ToString::to_string);
    let detail = innermost.unwrap_or_else(|| error.to_string()).into();
    Fault::Connection { what, detail }
}

fn causes<'e>(error: &'e reqwest::Error) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause: &&'e (dyn Error + 'static)| {
        // An io::Error hides what it was made of, such as a TLS error, from `source`.
        match cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(inside) => Some(inside as &(dyn Error + 'static)),
            None => cause.source(),
        }
    })
}

fn cause<T: Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

//! The worker's own port: `/metrics`, `/livez`, `/readyz`.
//!
//! No route reads a body. Never: a route that changes something.

use std::{io, net::SocketAddr, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    health::{Health, NotReady},
    metrics::Metrics,
};
use crate::http::{Bounds, Server};

const BOUNDS: Bounds = Bounds {
    connections: 64,
    streams: 8,
    headers: 32,
    head_bytes: 16 * 1024,
    head_within: Duration::from_secs(10),
    taken_within: Duration::from_secs(10),
    drain_within: Duration::from_secs(2),
};

/// The media type of the text format of Prometheus.
const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the routes show.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The counters.
    pub metrics: Metrics,
    /// The checks.
    pub health: Health,
}

/// Binds `addr` (port 0: any free one) and returns where, with the server's own future.
///
/// The future ends after `stop`, within two seconds; answers under way are finished.
///
/// # Errors
/// When the address cannot be bound.
pub async fn bind(
    addr: SocketAddr,
    shown: Shown,
    stop: CancellationToken,
) -> io::Result<(SocketAddr, impl Future<Output = ()> + Send)> {
    let server = Server::bind(addr, BOUNDS).await?;
    let bound = server.local_addr()?;
    Ok((bound, server.serve(router(shown), || (), stop)))
}

fn router(shown: Shown) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .with_state(shown)
}

async fn metrics(State(shown): State<Shown>) -> Response {
    ([(CONTENT_TYPE, PROMETHEUS_TEXT)], shown.metrics.render()).into_response()
}

/// The runtime that answers is the one that walks: an answer is the proof.
async fn live() -> &'static str {
    "ok\n"
}

async fn ready(State(shown): State<Shown>) -> Response {
    let not_ready = shown.health.not_ready();
    let status = if not_ready.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let not_ready: Vec<_> = not_ready
        .into_iter()
        .map(|NotReady { check, why }| json!({ "check": check, "why": why }))
        .collect();
    let body = json!({ "ready": not_ready.is_empty(), "not_ready": not_ready });
    (
        status,
        [(CONTENT_TYPE, "application/json")],
        body.to_string(),
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
        task::JoinHandle,
        time::timeout,
    };

    use super::*;
    use crate::contract::PurutoName;

    fn echo() -> PurutoName {
        "puruto-echo".parse().unwrap()
    }

    struct Server {
        addr: SocketAddr,
        shown: Shown,
        stop: CancellationToken,
        ended: JoinHandle<()>,
    }

    async fn server() -> Server {
        let shown = Shown {
            metrics: Metrics::new([&echo()]),
            health: Health::default(),
        };
        let stop = CancellationToken::new();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (addr, server) = bind(any, shown.clone(), stop.clone()).await.unwrap();
        let ended = tokio::spawn(server);
        Server {
            addr,
            shown,
            stop,
            ended,
        }
    }

    /// Sends these bytes and reads until the server closes.
    async fn exchange(addr: SocketAddr, sent: &str) -> String {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn ask(addr: SocketAddr, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        exchange(addr, &request).await
    }

    #[tokio::test]
    async fn the_counters_are_served_as_prometheus_reads_them() {
        let server = server().await;
        server.shown.metrics.target(&echo()).delivered();
        let answer = ask(server.addr, "/metrics").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains(PROMETHEUS_TEXT), "{answer}");
        assert!(
            answer.contains("\npuruto_deliveries_total{target=\"puruto-echo\"} 1\n"),
            "{answer}"
        );
    }

    #[tokio::test]
    async fn readiness_turns_with_its_checks_while_life_goes_on() {
        let server = server().await;
        let broker = server.shown.health.check("broker");
        let answer = ask(server.addr, "/readyz").await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        let says = r#"{"ready":false,"not_ready":[{"check":"broker","why":"starting"}]}"#;
        assert!(answer.ends_with(says), "{answer}");

        broker.ok();
        let answer = ask(server.addr, "/readyz").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(
            answer.ends_with(r#"{"ready":true,"not_ready":[]}"#),
            "{answer}"
        );

        broker.failing("disconnected");
        let answer = ask(server.addr, "/readyz").await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(ask(server.addr, "/livez").await.ends_with("ok\n"));
    }

    #[tokio::test]
    async fn it_stops_when_told_although_clients_hold_on() {
        let server = server().await;
        let mut idle = TcpStream::connect(server.addr).await.unwrap();
        idle.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            .await
            .unwrap();
        idle.read_u8().await.unwrap();
        let silent = TcpStream::connect(server.addr).await.unwrap();
        server.stop.cancel();
        timeout(BOUNDS.drain_within * 2, server.ended)
            .await
            .unwrap()
            .unwrap();
        drop((idle, silent));
        assert!(TcpStream::connect(server.addr).await.is_err());
    }
}

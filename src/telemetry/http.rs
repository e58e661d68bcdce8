//! The worker's own port: `/metrics`, `/livez`, `/readyz`.
//!
//! Every connection is bounded: in number, in the size and count of its headers, in how long a
//! request may take to arrive; no route reads a body. Never: a route that changes something.

use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::get,
};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    health::{Health, NotReady},
    metrics::Metrics,
};

/// Connections at a time; more wait in the system's queue.
const MAX_CONNECTIONS: usize = 64;
/// Headers of one request; more are answered 431.
const MAX_HEADERS: usize = 32;
/// Bytes of a request's head.
const MAX_HEAD: usize = 16 * 1024;
/// How long the head of a request may take to arrive, also on a connection that is kept alive.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How long a connection may live; a scraper then opens another.
const CONNECTION_LIVES: Duration = Duration::from_secs(600);
/// How long an answer under way may take once its connection is to end.
const FINISH_WITHIN: Duration = Duration::from_secs(2);
/// The pause after an accept that failed, for want of file descriptors as a rule.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);

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
    let listener = TcpListener::bind(addr).await?;
    let bound = listener.local_addr()?;
    Ok((bound, serve(listener, router(shown), stop)))
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

async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let connections = TaskTracker::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    while let Some(Some((stream, place))) = stop.run_until_cancelled(next(&listener, &places)).await
    {
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            converse(stream, router, stop).await;
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    // Each of them sees `stop` and ends within `FINISH_WITHIN`.
    connections.wait().await;
}

/// The next connection once there is a place for it; `None` never comes while the server lives.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, _peer)) => return Some((stream, place)),
            Err(error) => {
                tracing::warn!(%error, "telemetry_accept_failed");
                sleep(ACCEPT_AGAIN_AFTER).await;
            }
        }
    }
}

/// Answers one connection's requests until it ends, is too old, or the server stops.
async fn converse<S>(stream: S, router: Router, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => report(ended),
        _ = timeout(CONNECTION_LIVES, stop.cancelled()) => {
            connection.as_mut().graceful_shutdown();
            // Cut, where the answer is not taken in time.
            if let Ok(ended) = timeout(FINISH_WITHIN, connection).await {
                report(ended);
            }
        }
    }
}

fn report(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "telemetry_connection_failed");
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        task::JoinHandle,
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
    async fn too_many_or_too_long_headers_are_refused_and_the_next_client_is_served() {
        let server = server().await;
        let many = "X: y\r\n".repeat(MAX_HEADERS + 1);
        let long = format!("X: {}\r\n", "y".repeat(2 * MAX_HEAD));
        for headers in [many, long] {
            let request = format!("GET /livez HTTP/1.1\r\n{headers}\r\n");
            let mut stream = TcpStream::connect(server.addr).await.unwrap();
            // The server may close before it has read all of it.
            drop(stream.write_all(request.as_bytes()).await);
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"HTTP/1.1 431");
        }
        assert!(
            ask(server.addr, "/livez")
                .await
                .starts_with("HTTP/1.1 200 ")
        );
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
        timeout(FINISH_WITHIN * 2, server.ended)
            .await
            .unwrap()
            .unwrap();
        drop((idle, silent));
        assert!(TcpStream::connect(server.addr).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_trickles_in_or_never_comes_is_cut_off() {
        for sent in [
            "",
            "GET /livez HTTP/1.1\r\nHos",
            "GET /livez HTTP/1.1\r\n\r\n",
        ] {
            let shown = Shown {
                metrics: Metrics::new([]),
                health: Health::default(),
            };
            let (mut client, served) = tokio::io::duplex(1_024);
            let began = tokio::time::Instant::now();
            let stop = CancellationToken::new();
            let server = tokio::spawn(converse(served, router(shown), stop));
            client.write_all(sent.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            server.await.unwrap();
            assert_eq!(began.elapsed().as_secs(), HEAD_WITHIN.as_secs(), "{sent:?}");
        }
    }
}

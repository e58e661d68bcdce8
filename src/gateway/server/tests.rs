//! Routes behind their guard, over sockets, and over pipes where time is the subject.

use std::{future::pending, path::Path};

use axum::{
    Extension, Router,
    body::Bytes,
    extract,
    http::header::CACHE_CONTROL,
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event, KeepAlive},
    },
    routing::{get, post},
};
use futures_util::{Stream, StreamExt as _, stream};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    config::{self, Environment, Flag, Inputs},
    telemetry::metrics::Metrics,
};

/// How long a test waits for what has to come.
const SOON: Duration = Duration::from_secs(60);

fn tell(refusal: Refusal) -> Response {
    (refusal.status(), format!("{refusal:?}")).into_response()
}

/// The defaults, but for these keys of `[gateway]`.
fn config(values: &[(&str, &str)]) -> GatewayConfig {
    let flag = |(key, value): &(&str, &str)| Flag {
        flag: String::new(),
        key: format!("gateway.{key}"),
        value: (*value).to_owned(),
    };
    let inputs = Inputs {
        folder: Path::new("nowhere"),
        file: None,
        environment: &Environment::default(),
        flags: &values.iter().map(flag).collect::<Vec<_>>(),
    };
    config::gather(&inputs).unwrap().config.gateway
}

async fn events() -> Sse<impl Stream<Item = Result<Event, axum::Error>>> {
    let first = stream::iter([Ok(Event::default().data("first"))]);
    Sse::new(first.chain(stream::once(pending()))).keep_alive(KeepAlive::default())
}

/// Waits as long as the path says, which it announces.
async fn wait(
    extract::Path(seconds): extract::Path<u64>,
    Extension(patience): Extension<Patience>,
) -> &'static str {
    let wait = Duration::from_secs(seconds);
    patience.allow(wait);
    sleep(wait).await;
    "waited"
}

async fn panics() {
    panic!("the secret")
}

fn routes() -> Router {
    Router::new()
        .route("/echo", post(|body: Bytes| async { body }))
        .route("/items/{id}", get(|| async { "item" }))
        .route(
            "/kept",
            get(|| async { ([(CACHE_CONTROL, "max-age=60")], "kept") }),
        )
        .route("/events", get(events))
        .route("/never", get(|| async { pending::<()>().await }))
        .route("/wait/{seconds}", get(wait))
        .route("/panic", get(panics))
}

/// A guarded router, with what it counts and what ends it.
struct Guarded {
    router: Router,
    metrics: Metrics,
    stop: CancellationToken,
}

fn guarded_by(values: &[(&str, &str)]) -> Guarded {
    let (metrics, stop) = (Metrics::new([]), CancellationToken::new());
    let guard = Guard {
        metrics: metrics.clone(),
        tell,
        stop: stop.clone(),
    };
    Guarded {
        router: guarded(routes(), &config(values), guard),
        metrics,
        stop,
    }
}

impl Guarded {
    /// The client's end of a connection to it.
    fn pipe(&self) -> DuplexStream {
        let (client, served) = duplex(64 * 1_024);
        let service = TowerToHyperService::new(self.router.clone());
        tokio::spawn(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(served), service),
        );
        client
    }

    /// The whole answer to a request with this head and body.
    async fn ask(&self, head: &str, body: &[u8]) -> String {
        let mut client = self.pipe();
        let length = body.len();
        let head =
            format!("{head}\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        client.write_all(body).await.unwrap();
        rest(&mut client).await
    }

    fn counts(&self, line: &str) -> bool {
        self.metrics.render().lines().any(|it| it == line)
    }
}

async fn rest(client: &mut DuplexStream) -> String {
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

fn starts(answer: &str, head: &str) {
    assert!(answer.starts_with(head), "{answer}");
}

fn has(answer: &str, part: &str) {
    assert!(answer.contains(part), "{part} is not in {answer}");
}

#[tokio::test]
async fn a_body_of_the_limit_is_taken_and_one_byte_more_is_not() {
    let guarded = guarded_by(&[("max_body", "1024")]);
    let answer = guarded.ask("POST /echo HTTP/1.1", &[b'x'; 1_024]).await;
    starts(&answer, "HTTP/1.1 200 ");
    assert!(answer.ends_with(&"x".repeat(1_024)));
    let answer = guarded.ask("POST /echo HTTP/1.1", &[b'x'; 1_025]).await;
    starts(&answer, "HTTP/1.1 413 ");
    has(&answer, "BodyTooLarge { limit: 1024 }");

    let mut chunked = guarded.pipe();
    let head = "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    chunked.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..3 {
        let chunk = format!("200\r\n{}\r\n", "x".repeat(512));
        chunked.write_all(chunk.as_bytes()).await.unwrap();
    }
    chunked.write_all(b"0\r\n\r\n").await.unwrap();
    starts(&rest(&mut chunked).await, "HTTP/1.1 413 ");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_in_is_cut_off_and_one_that_breaks_off_is_told() {
    let guarded = guarded_by(&[("request_timeout", "30s")]);
    let began = Instant::now();
    let mut slow = guarded.pipe();
    let head = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n";
    slow.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = tokio::io::split(slow);
    tokio::spawn(async move {
        while writing.write_all(b"x").await.is_ok() {
            sleep(Duration::from_secs(7)).await;
        }
    });
    let mut answer = [0; 12];
    reading.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    assert_eq!(began.elapsed().as_secs(), 30);

    let mut broken = guarded.pipe();
    let head = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno length";
    broken.write_all(head.as_bytes()).await.unwrap();
    starts(&rest(&mut broken).await, "HTTP/1.1 400 ");
}

#[tokio::test(start_paused = true)]
async fn an_answer_begins_in_time_or_as_late_as_its_route_announced() {
    let guarded = guarded_by(&[("request_timeout", "30s")]);
    let began = Instant::now();
    let answer = guarded.ask("GET /never HTTP/1.1", b"").await;
    starts(&answer, "HTTP/1.1 503 ");
    assert_eq!(began.elapsed().as_secs(), 30);
    let answer = guarded.ask("GET /wait/50 HTTP/1.1", b"").await;
    starts(&answer, "HTTP/1.1 200 ");
    assert_eq!(began.elapsed().as_secs(), 80);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_events_outlives_every_timeout_and_ends_with_the_gateway() {
    let guarded = guarded_by(&[("request_timeout", "30s")]);
    let mut client = guarded.pipe();
    let request = "GET /events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    client.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    client.read_exact(&mut first).await.unwrap();
    sleep(Duration::from_secs(3_600)).await;
    assert!(guarded.counts("puruto_http_streams 1"));
    guarded.stop.cancel();
    let answer = timeout(SOON, rest(&mut client)).await.unwrap();
    has(&answer, "data: first\n\n");
    assert!(
        answer.ends_with("\r\n0\r\n\r\n"),
        "the last chunk: {answer}"
    );
    assert!(guarded.counts("puruto_http_streams 0"));
}

#[tokio::test]
async fn a_panic_is_answered_without_what_it_says() {
    let guarded = guarded_by(&[]);
    let answer = guarded.ask("GET /panic HTTP/1.1", b"").await;
    starts(&answer, "HTTP/1.1 500 ");
    assert!(!answer.contains("secret"), "{answer}");
}

#[tokio::test]
async fn every_answer_tells_browsers_and_caches_what_they_may_not() {
    let guarded = guarded_by(&[]);
    for path in ["/items/1", "/panic", "/nowhere"] {
        let answer = guarded.ask(&format!("GET {path} HTTP/1.1"), b"").await;
        has(&answer, "x-content-type-options: nosniff\r\n");
        has(&answer, "referrer-policy: no-referrer\r\n");
        has(&answer, "cache-control: no-store\r\n");
        assert!(!answer.contains("strict-transport-security"), "{answer}");
    }
    let answer = guarded.ask("GET /kept HTTP/1.1", b"").await;
    has(&answer, "cache-control: max-age=60\r\n");
    assert!(!answer.contains("no-store"), "{answer}");

    let secure = guarded_by(&[("tls_certificate", "tls.crt"), ("tls_key", "tls.key")]);
    let answer = secure.ask("GET /items/1 HTTP/1.1", b"").await;
    has(&answer, "strict-transport-security: max-age=31536000\r\n");
}

#[tokio::test]
async fn pages_of_other_origins_may_ask_only_where_they_are_named() {
    let asks = "OPTIONS /echo HTTP/1.1\r\nAccess-Control-Request-Method: POST\r\n\
                Access-Control-Request-Headers: authorization\r\nOrigin: https://";
    let closed = guarded_by(&[]);
    let answer = closed.ask(&format!("{asks}pages.example"), b"").await;
    assert!(!answer.contains("access-control-allow"), "{answer}");

    let open = guarded_by(&[("cors_origins", "https://pages.example/")]);
    let answer = open.ask(&format!("{asks}pages.example"), b"").await;
    has(
        &answer,
        "access-control-allow-origin: https://pages.example\r\n",
    );
    assert!(!answer.contains("allow-credentials"), "{answer}");
    let answer = open.ask(&format!("{asks}pages.example.evil"), b"").await;
    assert!(!answer.contains("access-control-allow-origin"), "{answer}");
}

#[tokio::test]
async fn requests_are_counted_by_their_route_whatever_their_paths_and_methods_are() {
    let guarded = guarded_by(&[]);
    for id in 0..50 {
        guarded.ask(&format!("GET /items/{id} HTTP/1.1"), b"").await;
        guarded
            .ask(&format!("MADEUP{id} /no/{id} HTTP/1.1"), b"")
            .await;
    }
    let requests = |labels: &str| format!("puruto_http_requests_total{{{labels}}} 50");
    for labels in [
        r#"method="GET",route="/items/{id}",status="200""#,
        r#"method="other",route="none",status="404""#,
    ] {
        let line = requests(labels);
        assert!(
            guarded.counts(&line),
            "{line}\n{}",
            guarded.metrics.render()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_is_counted_too() {
    let guarded = guarded_by(&[]);
    let mut client = guarded.pipe();
    let request = b"GET /never HTTP/1.1\r\nHost: x\r\n\r\n";
    client.write_all(request).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    drop(client);
    sleep(Duration::from_secs(1)).await;
    let line = r#"puruto_http_requests_total{method="GET",route="/never",status="abandoned"} 1"#;
    assert!(guarded.counts(line), "{}", guarded.metrics.render());
}

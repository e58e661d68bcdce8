//! A server over sockets, and over pipes where time is the subject.

use std::{
    future::pending,
    sync::atomic::{AtomicUsize, Ordering},
};

use axum::{
    body::{Body, Bytes},
    http::{Request, Version},
    routing::get,
};
use futures_util::{StreamExt as _, stream};
use http_body_util::BodyExt as _;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    task::JoinHandle,
    time::Instant,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::*;
use crate::http::tls::tests::Certified;

const BOUNDS: Bounds = Bounds {
    connections: 64,
    streams: 8,
    headers: 32,
    head_bytes: 16 * 1024,
    head_within: Duration::from_secs(10),
    taken_within: Duration::from_secs(10),
    drain_within: Duration::from_secs(5),
};
/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(60);

fn router() -> Router {
    let once_then_never = || async {
        let first = stream::iter([Ok::<_, io::Error>(Bytes::from_static(b"first\n"))]);
        Body::from_stream(first.chain(stream::once(pending())))
    };
    Router::new()
        .route("/ok", get(|| async { "ok" }))
        .route("/endless", get(once_then_never))
}

/// A server on a port of its own.
struct Running {
    addr: SocketAddr,
    opened: Arc<AtomicUsize>,
    stop: CancellationToken,
    ended: JoinHandle<()>,
}

async fn run(bounds: Bounds, tls: Option<Tls>) -> Running {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind(any, bounds).await.unwrap();
    let server = match tls {
        Some(tls) => server.behind(tls),
        None => server,
    };
    let addr = server.local_addr().unwrap();
    let (opened, stop) = (Arc::<AtomicUsize>::default(), CancellationToken::new());
    let count = Arc::clone(&opened);
    let serving = server.serve(
        router(),
        move || count.fetch_add(1, Ordering::SeqCst),
        stop.clone(),
    );
    Running {
        addr,
        opened,
        stop,
        ended: tokio::spawn(serving),
    }
}

/// The client's end of one connection that is served, and the server's task.
fn pipe(tls: Option<Tls>) -> (DuplexStream, CancellationToken, JoinHandle<()>) {
    let stop = CancellationToken::new();
    let shared = Shared {
        protocol: Protocol::new(BOUNDS),
        bounds: BOUNDS,
        tls,
        router: router(),
        opened: || (),
        stop: stop.clone(),
    };
    let (client, served) = duplex(1_024);
    let peer = SocketAddr::from(([127, 0, 0, 1], 1));
    let task = tokio::spawn(async move { shared.serve(served, peer).await });
    (client, stop, task)
}

async fn ask(stream: &mut TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = vec![0; 15];
    let read = stream.read_exact(&mut head);
    timeout(PATIENCE, read).await.unwrap().unwrap();
    String::from_utf8(head).unwrap()
}

async fn trusting(certificate: &CertificateDer<'static>, addr: SocketAddr) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let tcp = TcpStream::connect(addr).await.unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    let shaken = connector.connect("localhost".try_into().unwrap(), tcp);
    timeout(PATIENCE, shaken).await.unwrap().unwrap()
}

/// One request over HTTP/2, and the text of its answer.
async fn ask_http2<S>(stream: S, path: &str) -> String
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(stream);
    let (mut client, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let uri = format!("http://localhost{path}");
    let request = Request::get(uri).body(String::new()).unwrap();
    let answer = timeout(PATIENCE, client.send_request(request)).await;
    let answer = answer.unwrap().unwrap();
    assert_eq!(answer.version(), Version::HTTP_2);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn either_version_of_http_is_spoken_with_and_without_tls() {
    let plain = run(BOUNDS, None).await;
    let mut stream = TcpStream::connect(plain.addr).await.unwrap();
    assert_eq!(ask(&mut stream, "/ok").await, "HTTP/1.1 200 OK");
    let stream = TcpStream::connect(plain.addr).await.unwrap();
    assert_eq!(ask_http2(stream, "/ok").await, "ok");

    let certified = Certified::new();
    let secure = run(BOUNDS, Some(certified.load().await.unwrap())).await;
    let stream = trusting(&certified.certificate, secure.addr).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    assert_eq!(ask_http2(stream, "/ok").await, "ok");
    let io = TokioIo::new(trusting(&certified.certificate, secure.addr).await);
    let (mut client, connection) = http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("/ok").body(String::new()).unwrap();
    let answer = client.send_request(request).await.unwrap();
    assert_eq!(answer.version(), Version::HTTP_11);
}

#[tokio::test]
async fn one_connection_more_than_there_are_places_for_waits_for_its_turn() {
    let bounds = Bounds {
        connections: 1,
        ..BOUNDS
    };
    let server = run(bounds, None).await;
    let mut first = TcpStream::connect(server.addr).await.unwrap();
    ask(&mut first, "/ok").await;
    let mut second = TcpStream::connect(server.addr).await.unwrap();
    let waiting = tokio::spawn(async move { ask(&mut second, "/ok").await });
    let mut body = [0; 1_024];
    assert!(first.read(&mut body).await.unwrap() > 0);
    ask(&mut first, "/ok").await;
    assert_eq!(server.opened.load(Ordering::SeqCst), 1);
    assert!(!waiting.is_finished());
    drop(first);
    assert_eq!(waiting.await.unwrap(), "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_the_next_client_is_served() {
    let server = run(BOUNDS, None).await;
    let many = "X: y\r\n".repeat(BOUNDS.headers + 1);
    let long = format!("X: {}\r\n", "y".repeat(2 * BOUNDS.head_bytes));
    for (sent, answered) in [
        (format!("GET /ok HTTP/1.1\r\n{many}\r\n"), b"HTTP/1.1 431"),
        (format!("GET /ok HTTP/1.1\r\n{long}\r\n"), b"HTTP/1.1 431"),
        ("\0\x01\x02 no request\r\n\r\n".to_owned(), b"HTTP/1.1 400"),
        (
            "GET /ok HTTP/1.1\r\nContent-Length: -1\r\n\r\n".to_owned(),
            b"HTTP/1.1 400",
        ),
    ] {
        let mut stream = TcpStream::connect(server.addr).await.unwrap();
        // The server may close before it has read all of it.
        drop(stream.write_all(sent.as_bytes()).await);
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, answered);
    }
    let mut stream = TcpStream::connect(server.addr).await.unwrap();
    assert_eq!(ask(&mut stream, "/ok").await, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn a_client_that_does_not_shake_hands_holds_up_nobody() {
    let certified = Certified::new();
    let server = run(BOUNDS, Some(certified.load().await.unwrap())).await;
    let silent = TcpStream::connect(server.addr).await.unwrap();
    let mut plain = TcpStream::connect(server.addr).await.unwrap();
    plain.write_all(b"GET /ok HTTP/1.1\r\n\r\n").await.unwrap();
    let stream = trusting(&certified.certificate, server.addr).await;
    assert_eq!(ask_http2(stream, "/ok").await, "ok");
    drop((silent, plain));
}

#[tokio::test(start_paused = true)]
async fn what_trickles_in_or_never_comes_is_cut_off() {
    let certified = Certified::new();
    let tls = certified.load().await.unwrap();
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings = format!("{preface}\0\0\0\x04\0\0\0\0\0");
    for (sent, tls) in [
        ("", None),
        ("PRI *", None),
        ("GET /ok HTTP/1.1\r\nHos", None),
        ("GET /ok HTTP/1.1\r\n\r\n", None),
        (settings.as_str(), None),
        ("\x16\x03\x01\x02", Some(tls)),
    ] {
        let began = Instant::now();
        let (mut client, _stop, served) = pipe(tls);
        client.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        served.await.unwrap();
        let took = began.elapsed().as_secs();
        let latest = BOUNDS.head_within.as_secs() + 1;
        assert!((latest - 1..=latest).contains(&took), "{sent:?}: {took} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stopping_server_cuts_what_does_not_end_and_waits_for_nobody_idle() {
    for (path, within) in [("/endless", BOUNDS.drain_within), ("/ok", Duration::ZERO)] {
        let (mut client, stop, served) = pipe(None);
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        client.read_u8().await.unwrap();
        let stopped = Instant::now();
        stop.cancel();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        served.await.unwrap();
        assert_eq!(stopped.elapsed(), within, "{path}");
    }
}

#[tokio::test]
async fn a_stopping_server_lets_nobody_in_and_ends_although_clients_hold_on() {
    let server = run(BOUNDS, None).await;
    let mut idle = TcpStream::connect(server.addr).await.unwrap();
    ask(&mut idle, "/ok").await;
    let silent = TcpStream::connect(server.addr).await.unwrap();
    server.stop.cancel();
    timeout(PATIENCE, server.ended).await.unwrap().unwrap();
    assert!(TcpStream::connect(server.addr).await.is_err());
    drop((idle, silent));
}

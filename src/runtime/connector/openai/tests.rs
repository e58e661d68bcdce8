//! The OpenAI connector under its runtime, against servers on real sockets.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::{Instant, sleep, timeout},
};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_partial_json, header, method, path},
};

use super::*;
use crate::runtime::{
    CallFailed, ModelAnswer,
    connector::test_server::{self, KEY, PLENTY, calls, runtime},
    fault::{ConnectionFault, HttpStatus},
    retry::Stop,
};

fn table(base_url: &str) -> String {
    format!(
        "provider = \"openai\"\nbase_url = \"{base_url}\"\nmodel = \"m-1\"\napi_key_env = \"KEY\""
    )
}

async fn ask_within(base_url: &str, limit: Duration) -> Result<ModelAnswer, CallFailed> {
    test_server::ask_within(&table(base_url), limit).await
}

async fn ask(base_url: &str) -> Result<ModelAnswer, CallFailed> {
    test_server::ask(&table(base_url)).await
}

fn good() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "id": "c-1",
        "model": "m-1-0815",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
    }))
}

async fn server(first: impl IntoIterator<Item = ResponseTemplate>) -> MockServer {
    test_server::server(first, good()).await
}

#[tokio::test]
async fn a_call_goes_out_with_its_key_and_comes_back_as_an_answer() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", format!("Bearer {KEY}").as_str()))
        .and(body_partial_json(json!({"model": "m-1", "stream": false})))
        .respond_with(good())
        .expect(1)
        .mount(&server)
        .await;
    let answer = ask(&format!("{}/v1", server.uri()))
        .await
        .expect("an answer");
    assert_eq!(answer.content, "hi");
    assert_eq!(answer.model.as_str(), "m-1-0815");
    assert_eq!(answer.usage.total_tokens, 6);
}

#[tokio::test]
async fn a_rate_limit_is_waited_out_as_long_as_the_server_asks() {
    let wish = Duration::from_millis(150);
    let limited = ResponseTemplate::new(429).insert_header("retry-after-ms", "150");
    let server = server([limited]).await;
    let before = Instant::now();
    assert_eq!(ask(&server.uri()).await.expect("an answer").content, "hi");
    assert!(before.elapsed() >= wish, "{:?}", before.elapsed());
    assert_eq!(calls(&server).await, 2);
}

#[tokio::test]
async fn a_wish_beyond_the_deadline_ends_the_call_at_once() {
    let limited = ResponseTemplate::new(429).insert_header("retry-after", "3600");
    let server = server([limited]).await;
    let failed = ask(&server.uri()).await.expect_err("no time for that");
    assert!(
        matches!(failed.why, Stop::DeadlineTooClose { .. }),
        "{failed}"
    );
    assert_eq!(calls(&server).await, 1);
}

#[tokio::test]
async fn a_refused_key_is_final_and_shows_nowhere() {
    let body = json!({"error": {"message": format!("wrong key {KEY}"), "code": "invalid_api_key"}});
    let server = server([ResponseTemplate::new(401).set_body_json(body)]).await;
    let failed = ask(&server.uri()).await.expect_err("refused");
    assert_eq!(failed.to_result_error().kind(), Some("auth"));
    let shown = format!("{failed} {failed:?} {:?}", failed.to_result_error());
    assert!(
        shown.contains("invalid_api_key") && !shown.contains("sesame"),
        "{shown}"
    );
    assert!(!format!("{:?}", runtime(&table("http://h"))).contains("sesame"));
    assert_eq!(calls(&server).await, 1);
}

#[tokio::test]
async fn a_server_that_keeps_failing_sees_exactly_four_calls() {
    let page = "<html>".repeat(200_000);
    let failing = || ResponseTemplate::new(500).set_body_string(page.clone());
    let server = server([failing(), failing(), failing(), failing()]).await;
    let failed = ask(&server.uri()).await.expect_err("spent");
    assert_eq!((failed.attempts, failed.why), (4, Stop::AttemptsSpent));
    assert_eq!(calls(&server).await, 4);
}

#[tokio::test]
async fn html_under_a_passing_status_is_retried() {
    let page = "<html><h1>Bad Gateway</h1></html>";
    let html = |status| ResponseTemplate::new(status).set_body_raw(page, "text/html");
    let server = server([html(502), html(429), html(529)]).await;
    assert_eq!(ask(&server.uri()).await.expect("an answer").content, "hi");
    assert_eq!(calls(&server).await, 4);
}

#[tokio::test]
async fn what_will_not_change_is_not_asked_again() {
    let quota = json!({"error": {"type": "insufficient_quota"}});
    for (response, error_type) in [
        (ResponseTemplate::new(400), "rejected"),
        (ResponseTemplate::new(403), "auth"),
        (ResponseTemplate::new(404), "rejected"),
        (
            ResponseTemplate::new(429).set_body_json(quota),
            "quota_exhausted",
        ),
        (
            ResponseTemplate::new(200).set_body_string("<html>"),
            "contract_violation",
        ),
        (ResponseTemplate::new(204), "contract_violation"),
    ] {
        let server = server([response]).await;
        let failed = ask(&server.uri()).await.expect_err(error_type);
        assert_eq!(failed.fault.error_type(), error_type);
        assert_eq!(calls(&server).await, 1, "{error_type}");
    }
}

#[tokio::test]
async fn an_answer_that_the_server_broke_off_is_asked_for_again() {
    let broken_off = json!({"choices": [{"message": {"content": "h"}, "finish_reason": null}]});
    let server = server([ResponseTemplate::new(200).set_body_json(broken_off)]).await;
    assert_eq!(ask(&server.uri()).await.expect("an answer").content, "hi");
    assert_eq!(calls(&server).await, 2);
}

#[tokio::test]
async fn a_redirect_is_not_followed_so_that_the_key_stays_here() {
    let elsewhere = server([]).await;
    let moved = ResponseTemplate::new(307).insert_header("location", elsewhere.uri().as_str());
    let server = server([moved]).await;
    let failed = ask(&server.uri()).await.expect_err("not followed");
    assert_eq!(
        failed.fault.refusal().map(|it| it.status),
        Some(HttpStatus(307))
    );
    assert_eq!(calls(&elsewhere).await, 0);
}

#[tokio::test]
async fn a_body_beyond_the_cap_is_refused() {
    let huge = ResponseTemplate::new(200).set_body_bytes(vec![b' '; 4 * 1024 * 1024 + 1]);
    let server = server([huge]).await;
    let failed = ask(&server.uri()).await.expect_err("too long");
    assert_eq!(
        failed.fault,
        Fault::BodyTooLarge {
            cap: 4 * 1024 * 1024
        }
    );
    assert_eq!(calls(&server).await, 1);
}

/// A server that reads each request and then does with the connection as told.
async fn raw<F>(answer: impl Fn(TcpStream) -> F + Send + 'static) -> (SocketAddr, Arc<AtomicUsize>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4_096];
            if stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer(stream));
            }
        }
    });
    (address, seen)
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
const CHUNKED_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

async fn send(stream: &mut TcpStream, bytes: &[u8]) {
    stream.write_all(bytes).await.expect("the client reads");
}

#[tokio::test]
async fn a_body_cut_short_is_a_broken_connection_and_retried() {
    for head in [HEAD, CHUNKED_HEAD] {
        let (address, seen) = raw(move |mut stream| async move {
            send(&mut stream, head).await;
            send(&mut stream, b"5\r\n{\"id\"\r\n").await;
        })
        .await;
        let failed = ask(&format!("http://{address}")).await.expect_err("cut");
        assert!(
            matches!(
                failed.fault,
                Fault::Connection {
                    what: ConnectionFault::Cut,
                    ..
                }
            ),
            "{failed}"
        );
        assert_eq!((failed.attempts, seen.load(Ordering::SeqCst)), (4, 4));
    }
}

#[tokio::test]
async fn a_connection_closed_without_a_word_is_retried() {
    let (address, seen) = raw(|stream| async move { drop(stream) }).await;
    let failed = ask(&format!("http://{address}")).await.expect_err("closed");
    assert!(matches!(failed.fault, Fault::Connection { .. }), "{failed}");
    assert_eq!((failed.attempts, seen.load(Ordering::SeqCst)), (4, 4));
}

#[tokio::test]
async fn a_port_where_nobody_listens_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let failed = ask(&format!("http://{address}")).await.expect_err("nobody");
    assert!(
        matches!(
            failed.fault,
            Fault::Connection {
                what: ConnectionFault::Refused,
                ..
            }
        ),
        "{failed}"
    );
    assert!(
        !failed.to_string().contains(&address.to_string()),
        "{failed}"
    );
}

#[tokio::test]
async fn a_server_without_tls_is_a_failed_handshake() {
    let (address, _) = raw(|mut stream| async move {
        send(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;
    let failed = ask(&format!("https://{address}"))
        .await
        .expect_err("no tls");
    assert!(
        matches!(
            failed.fault,
            Fault::Connection {
                what: ConnectionFault::Tls,
                ..
            }
        ),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_trickled_body_ends_at_the_deadline() {
    let (address, _) = raw(|mut stream| async move {
        send(&mut stream, HEAD).await;
        while stream.write_all(b" ").await.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let limit = Duration::from_millis(300);
    let asked = ask_within(&format!("http://{address}"), limit).await;
    assert_eq!(asked.expect_err("late").fault, Fault::DeadlinePassed);
}

#[tokio::test]
async fn a_refusal_counts_even_when_its_body_never_comes() {
    let (address, seen) = raw(|mut stream| async move {
        let head = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 1000\r\n\r\n";
        send(&mut stream, head).await;
        sleep(PLENTY).await;
    })
    .await;
    let failed = ask(&format!("http://{address}"))
        .await
        .expect_err("refused");
    assert_eq!(failed.fault.error_type(), "auth");
    assert_eq!(seen.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let (closed, mut is_closed) = mpsc::channel(1);
    let (address, _) = raw(move |mut stream| {
        let closed = closed.clone();
        async move {
            let read = stream.read(&mut [0; 1]).await;
            closed
                .send(read.unwrap_or(0))
                .await
                .expect("the test waits");
        }
    })
    .await;
    let base_url = format!("http://{address}");
    let abandoned = timeout(Duration::from_millis(200), ask(&base_url)).await;
    assert!(abandoned.is_err(), "the server says nothing");
    let read = timeout(Duration::from_secs(1), is_closed.recv()).await;
    assert_eq!(read.expect("within a second"), Some(0), "end of stream");
}

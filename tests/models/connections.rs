//! What a connection can do while it carries an answer.

use std::time::Duration;

use puruto_fleet::runtime::{CallFailed, Fault, fault::ConnectionFault, retry::Stop};
use serde_json::json;

use crate::{
    asking::{PLENTY, ask, ask_within, call, chat, good, runtime, table},
    fault_server::{Deed, FaultServer},
};

/// A server that does this once and answers well ever after.
async fn once(deed: Deed) -> FaultServer {
    FaultServer::start([deed], Deed::json(&good())).await
}

fn openai(server: &FaultServer) -> String {
    table("openai", &server.base_url(), "")
}

/// What a call to a server ends in that always does this.
async fn always(deed: Deed) -> (CallFailed, usize) {
    let server = FaultServer::start([], deed).await;
    let failed = ask(&openai(&server)).await.expect_err("no answer");
    (failed, server.requests())
}

fn broken(failed: &CallFailed) -> ConnectionFault {
    match failed.fault {
        Fault::Connection { what, .. } => what,
        _ => panic!("no broken connection: {failed}"),
    }
}

fn head(length: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n")
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

#[tokio::test]
async fn a_connection_reset_at_any_moment_is_tried_again() {
    let answer = good().to_string();
    for deed in [
        Deed::send([]).then_reset(),
        Deed::send("HTTP/1.1 200 OK\r\nContent-").then_reset(),
        Deed::send(head("1000")).then_reset(),
        Deed::send(head("1000") + &answer).then_reset(),
        Deed::send(CHUNKED)
            .and_send("5\r\n{\"id\"\r\n")
            .then_reset(),
    ] {
        let server = once(deed.clone()).await;
        let answered = ask(&openai(&server)).await.expect("an answer");
        assert_eq!(answered.content, "hi");
        assert_eq!(server.requests(), 2, "{deed:?}");

        let (failed, requests) = always(deed).await;
        assert!(
            matches!(
                broken(&failed),
                ConnectionFault::Reset | ConnectionFault::Cut
            ),
            "{failed}"
        );
        assert_eq!((failed.attempts, requests), (4, 4), "{failed}");
    }
}

#[tokio::test]
async fn a_body_that_ends_before_its_length_is_tried_again_and_no_memory_is_set_aside_for_it() {
    let answer = good().to_string();
    for length in ["1000", "1000000000000000"] {
        let (failed, requests) = always(Deed::send(head(length) + &answer).then_close()).await;
        assert_eq!(broken(&failed), ConnectionFault::Cut, "{length}");
        assert_eq!(requests, 4, "{length}");
    }
}

#[tokio::test]
async fn a_length_that_is_none_is_a_broken_connection() {
    let answer = good().to_string();
    for length in ["100000000000000000000", "-1", "ten", "5, 6"] {
        let (failed, _) = always(Deed::send(head(length) + &answer)).await;
        broken(&failed);
    }
    let (failed, _) = always(Deed::send(CHUNKED).and_send("FFFFFFFFFFFFFFFFF\r\n{}")).await;
    broken(&failed);
}

#[tokio::test]
async fn what_is_sent_beyond_the_length_is_never_the_next_calls_answer() {
    let half = &good().to_string()[..40];
    let smuggled = chat(&json!({"content": "smuggled"})).to_string();
    let smuggled = head(&smuggled.len().to_string()) + &smuggled;
    let lying = Deed::send(head("40") + half + &smuggled);
    let server = once(lying).await;
    let runtime = runtime(&openai(&server));

    let cut = runtime.call(&call("first", PLENTY)).await;
    let next = runtime.call(&call("second", PLENTY)).await;

    let cut = cut.expect_err("half an answer").fault;
    assert_eq!(cut.error_type(), "contract_violation");
    assert_eq!(next.expect("an answer").content, "hi");
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn headers_that_trickle_and_silence_end_at_the_limit_of_an_attempt() {
    let slow =
        Deed::send("HTTP/1.1 200 OK\r\n").and_repeat("X-A: b\r\n", Duration::from_millis(20));
    for deed in [Deed::silence(), slow] {
        let server = once(deed).await;
        let limited = openai(&server) + "request_timeout = \"300ms\"";
        let answered = ask(&limited).await.expect("the second attempt answers");
        assert_eq!((answered.content.as_str(), server.requests()), ("hi", 2));
    }
}

#[tokio::test]
async fn silence_ends_at_the_deadline_when_that_is_nearer() {
    let server = FaultServer::start([], Deed::silence()).await;
    let failed = ask_within(&openai(&server), Duration::from_millis(300)).await;
    let failed = failed.expect_err("nothing was said");
    assert_eq!(
        (failed.fault, failed.why),
        (Fault::DeadlinePassed, Stop::Final)
    );
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn a_header_without_end_is_read_up_to_a_bound() {
    let line = format!("X-Padding: {}\r\n", "x".repeat(8_000));
    let endless = Deed::send("HTTP/1.1 200 OK\r\n").and_repeat(line, Duration::ZERO);
    let server = FaultServer::start([], endless).await;

    let failed = ask(&openai(&server)).await.expect_err("no answer");

    broken(&failed);
    // What four connections hold between client and server counts too.
    let sent = server.sent();
    assert!(sent < 64 * 1024 * 1024, "{sent} bytes were taken");
}

#[tokio::test]
async fn bodies_without_end_are_read_up_to_a_bound() {
    let endless = |status: u16| {
        let head = format!("HTTP/1.1 {status} As Told\r\n\r\n");
        Deed::send(head).and_repeat([b' '; 16 * 1024], Duration::ZERO)
    };
    let success = FaultServer::start([], endless(200)).await;
    let refusal = FaultServer::start([], endless(400)).await;

    let too_long = ask(&openai(&success)).await.expect_err("no answer");
    let refused = ask(&openai(&refusal)).await.expect_err("refused");

    assert_eq!(too_long.fault.error_type(), "body_too_large");
    assert_eq!(too_long.to_result_error().code.as_str(), "INVALID_RESPONSE");
    assert_eq!(refused.fault.error_type(), "rejected");
    for server in [success, refusal] {
        assert_eq!(server.requests(), 1);
        let sent = server.sent();
        assert!(sent < 64 * 1024 * 1024, "{sent} bytes were taken");
    }
}

#[tokio::test]
async fn words_before_the_answer_are_passed_over() {
    let answer = good().to_string();
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let server = once(Deed::send(format!(
        "{interim}{}{answer}",
        head(&answer.len().to_string())
    )))
    .await;
    assert_eq!(
        ask(&openai(&server)).await.expect("an answer").content,
        "hi"
    );
    assert_eq!(server.requests(), 1);
}

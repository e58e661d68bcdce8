//! What a server means by an answer that is no success.

use puruto_fleet::runtime::{CallFailed, retry::Stop};
use serde_json::{Value, json};

use crate::{
    asking::{ask, good, table},
    fault_server::{Deed, FaultServer},
};

fn refusal(status: u16, body: &Value) -> Deed {
    Deed::respond(
        status,
        "Content-Type: application/json\r\n",
        &body.to_string(),
    )
}

async fn refused(deed: Deed) -> (CallFailed, usize) {
    let server = FaultServer::start([], deed).await;
    let asked = ask(&table("openai", &server.base_url(), "")).await;
    (asked.expect_err("refused"), server.requests())
}

/// How many calls there are until the good answer.
async fn recovers(deed: Deed) -> usize {
    let server = FaultServer::start([deed], Deed::json(&good())).await;
    let asked = ask(&table("openai", &server.base_url(), "")).await;
    assert_eq!(asked.expect("an answer").content, "hi");
    server.requests()
}

#[tokio::test]
async fn an_error_may_have_any_shape_and_its_status_counts() {
    let loading = json!({"code": 503, "message": "Loading model", "type": "unavailable_error"});
    for error in [
        json!("text"),
        json!(7),
        json!([1]),
        json!(null),
        json!({"code": 7.5}),
        loading,
    ] {
        let body = json!({ "error": error });
        assert_eq!(recovers(refusal(503, &body)).await, 2, "{body}");
        let (failed, requests) = refused(refusal(400, &body)).await;
        assert_eq!(
            (failed.fault.error_type(), requests),
            ("rejected", 1),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_page_or_nothing_under_a_passing_status_is_waited_out() {
    let page = "<html><h1>Bad Gateway</h1></html>";
    for status in [408, 429, 500, 502, 503, 504, 529] {
        for (kind, body) in [
            ("text/html", page),
            ("application/json", ""),
            ("text/html", "\u{fffd}"),
        ] {
            let header = format!("Content-Type: {kind}\r\n");
            assert_eq!(
                recovers(Deed::respond(status, &header, body)).await,
                2,
                "{status}"
            );
        }
    }
}

#[tokio::test]
async fn a_used_up_account_is_final_and_other_limits_pass() {
    let error = |code: &str, kind: &str| json!({"error": {"code": code, "type": kind}});
    for body in [
        error("insufficient_quota", "insufficient_quota"),
        error("credit_balance_exhausted", "billing"),
        error("billing_hard_limit_reached", "invalid_request_error"),
    ] {
        let (failed, requests) = refused(refusal(429, &body)).await;
        assert_eq!(
            (failed.fault.error_type(), requests),
            ("quota_exhausted", 1),
            "{body}"
        );
        assert_eq!(failed.to_result_error().kind(), Some("rate_limited"));
    }
    for body in [
        error("rate_limit_exceeded", "requests"),
        error("slow_down", "tokens"),
    ] {
        assert_eq!(recovers(refusal(429, &body)).await, 2, "{body}");
    }
    assert_eq!(
        recovers(refusal(503, &error("server_is_overloaded", "x"))).await,
        2
    );
}

#[tokio::test]
async fn a_wish_beside_an_error_under_success_counts() {
    let body = json!({"error": {"code": 429, "message": "later"}});
    let patient = Deed::respond(200, "Retry-After: 3600\r\n", &body.to_string());
    let (failed, requests) = refused(patient).await;
    let late = matches!(failed.why, Stop::DeadlineTooClose { .. });
    assert!(late && requests == 1, "{failed}");
}

#[tokio::test]
async fn a_question_that_is_too_long_is_final() {
    let error = json!({
        "code": 400, "type": "exceed_context_size_error", "message": "request (5000 tokens) ...",
        "n_prompt_tokens": 5_000, "n_ctx": 2_048,
    });
    let (failed, requests) = refused(refusal(400, &json!({ "error": error }))).await;
    assert_eq!((failed.fault.error_type(), requests), ("rejected", 1));
    let told = failed.to_result_error().message;
    assert!(told.contains("exceed_context_size_error"), "{told}");
}

#[tokio::test]
async fn a_host_without_an_address_is_no_connection() {
    let failed = ask(&table("openai", "http://no-such-host.invalid", "")).await;
    let failed = failed.expect_err("no such host");
    assert_eq!(failed.fault.error_type(), "connection");
    assert!(
        failed.to_string().contains("host name not resolved"),
        "{failed}"
    );
}

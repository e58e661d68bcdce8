//! The MiniMax connector under its runtime, against servers on real sockets.

use std::time::Duration;

use hyper::header::HeaderValue;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_json, header, method, path},
};

use super::*;
use crate::runtime::{
    CallFailed, FinishReason, ModelAnswer,
    connector::test_server::{self, KEY, calls, connector, runtime},
    fault::HttpStatus,
    retry::Stop,
};

fn table(server: &MockServer, more: &str) -> String {
    let base_url = server.uri();
    format!(
        "provider = \"minimax\"\nbase_url = \"{base_url}/v1\"\nmodel = \"m-1\"\n\
         api_key_env = \"KEY\"\n{more}"
    )
}

async fn ask(server: &MockServer) -> Result<ModelAnswer, CallFailed> {
    test_server::ask(&table(server, "")).await
}

/// A good answer with `changes` made to its fields, with everything that MiniMax adds.
fn answer(changes: &Value) -> ResponseTemplate {
    let message = json!({
        "role": "assistant", "content": "hi", "name": "MiniMax AI", "audio_content": "",
    });
    let mut body = json!({
        "id": "04ecb5d9b1921ae0fb0e8da9017a5474",
        "choices": [{"finish_reason": "stop", "index": 0, "message": message}],
        "created": 1_755_153_113,
        "model": "m-1",
        "object": "chat.completion",
        "usage": {
            "total_tokens": 249, "total_characters": 0,
            "prompt_tokens": 26, "completion_tokens": 223,
        },
        "input_sensitive": false,
        "output_sensitive": false,
        "input_sensitive_type": 0,
        "output_sensitive_type": 0,
        "base_resp": {"status_code": 0, "status_msg": ""},
    });
    for (key, value) in changes.as_object().expect("an object") {
        body[key] = value.clone();
    }
    ResponseTemplate::new(200).set_body_json(body)
}

fn says(content: &Value) -> Value {
    json!({"choices": [{"finish_reason": "stop", "message": {"content": content}}]})
}

/// HTTP 200 that is none.
fn base_resp(code: u32) -> ResponseTemplate {
    let base_resp = json!({"status_code": code, "status_msg": "for key sk-1"});
    let body = json!({"base_resp": base_resp, "choices": null});
    ResponseTemplate::new(200).set_body_json(body)
}

fn error(status: u16, kind: &str, message: &str) -> ResponseTemplate {
    let error = json!({"http_code": status.to_string(), "message": message, "type": kind});
    ResponseTemplate::new(status).set_body_json(json!({"type": "error", "error": error}))
}

async fn server(first: impl IntoIterator<Item = ResponseTemplate>) -> MockServer {
    test_server::server(first, answer(&json!({}))).await
}

async fn answered(changes: &Value) -> ModelAnswer {
    let server = server([answer(changes)]).await;
    let answer = ask(&server).await.expect("an answer");
    assert_eq!(calls(&server).await, 1, "at the first attempt");
    answer
}

/// What the only call to the server ended in.
async fn refused(response: ResponseTemplate) -> CallFailed {
    let server = server([response]).await;
    let failed = ask(&server).await.expect_err("refused");
    assert_eq!(calls(&server).await, 1, "{failed}");
    failed
}

/// How many calls there are until a good answer.
async fn recovers(response: ResponseTemplate) -> usize {
    let server = server([response]).await;
    assert_eq!(ask(&server).await.expect("an answer").content, "hi");
    calls(&server).await
}

#[tokio::test]
async fn a_call_takes_the_route_of_its_table_with_the_key() {
    let asked = json!({
        "model": "m-1",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": false,
    });
    let mut asked_to_split = asked.clone();
    asked_to_split["reasoning_split"] = true.into();
    for (route, at, asked) in [
        ("", "/v1/text/chatcompletion_v2", &asked),
        ("route = \"native\"", "/v1/text/chatcompletion_v2", &asked),
        (
            "route = \"openai\"",
            "/v1/chat/completions",
            &asked_to_split,
        ),
    ] {
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .and(path(at))
            .and(header("authorization", format!("Bearer {KEY}").as_str()))
            .and(body_json(asked))
            .respond_with(answer(&json!({})))
            .expect(1)
            .mount(&server)
            .await;
        let table = table(&server, route);
        let answer = test_server::ask(&table).await.expect("an answer");
        assert_eq!(
            (answer.content.as_str(), answer.usage.total_tokens),
            ("hi", 249)
        );
        assert!(!format!("{:?}", runtime(&table)).contains("sesame"));
    }
}

#[test]
fn the_native_route_of_minimax_itself_is_the_default() {
    let minimax = connector("provider = \"minimax\"\nmodel = \"m-1\"");
    let native = "https://api.minimax.io/v1/text/chatcompletion_v2";
    assert_eq!(minimax.endpoint(), native);
    assert_eq!(minimax.request_timeout(), Duration::from_secs(120));
}

#[tokio::test]
async fn an_error_under_success_is_told_by_its_code() {
    for code in [1000, 1001, 1002, 1013, 1024, 1033, 1039, 1041, 2045, 2064] {
        assert_eq!(recovers(base_resp(code)).await, 2, "{code}");
    }
    for (code, kind) in [
        (1004, "auth"),
        (2049, "auth"),
        (1008, "rate_limited"),
        (2056, "rate_limited"),
        (1026, "model_unavailable"),
        (1027, "model_unavailable"),
        (1042, "model_unavailable"),
        (2013, "model_unavailable"),
        (9999, "model_unavailable"),
    ] {
        let failed = refused(base_resp(code)).await;
        assert_eq!(failed.to_result_error().kind(), Some(kind), "{code}");
        let said = format!("{failed} {failed:?}");
        assert!(said.contains(&format!("({code})")), "{said}");
        assert!(!said.contains("sk-1"), "{said}");
    }
}

#[tokio::test]
async fn a_token_limit_is_waited_out_once() {
    let server = server([base_resp(1039), base_resp(1039)]).await;
    let failed = ask(&server).await.expect_err("still limited");
    assert_eq!((failed.attempts, failed.why), (2, Stop::Final));
    assert_eq!(failed.to_result_error().kind(), Some("rate_limited"));
    assert_eq!(calls(&server).await, 2);
}

#[tokio::test]
async fn an_empty_account_is_the_same_in_all_three_shapes() {
    let message = "insufficient balance (1008)";
    for response in [
        base_resp(1008),
        error(429, "insufficient_balance_error", message),
        error(429, "rate_limit_error", message),
        error(500, "api_error", message),
        ResponseTemplate::new(500).set_body_json(json!({ "error": message })),
        ResponseTemplate::new(200).set_body_json(json!({"error": {"message": message}})),
    ] {
        let failed = refused(response).await;
        assert_eq!(failed.fault.error_type(), "quota_exhausted");
        assert!(failed.to_string().contains("(1008)"), "{failed}");
    }
}

#[tokio::test]
async fn base_resp_counts_before_the_message_and_both_before_the_status() {
    let body = json!({
        "base_resp": {"status_code": 1004},
        "error": {"message": "try again later (1002)"},
    });
    let failed = refused(ResponseTemplate::new(503).set_body_json(body)).await;
    assert_eq!(failed.fault.error_type(), "auth");
    assert_eq!(failed.fault.http_status(), Some(HttpStatus(503)));
    assert_eq!(
        recovers(error(400, "api_error", "high load (2064)")).await,
        2
    );
}

#[tokio::test]
async fn without_a_known_code_the_status_decides() {
    for status in [429, 500, 529] {
        for message in ["overloaded", "overloaded (9999)"] {
            assert_eq!(
                recovers(error(status, "overloaded_error", message)).await,
                2
            );
        }
        let page = ResponseTemplate::new(status).set_body_string("<html>");
        assert_eq!(recovers(page).await, 2, "{status}");
    }
    for status in [400, 401, 403, 404] {
        let failed = refused(error(status, "bad_request_error", "no")).await;
        assert_eq!(failed.fault.http_status(), Some(HttpStatus(status)));
    }
    let under_success = json!({"error": {"http_code": "429", "message": "slow down"}});
    let under_success = ResponseTemplate::new(200).set_body_json(under_success);
    assert_eq!(recovers(under_success).await, 2);
}

#[tokio::test]
async fn an_answer_that_was_cut_for_what_it_said_is_a_filtered_one() {
    let left = says(&json!("up to he"))["choices"].clone();
    let nothing_left = says(&Value::Null)["choices"].clone();
    let cut = json!({"status_code": 1027, "status_msg": "output sensitive"});
    for (changes, content) in [
        (json!({"base_resp": cut, "choices": left}), "up to he"),
        (json!({"base_resp": cut, "choices": nothing_left}), ""),
        (
            json!({"output_sensitive": true, "choices": left}),
            "up to he",
        ),
    ] {
        let answer = answered(&changes).await;
        assert_eq!(
            answer.finish_reason,
            FinishReason::ContentFilter,
            "{changes}"
        );
        assert_eq!(answer.content, content, "{changes}");
    }
}

#[tokio::test]
async fn no_choice_without_an_error_is_a_violation() {
    for choices in [json!(null), json!([]), json!([null]), json!("none")] {
        let failed = refused(answer(&json!({ "choices": choices }))).await;
        assert_eq!(failed.fault.error_type(), "contract_violation", "{choices}");
    }
    for body in ["", "<html>", "[]"] {
        let failed = refused(ResponseTemplate::new(200).set_body_string(body)).await;
        assert_eq!(failed.fault.error_type(), "contract_violation", "{body:?}");
    }
}

#[tokio::test]
async fn thinking_stays_out_of_the_content() {
    for (said, content, chars) in [
        ("<think>hm</think>\n\n{\"a\": 1}", "{\"a\": 1}", Some(2)),
        ("\n<think>hm, h", "", Some(5)),
        (
            "tags such as <think> stay",
            "tags such as <think> stay",
            None,
        ),
    ] {
        let answer = answered(&says(&json!(said))).await;
        assert_eq!(answer.content, content);
        let noted = answer
            .metadata
            .get("reasoning_chars")
            .and_then(Value::as_u64);
        assert_eq!(noted, chars, "{said}");
    }
}

#[test]
fn the_trace_id_is_found_and_cannot_smuggle_a_sentence() {
    let headers = |name, value| HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
    for name in TRACE_HEADERS {
        let name = hyper::header::HeaderName::from_static(name);
        let found = trace_id(&headers(name.clone(), "04ecb5d9b1921ae0"));
        assert_eq!(found, ProviderCode::read("04ecb5d9b1921ae0"));
        assert_eq!(trace_id(&headers(name, "your key sk-1")), None);
    }
}

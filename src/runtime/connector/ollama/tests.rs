//! The Ollama connector under its runtime, against servers on real sockets.

use std::time::Duration;

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
    format!("provider = \"ollama\"\nbase_url = \"{base_url}\"\nmodel = \"m-1\"\n{more}")
}

async fn ask(server: &MockServer) -> Result<ModelAnswer, CallFailed> {
    test_server::ask(&table(server, "")).await
}

async fn ask_for_json(server: &MockServer) -> Result<ModelAnswer, CallFailed> {
    test_server::ask(&table(server, "format = \"json\"")).await
}

/// A good answer with `changes` made to its fields; `null` removes one.
fn answer(changes: &Value) -> ResponseTemplate {
    let mut body = json!({
        "model": "m-1:latest",
        "created_at": "2026-08-01T00:00:00Z",
        "message": {"role": "assistant", "content": "hi"},
        "done": true,
        "done_reason": "stop",
        "total_duration": 5_191_566_416_u64,
        "load_duration": 2_154_458,
        "prompt_eval_count": 26,
        "eval_count": 298,
    });
    for (key, value) in changes.as_object().expect("an object") {
        body[key] = value.clone();
    }
    let fields = body.as_object_mut().expect("an object");
    fields.retain(|_, value| !value.is_null());
    ResponseTemplate::new(200).set_body_json(body)
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
async fn refused(response: ResponseTemplate) -> Fault {
    let server = server([response]).await;
    let failed = ask(&server).await.expect_err("refused");
    assert_eq!(calls(&server).await, 1, "{failed}");
    failed.fault
}

#[tokio::test]
async fn a_call_goes_out_without_streaming_and_with_the_options_of_its_table() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/api/chat"))
        .and(header("authorization", format!("Bearer {KEY}").as_str()))
        .and(body_json(json!({
            "model": "m-1",
            "messages": [{"role": "user", "content": "hello"}],
            "stream": false,
            "format": "json",
            "options": {"temperature": 0.5, "num_predict": 9},
        })))
        .respond_with(answer(&json!({"message": {"content": "{\"a\": 1}"}})))
        .expect(1)
        .mount(&server)
        .await;
    let keys = "format = \"json\"\napi_key_env = \"KEY\"\ntemperature = 0.5\nmax_tokens = 9";
    let table = table(&server, keys);
    let answer = test_server::ask(&table).await.expect("an answer");
    assert_eq!(answer.content, "{\"a\": 1}");
    assert_eq!(answer.model.as_str(), "m-1:latest");
    assert_eq!(answer.usage.total_tokens, 26 + 298);
    assert!(answer.metadata.is_empty(), "{:?}", answer.metadata);
    assert!(!format!("{:?}", runtime(&table)).contains("sesame"));
}

#[test]
fn an_attempt_may_take_ninety_seconds_on_this_machine_unless_configured() {
    let ollama = connector("provider = \"ollama\"\nmodel = \"m-1\"");
    assert_eq!(ollama.request_timeout(), Duration::from_secs(90));
    assert_eq!(ollama.endpoint(), "http://127.0.0.1:11434/api/chat");
}

#[tokio::test]
async fn a_counter_that_the_server_leaves_out_is_estimated_and_says_so() {
    let cached = answered(&json!({"prompt_eval_count": null})).await;
    assert_eq!(cached.metadata["usage_estimated"], true);
    // "hello", at four characters a token.
    assert_eq!(
        (cached.usage.prompt_tokens, cached.usage.completion_tokens),
        (2, 298)
    );
    let uncounted = answered(&json!({"eval_count": null})).await;
    assert_eq!(uncounted.metadata["usage_estimated"], true);
    assert_eq!(
        (
            uncounted.usage.completion_tokens,
            uncounted.usage.total_tokens
        ),
        (1, 27)
    );
}

#[tokio::test]
async fn an_answer_that_was_broken_off_is_asked_for_again() {
    for broken_off in [
        json!({"done": false, "done_reason": null, "message": {"content": ""}, "eval_count": null}),
        json!({"done": null}),
        json!({"done_reason": null}),
        json!({"done_reason": "load", "message": {"content": ""}}),
        json!({"done_reason": "unload", "message": {"content": ""}}),
    ] {
        let server = server([answer(&broken_off)]).await;
        assert_eq!(
            ask(&server).await.expect("an answer").content,
            "hi",
            "{broken_off}"
        );
        assert_eq!(calls(&server).await, 2, "{broken_off}");
    }
}

#[tokio::test]
async fn an_error_under_success_is_a_failure_of_the_server() {
    let error = || ResponseTemplate::new(200).set_body_json(json!({"error": "runner sk-1 died"}));
    let recovers = server([error()]).await;
    assert_eq!(ask(&recovers).await.expect("an answer").content, "hi");
    let server = server([error(), error(), error(), error()]).await;
    let failed = ask(&server).await.expect_err("it keeps failing");
    assert_eq!(failed.why, Stop::AttemptsSpent);
    assert_eq!(failed.fault.error_type(), "server_error");
    assert!(!format!("{failed} {failed:?}").contains("sk-1"), "{failed}");
}

#[tokio::test]
async fn an_unknown_reason_is_a_violation() {
    let fault = refused(answer(&json!({"done_reason": "bored"}))).await;
    assert!(fault.to_string().contains("bored"), "{fault}");
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_a_missing_model_is_not() {
    let error =
        |status, said: &str| ResponseTemplate::new(status).set_body_json(json!({"error": said}));
    for status in [500, 502, 503] {
        let busy = "server busy, please try again.  maximum pending requests exceeded";
        let server = server([error(status, busy)]).await;
        assert_eq!(
            ask(&server).await.expect("an answer").content,
            "hi",
            "{status}"
        );
        assert_eq!(calls(&server).await, 2, "{status}");
    }
    for (status, error_type) in [
        (400, "rejected"),
        (401, "auth"),
        (404, "rejected"),
        (499, "rejected"),
    ] {
        let fault = refused(error(status, "model 'm-1' not found")).await;
        assert_eq!(fault.error_type(), error_type);
        assert_eq!(fault.http_status(), Some(HttpStatus(status)));
        assert!(!fault.to_string().contains("not found"), "{fault}");
    }
}

#[tokio::test]
async fn tools_are_called_under_reason_stop_with_arguments_as_an_object_and_no_id() {
    let search = json!({"function": {"name": "search", "arguments": {"query": "db"}}});
    let named = json!({"id": "call_x", "function": {"name": "read", "arguments": {}}});
    let message = json!({"role": "assistant", "content": "", "tool_calls": [search, named]});
    let answer = answered(&json!({ "message": message })).await;
    assert_eq!(answer.finish_reason, FinishReason::ToolCalls);
    let calls = answer.tool_calls.iter();
    let calls: Vec<_> = calls
        .map(|it| (it.id.as_str(), it.arguments.as_str()))
        .collect();
    assert_eq!(calls, [("call_0", "{\"query\":\"db\"}"), ("call_x", "{}")]);
}

#[tokio::test]
async fn thinking_stays_out_of_the_content() {
    let message = json!({"role": "assistant", "content": "", "thinking": "hm, hm"});
    let answer = answered(&json!({"message": message, "done_reason": "length"})).await;
    assert_eq!(
        (answer.content.as_str(), answer.finish_reason),
        ("", FinishReason::Length)
    );
    assert_eq!(answer.metadata["reasoning_chars"], 6);
}

#[tokio::test]
async fn json_that_was_asked_for_must_be_whole() {
    for changes in [
        json!({"message": {"content": "{\"a\": "}, "done_reason": "length"}),
        json!({"message": {"content": "{\"a\": "}}),
        json!({"message": {"content": "   \n  "}}),
        json!({"message": {"content": "Here it is: {}"}}),
    ] {
        let server = server([answer(&changes)]).await;
        let failed = ask_for_json(&server).await.expect_err("no JSON");
        let error = failed.to_result_error();
        assert_eq!(error.code.as_str(), "INVALID_RESPONSE", "{changes}");
        assert_eq!(calls(&server).await, 1, "{changes}");
    }
}

#[tokio::test]
async fn a_hundred_thousand_bytes_are_read_and_not_one_more() {
    let padded = |len: usize| {
        let body = json!({
            "model": "m-1", "message": {"content": "hi"}, "done": true, "done_reason": "stop",
            "prompt_eval_count": 1, "eval_count": 1,
        });
        let body = body.to_string();
        let padding = " ".repeat(len - body.len());
        ResponseTemplate::new(200).set_body_string(body + &padding)
    };
    let fits = server([padded(100_000)]).await;
    assert_eq!(ask(&fits).await.expect("an answer").usage.total_tokens, 2);
    assert_eq!(
        refused(padded(100_001)).await,
        Fault::BodyTooLarge { cap: 100_000 }
    );
}

#[tokio::test]
async fn what_is_no_response_is_a_violation() {
    for body in ["", "<html>", "[]", "{}\n{}", &"[".repeat(90_000)] {
        let fault = refused(ResponseTemplate::new(200).set_body_string(body)).await;
        assert_eq!(fault.error_type(), "contract_violation");
    }
}

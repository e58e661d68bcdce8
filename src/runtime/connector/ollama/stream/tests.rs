//! Streams of Ollama: lines of JSON, the last of which says so.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::runtime::{
    ModelAnswer,
    connector::{assembly::assembled, test_server},
    contract::{self, AnswerShape},
    stream::lines::Lines,
};

fn line(message: &Value, rest: &Value) -> String {
    let mut line = json!({"model": "m-1", "created_at": "t", "message": message, "done": false});
    for (key, value) in rest.as_object().expect("fields") {
        line[key] = value.clone();
    }
    format!("{line}\n")
}

fn said(content: &str) -> String {
    line(
        &json!({"role": "assistant", "content": content}),
        &json!({}),
    )
}

fn done(reason: &Value) -> String {
    let rest =
        json!({"done": true, "done_reason": reason, "prompt_eval_count": 3, "eval_count": 2});
    line(&json!({"role": "assistant", "content": ""}), &rest)
}

fn read(body: &str) -> (Vec<Delta>, Result<ModelAnswer, Fault>) {
    let call = test_server::call(Duration::from_secs(1));
    let parts = Parts::of(&call, 100_000);
    let (deltas, draft) = assembled(Lines::default(), parts, [body.as_bytes()]);
    (
        deltas,
        draft.and_then(|draft| contract::check(draft, &AnswerShape::Text).answer),
    )
}

fn fault(lines: &[String]) -> &'static str {
    let body = lines.concat();
    read(&body).1.expect_err(&body).error_type()
}

#[tokio::test]
async fn an_answer_comes_line_by_line_and_is_counted_by_the_last() {
    let think = line(&json!({"content": "", "thinking": "hm"}), &json!({}));
    let call = json!({"function": {"name": "pay", "arguments": {"n": 1}}});
    let calls = line(&json!({"content": "", "tool_calls": [call]}), &json!({}));
    let body = [think, said("Hel"), said("lo"), calls, done(&json!("stop"))].concat();
    let (deltas, answer) = read(&body);
    let content = |text: &str| Delta::Content(text.to_owned());
    let thought = Delta::Reasoning("hm".to_owned());
    assert_eq!(deltas, [thought, content("Hel"), content("lo")]);
    let answer = answer.expect("an answer");
    assert_eq!(
        (answer.content.as_str(), answer.usage.total_tokens),
        ("Hello", 5)
    );
    assert_eq!(answer.finish_reason.as_str(), "tool_calls");
    assert_eq!(answer.tool_calls[0].arguments, "{\"n\":1}");
    assert_eq!(answer.metadata["reasoning_chars"], 2);
}

#[tokio::test]
async fn a_single_line_is_an_answer_with_and_without_its_end() {
    let whole = line(
        &json!({"content": "Hello"}),
        &json!({"done": true, "done_reason": "stop", "eval_count": 2, "prompt_eval_count": 3}),
    );
    for body in [whole.as_str(), whole.trim_end()] {
        assert_eq!(read(body).1.expect("an answer").content, "Hello");
    }
}

#[tokio::test]
async fn an_answer_without_its_last_line_or_its_reason_is_no_answer() {
    assert_eq!(fault(&[said("Hel")]), "connection");
    assert_eq!(fault(&[]), "connection");
    let last = done(&json!("stop"));
    assert_eq!(
        fault(&[said("Hel"), last[..last.len() / 2].to_owned()]),
        "connection"
    );
    for reason in [json!(null), json!("load"), json!("unload")] {
        assert_eq!(
            fault(&[said("Hel"), done(&reason)]),
            "incomplete",
            "{reason}"
        );
    }
}

#[tokio::test]
async fn an_error_among_the_lines_ends_the_answer() {
    let error = "{\"error\":\"an error was encountered\"}\n".to_owned();
    assert_eq!(fault(&[said("Hel"), error]), "server_error");
    assert_eq!(fault(&["<html>".to_owned()]), "contract_violation");
    assert_eq!(fault(&[said("Hel"), "[1]\n".to_owned()]), "connection");
    assert_eq!(fault(&["[1]\n".to_owned()]), "contract_violation");
}

#[tokio::test]
async fn an_answer_is_no_longer_streamed_than_whole() {
    let many = said(&"x".repeat(50_001)).repeat(2);
    assert_eq!(fault(&[many, done(&json!("stop"))]), "body_too_large");
}

//! Streams of MiniMax: zeros before the count, a whole response at the end, errors among chunks.

use serde_json::{Value, json};

use super::*;
use crate::runtime::{
    ModelAnswer,
    connector::assembly::assembled,
    contract::{self, AnswerShape},
    stream::events::Events,
};

fn event(chunk: &Value) -> String {
    format!("data: {chunk}\n\n")
}

fn said(content: &str) -> String {
    event(&json!({
        "model": "MiniMax-M2", "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"role": "", "content": content}}],
        "usage": {"total_tokens": 0, "total_characters": 0},
        "input_sensitive": false, "output_sensitive": false, "base_resp": null,
    }))
}

/// The last event: the whole response.
fn whole(content: &str) -> String {
    event(&json!({
        "id": "c-1", "model": "MiniMax-M2", "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        "base_resp": {"status_code": 0, "status_msg": ""},
    }))
}

fn failed(code: u32) -> String {
    event(&json!({"choices": null, "base_resp": {"status_code": code, "status_msg": "x"}}))
}

fn read(events: &[String]) -> (Vec<Delta>, Result<ModelAnswer, Fault>) {
    let body = events.concat();
    let (deltas, draft) = assembled(Events::new(), Chunks::default(), [body.as_bytes()]);
    (
        deltas,
        draft.and_then(|draft| contract::check(draft, &AnswerShape::Text).answer),
    )
}

fn content(text: &str) -> Delta {
    Delta::Content(text.to_owned())
}

#[test]
fn the_whole_response_at_the_end_brings_reason_and_usage_and_no_second_text() {
    let null = event(&json!({"choices": null, "usage": {"total_tokens": 0}}));
    let (deltas, answer) = read(&[said("Hel"), null, said("lo"), whole("Hello")]);
    assert_eq!(deltas, [content("Hel"), content("lo")]);
    let answer = answer.expect("an answer");
    assert_eq!(
        (answer.content.as_str(), answer.usage.total_tokens),
        ("Hello", 5)
    );
}

#[test]
fn without_the_whole_response_the_answer_was_cut() {
    let (_, answer) = read(&[said("Hel"), said("lo")]);
    assert_eq!(answer.expect_err("cut").error_type(), "connection");
}

#[test]
fn a_server_that_does_not_stream_is_understood() {
    let body = whole("Hello");
    let body = body.trim_start_matches("data: ");
    let (deltas, answer) = read(&[body.to_owned()]);
    assert_eq!(deltas, [content("Hello")]);
    assert_eq!(answer.expect("an answer").content, "Hello");
}

#[test]
fn a_code_among_the_chunks_ends_the_answer() {
    for (code, error_type) in [
        (1002, "rate_limited"),
        (1008, "quota_exhausted"),
        (1033, "server_error"),
        (9999, "rejected"),
    ] {
        let (_, answer) = read(&[said("Hel"), failed(code)]);
        assert_eq!(answer.expect_err("an error").error_type(), error_type);
    }
    assert_eq!(
        read(&[failed(1027)])
            .1
            .expect_err("nothing left")
            .error_type(),
        "rejected"
    );
}

#[test]
fn an_answer_that_was_cut_for_what_it_says_is_what_is_left_of_it() {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2});
    let cut = json!({"choices": [], "usage": usage, "base_resp": {"status_code": 1027}});
    let (_, answer) = read(&[said("Hel"), event(&cut)]);
    let answer = answer.expect("what is left");
    assert_eq!(
        (answer.content.as_str(), answer.finish_reason.as_str()),
        ("Hel", "content_filter")
    );
}

#[test]
fn thoughts_in_the_content_are_told_apart_while_they_come_and_in_the_end() {
    let events = [said("<thi"), said("nk>hm</think>\n"), said("\nyes")];
    let full = whole("<think>hm</think>\n\nyes");
    let (deltas, answer) = read(&[events.concat(), full]);
    assert_eq!(deltas, [Delta::Reasoning("hm".to_owned()), content("yes")]);
    let answer = answer.expect("an answer");
    assert_eq!(
        (answer.content.as_str(), &answer.metadata["reasoning_chars"]),
        ("yes", &json!(2))
    );
}

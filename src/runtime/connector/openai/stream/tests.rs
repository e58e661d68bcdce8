//! Streams of OpenAI-compatible servers, and what is odd about some of them.

use proptest::prelude::*;

use super::*;
use crate::runtime::{
    ModelAnswer,
    connector::assembly::{Assembly, assembled},
    contract::{self, AnswerShape},
    fault::ConnectionFault,
    stream::events::Events,
};

const USAGE: &str = r#"{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}"#;

/// An event of one choice with this delta.
fn delta(delta: &Value) -> String {
    let chunk = json!({"id": "c-1", "model": "m-1", "choices": [{"index": 0, "delta": delta}]});
    event(&chunk.to_string())
}

fn event(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// The event that says why the model stopped.
fn stopped(reason: &str) -> String {
    event(&json!({"choices": [{"delta": {}, "finish_reason": reason}]}).to_string())
}

/// The event with the usage, which has no choice.
fn usage() -> String {
    event(&format!(r#"{{"choices":[],"usage":{USAGE}}}"#))
}

fn done() -> String {
    event("[DONE]")
}

fn read(body: &str) -> (Vec<Delta>, Result<Draft, Fault>) {
    assembled(Events::new(), Chunks::default(), [body.as_bytes()])
}

fn checked(body: &str) -> Result<ModelAnswer, Fault> {
    contract::check(read(body).1?, &AnswerShape::Text).answer
}

fn answer(events: &[String]) -> ModelAnswer {
    let body = events.concat();
    checked(&body).unwrap_or_else(|fault| panic!("{fault}: {body}"))
}

fn fault(events: &[String]) -> &'static str {
    let body = events.concat();
    checked(&body).expect_err(&body).error_type()
}

fn said(text: &str) -> String {
    delta(&json!({"content": text}))
}

#[test]
fn a_stream_and_a_whole_response_end_in_the_same_answer() {
    let stream = [
        delta(&json!({"role": "assistant", "content": null})),
        said("Hel"),
        said("lo"),
        delta(
            &json!({"tool_calls": [{"index": 0, "id": "t", "type": "function",
            "function": {"name": "pay", "arguments": "{\"n\""}}]}),
        ),
        delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]})),
        delta(&json!({"annotations": [{"type": "url_citation", "url_citation": {"url": "u"}}]})),
        stopped("tool_calls"),
        usage(),
        done(),
    ];
    let whole = json!({
        "id": "c-1", "model": "m-1",
        "choices": [{"finish_reason": "tool_calls", "message": {
            "content": "Hello",
            "tool_calls": [{"id": "t", "function": {"name": "pay", "arguments": "{\"n\":1}"}}],
            "annotations": [{"type": "url_citation", "url_citation": {"url": "u"}}],
        }}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    });
    let whole = wire::read(whole.to_string().as_bytes()).expect("a response");
    let whole = contract::check(whole, &AnswerShape::Text)
        .answer
        .expect("holds the contract");
    assert_eq!(answer(&stream), whole);
}

#[test]
fn the_answer_comes_as_it_is_written_and_what_the_model_thinks_apart_from_it() {
    let body = [
        delta(&json!({"reasoning_content": "h", "reasoning": "h"})),
        delta(&json!({"reasoning": "m", "content": ""})),
        delta(&json!({"reasoning_details": [{"text": "!"}, {"type": "other"}]})),
        said("yes"),
        stopped("stop"),
        usage(),
    ];
    let (deltas, draft) = read(&body.concat());
    let reasoning = |text: &str| Delta::Reasoning(text.to_owned());
    let content = Delta::Content("yes".to_owned());
    assert_eq!(
        deltas,
        [reasoning("h"), reasoning("m"), reasoning("!"), content]
    );
    let answer = contract::check(draft.expect("whole"), &AnswerShape::Text)
        .answer
        .expect("valid");
    assert_eq!(
        (answer.content.as_str(), &answer.metadata["reasoning_chars"]),
        ("yes", &json!(3))
    );
}

#[test]
fn chunks_without_a_choice_a_role_a_usage_or_a_reason_say_nothing() {
    let odd = [
        r#"{"choices":null}"#,
        r#"{"choices":[]}"#,
        r#"{"model":"m-1"}"#,
        r#"{"choices":[{"delta":{"role":"","content":""},"finish_reason":""}],"usage":null}"#,
        r#"{"choices":[{"delta":null}],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"another choice"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":null,"content":[{"type":"text","text":"b"}]}}]}"#,
    ];
    let odd = odd.map(event).concat();
    let answer = answer(&[
        ": ping\n\n".into(),
        said("a"),
        odd,
        stopped("stop"),
        usage(),
        done(),
    ]);
    assert_eq!(
        (answer.content.as_str(), answer.usage.total_tokens),
        ("ab", 5)
    );
}

#[test]
fn a_usage_that_counts_is_not_forgotten_for_one_that_does_not() {
    let zeros =
        r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}"#;
    for events in [
        [event(zeros), said("a"), stopped("stop"), usage()],
        [said("a"), stopped("stop"), usage(), event(zeros)],
    ] {
        assert_eq!(answer(&events).usage.total_tokens, 5);
    }
}

#[test]
fn a_stream_may_end_without_the_mark_once_it_has_its_reason() {
    assert_eq!(answer(&[said("a"), stopped("stop"), usage()]).content, "a");
    let cut_off = usage();
    assert_eq!(
        answer(&[said("a"), stopped("stop"), cut_off.trim_end().into()]).content,
        "a"
    );
}

#[test]
fn a_stream_that_ends_before_its_reason_is_an_error_and_no_short_answer() {
    for events in [
        vec![],
        vec![said("a")],
        vec![said("a"), usage()],
        vec![said("a"), "data: {\"choices\":[{\"del".into()],
        vec![
            said("a"),
            stopped("stop"),
            "data: {\"usage\":{\"prompt".into(),
        ],
    ] {
        assert_eq!(fault(&events), "connection", "{events:?}");
    }
    for reason in ["abort", "error", "network_error"] {
        assert_eq!(
            fault(&[said("a"), stopped(reason), usage(), done()]),
            "incomplete"
        );
    }
    assert_eq!(fault(&[said("a"), usage(), done()]), "incomplete");
}

#[test]
fn a_body_that_breaks_after_everything_came_takes_nothing_away() {
    let broke = || Fault::Connection {
        what: ConnectionFault::Reset,
        detail: "by peer".into(),
    };
    for (events, whole) in [
        (vec![said("a"), stopped("stop"), usage()], true),
        (vec![said("a"), stopped("stop")], false),
        (vec![said("a"), usage()], false),
    ] {
        let mut assembly = Assembly::new(Events::new(), Chunks::default());
        assembly.push(events.concat().as_bytes()).expect("no error");
        let draft = assembly.draft(Some(broke()));
        assert_eq!(draft.is_ok(), whole, "{events:?}");
    }
}

#[test]
fn an_error_after_the_beginning_ends_the_answer() {
    for (error, expected) in [
        (r#"{"error":{"message":"x","code":429}}"#, "rate_limited"),
        (
            r#"{"error":{"code":"insufficient_quota"}}"#,
            "quota_exhausted",
        ),
        (r#"{"error":"overloaded","choices":null}"#, "server_error"),
        (r#"not JSON"#, "connection"),
        (r#"[1]"#, "connection"),
    ] {
        assert_eq!(
            fault(&[said("a"), event(error), stopped("stop")]),
            expected,
            "{error}"
        );
    }
    let nothing_else = fault(&[event("not JSON"), stopped("stop")]);
    assert_eq!(nothing_else, "contract_violation");
}

#[test]
fn a_server_that_does_not_stream_is_understood() {
    let whole = format!(
        r#"{{"model":"m-1","choices":[{{"message":{{"content":"Hello"}},"finish_reason":"stop"}}],"usage":{USAGE}}}"#
    );
    let (deltas, draft) = read(&whole);
    assert_eq!(deltas, [Delta::Content("Hello".to_owned())]);
    let answer = contract::check(draft.expect("whole"), &AnswerShape::Text)
        .answer
        .expect("valid");
    assert_eq!(answer.content, "Hello");
    assert_eq!(
        checked(r#"{"error":{"code":503}}"#)
            .unwrap_err()
            .error_type(),
        "server_error"
    );
    assert_eq!(
        checked("<html>").unwrap_err().error_type(),
        "contract_violation"
    );
}

#[test]
fn a_refusal_is_shown_and_is_the_answer() {
    let events = [
        delta(&json!({"content": null, "refusal": "I will "})),
        delta(&json!({"refusal": "not"})),
        stopped("stop"),
        usage(),
    ];
    let shown = read(&events.concat()).0;
    let parts = ["I will ", "not"].map(|it| Delta::Content(it.to_owned()));
    assert_eq!(shown, parts);
    let answer = answer(&events);
    assert_eq!(answer.content, "I will not");
    assert_eq!(answer.metadata["refusal"], true);
}

proptest! {
    #[test]
    fn however_the_body_is_cut_the_answer_is_the_same(cuts in prop::collection::vec(1_usize..40, 1..30)) {
        let body = [said("é𝄞"), ": ping\r\n\r\n".into(), said("b"), stopped("stop"), usage(), done()];
        let body = body.concat();
        let mut rest = body.as_bytes();
        let mut cuts = cuts.iter().cycle();
        let chunks = std::iter::from_fn(|| {
            let (chunk, after) = rest.split_at(rest.len().min(*cuts.next()?));
            rest = after;
            (!chunk.is_empty()).then_some(chunk)
        });
        let (deltas, draft) = assembled(Events::new(), Chunks::default(), chunks);
        prop_assert_eq!(deltas, ["é𝄞", "b"].map(|it| Delta::Content(it.to_owned())));
        let answer = contract::check(draft.expect("whole"), &AnswerShape::Text).answer.expect("valid");
        prop_assert_eq!(answer.content, "é𝄞b");
    }
}

//! What passes the output contract, what is coerced first, and what violates it.

use serde_json::json;

use super::*;
use crate::{
    contract::Violation,
    runtime::{FinishReason, ToolCall, Usage},
};

fn usage(prompt: Value, completion: Value, total: Value) -> DraftUsage {
    DraftUsage::Counters {
        prompt,
        completion,
        total,
    }
}

fn good() -> Draft {
    Draft {
        content: json!("hello"),
        model: json!("m-1"),
        usage: usage(json!(3), json!(4), json!(7)),
        finish_reason: json!("stop"),
        ..Draft::default()
    }
}

fn finished(reason: Value) -> Draft {
    Draft {
        finish_reason: reason,
        ..good()
    }
}

fn checked(draft: Draft) -> Verdict {
    check(draft, &AnswerShape::Text)
}

fn answer(draft: Draft) -> ModelAnswer {
    checked(draft).answer.expect("holds the contract")
}

fn violations(draft: Draft) -> Vec<Violation> {
    match checked(draft).answer {
        Err(Fault::Contract(violations)) => violations,
        other => panic!("no violations: {other:?}"),
    }
}

fn fields(draft: Draft) -> Vec<String> {
    violations(draft).into_iter().map(|it| it.field).collect()
}

#[test]
fn a_good_draft_is_an_answer_without_a_coercion() {
    let verdict = checked(good());
    assert_eq!(verdict.coercions, []);
    let answer = verdict.answer.expect("holds the contract");
    assert_eq!(answer.content, "hello");
    assert_eq!(answer.model.as_str(), "m-1");
    assert_eq!(answer.finish_reason, FinishReason::Stop);
}

#[test]
fn every_violation_is_listed_at_once() {
    let wrong = Draft {
        content: json!(12),
        model: json!(""),
        usage: usage(json!(-1), json!("many"), json!(1.5)),
        finish_reason: json!("bored"),
        tool_calls: json!([
            {"id": "a"},
            "x",
            {"id": [], "function": {"name": "f", "arguments": "{}"}},
        ]),
        citations: json!([{}, 1]),
        metadata: Map::new(),
    };
    assert_eq!(
        fields(wrong),
        [
            "content",
            "model",
            "usage.prompt_tokens",
            "usage.completion_tokens",
            "usage.total_tokens",
            "finish_reason",
            "tool_calls[0].function.name",
            "tool_calls[0].function.arguments",
            "tool_calls[1]",
            "tool_calls[2].id",
            "citations[1]",
        ]
    );
    let empty = Draft {
        finish_reason: json!("stop"),
        ..Draft::default()
    };
    assert_eq!(fields(empty), ["content", "model", "usage"]);
}

#[test]
fn content_is_measured_in_characters() {
    let long = |chars: usize| Draft {
        content: json!("é".repeat(chars)),
        ..good()
    };
    assert!(checked(long(CONTENT_CHARS_MAX)).answer.is_ok());
    let found = violations(long(CONTENT_CHARS_MAX + 1));
    assert_eq!(found[0].field, "content");
    assert_eq!(found[0].actual, "a string of 128001 characters");
}

#[test]
fn a_model_that_only_calls_tools_needs_no_content() {
    let verdict = checked(Draft {
        content: Value::Null,
        tool_calls: json!([{
            "id": 7,
            "type": "function",
            "function": {"name": "search", "arguments": {"q": "x"}},
        }]),
        finish_reason: json!("function_call"),
        ..good()
    });
    let coerced: Vec<_> = verdict.coercions.iter().map(|it| &*it.field).collect();
    assert_eq!(
        coerced,
        [
            "finish_reason",
            "tool_calls[0].id",
            "tool_calls[0].function.arguments"
        ]
    );
    let answer = verdict.answer.expect("holds the contract");
    assert_eq!(answer.content, "");
    assert_eq!(answer.finish_reason, FinishReason::ToolCalls);
    let search = ToolCall {
        id: "7".into(),
        name: "search".into(),
        arguments: r#"{"q":"x"}"#.into(),
    };
    assert_eq!(answer.tool_calls, [search]);
}

#[test]
fn a_model_that_calls_no_tools_owes_content() {
    for no_tools in [Value::Null, json!([])] {
        let silent = Draft {
            content: Value::Null,
            tool_calls: no_tools,
            ..good()
        };
        assert_eq!(fields(silent), ["content"]);
    }
}

#[test]
fn only_what_loses_nothing_is_coerced() {
    let lossless = answer(Draft {
        model: json!(4),
        usage: usage(json!("12"), json!(12.0), json!(24)),
        ..good()
    });
    assert_eq!(lossless.model.as_str(), "4");
    assert_eq!(lossless.usage.prompt_tokens, 12);
    assert_eq!(lossless.usage.completion_tokens, 12);
    for lossy in [
        json!("012"),
        json!(" 12"),
        json!("+12"),
        json!("12.0"),
        json!(true),
        json!(1e300),
    ] {
        let draft = Draft {
            usage: usage(lossy.clone(), json!(1), json!(2)),
            ..good()
        };
        assert_eq!(fields(draft), ["usage.prompt_tokens"], "{lossy}");
    }
}

#[test]
fn a_missing_counter_is_filled_only_where_the_others_tell_it() {
    let with = |prompt, completion, total| Draft {
        usage: usage(prompt, completion, total),
        ..good()
    };
    let whole = Usage {
        prompt_tokens: 3,
        completion_tokens: 4,
        total_tokens: 7,
    };
    assert_eq!(answer(with(json!(3), json!(4), Value::Null)).usage, whole);
    assert_eq!(answer(with(Value::Null, json!(4), json!(7))).usage, whole);
    assert_eq!(answer(with(json!(3), Value::Null, json!(7))).usage, whole);
    let unknown = with(Value::Null, json!(4), Value::Null);
    assert_eq!(
        fields(unknown),
        ["usage.prompt_tokens", "usage.total_tokens"]
    );
    let contradictory = with(Value::Null, json!(9), json!(7));
    assert_eq!(fields(contradictory), ["usage.prompt_tokens"]);
    let no_object = Draft {
        usage: DraftUsage::NoObject(json!([1])),
        ..good()
    };
    assert_eq!(fields(no_object), ["usage"]);
}

#[test]
fn each_finish_reason_is_read_as_specified() {
    use FinishReason::{ContentFilter, Length, Stop, ToolCalls};
    for (raw, read) in [
        ("stop", Stop),
        ("length", Length),
        ("content_filter", ContentFilter),
        ("tool_calls", ToolCalls),
        ("function_call", ToolCalls),
        ("eos_token", Stop),
        ("end_turn", Stop),
        ("max_tokens", Length),
        ("sensitive", ContentFilter),
        ("safety", ContentFilter),
        ("output_sensitive", ContentFilter),
    ] {
        assert_eq!(answer(finished(json!(raw))).finish_reason, read, "{raw}");
    }
    let found = violations(finished(json!("bored")));
    assert_eq!(found[0].actual, "\"bored\"");
    assert_eq!(fields(finished(json!(3))), ["finish_reason"]);
}

#[test]
fn an_answer_that_the_provider_broke_off_is_its_fault_and_no_violation() {
    for reason in [
        json!("abort"),
        json!("error"),
        json!("network_error"),
        json!("none"),
        json!(""),
        Value::Null,
    ] {
        let broken = Draft {
            content: Value::Null,
            ..finished(reason.clone())
        };
        let fault = checked(broken).answer.expect_err("incomplete");
        assert!(
            matches!(fault, Fault::Incomplete { .. }),
            "{reason}: {fault}"
        );
    }
}

#[test]
fn a_violation_never_repeats_the_content() {
    let found = violations(Draft {
        content: json!(["the secret plan"]),
        tool_calls: json!("the secret plan"),
        ..good()
    });
    assert_eq!(found.len(), 2);
    assert!(!format!("{found:?}").contains("secret"), "{found:?}");
}

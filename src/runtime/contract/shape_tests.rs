//! Which answers have the form that was asked for.

use serde_json::{Map, json};

use super::*;
use crate::runtime::Usage;

fn answer(content: &str, finish_reason: FinishReason) -> ModelAnswer {
    ModelAnswer {
        content: content.to_owned(),
        json: None,
        model: "m-1".parse().expect("valid"),
        usage: Usage {
            prompt_tokens: 1,
            completion_tokens: 1,
            total_tokens: 2,
        },
        finish_reason,
        tool_calls: vec![],
        citations: vec![],
        metadata: Map::new(),
    }
}

fn amounts() -> AnswerShape {
    let source = json!({"properties": {"cents": {"type": "integer"}}, "required": ["cents"]});
    AnswerShape::Schema(AnswerSchema::compile(source).expect("a schema"))
}

fn fitted(shape: &AnswerShape, content: &str) -> Result<ModelAnswer, Fault> {
    shape.fitted(answer(content, FinishReason::Stop), &mut Vec::new())
}

fn told(shape: &AnswerShape, content: &str) -> Vec<String> {
    let fault = fitted(shape, content).expect_err(content);
    let violations = fault.violations().expect("violations").iter();
    violations.map(ToString::to_string).collect()
}

#[test]
fn any_text_will_do_where_nothing_was_asked() {
    for finish_reason in [FinishReason::Stop, FinishReason::Length] {
        let plain = answer("half a ", finish_reason);
        let fitted = AnswerShape::Text.fitted(plain.clone(), &mut Vec::new());
        assert_eq!(fitted, Ok(plain));
    }
}

#[test]
fn json_that_was_asked_for_is_handed_over_as_a_value() {
    let told = fitted(&AnswerShape::Json, " [1, {\"a\": null}]\n").expect("JSON");
    assert_eq!(told.json.as_deref(), Some(&json!([1, {"a": null}])));
    assert_eq!(told.content, " [1, {\"a\": null}]\n");
    let told = fitted(&amounts(), "{\"cents\": 5}").expect("holds the schema");
    assert_eq!(told.json.as_deref(), Some(&json!({"cents": 5})));
}

#[test]
fn a_fence_around_the_whole_answer_is_taken_off() {
    for fenced in [
        "```json\n{\"cents\": 5}\n```",
        "\n```JSON\r\n{\"cents\": 5}\r\n```\n",
        "```\n{\"cents\": 5}```",
    ] {
        let mut coercions = Vec::new();
        let told = amounts().fitted(answer(fenced, FinishReason::Stop), &mut coercions);
        let told = told.expect(fenced);
        assert_eq!(told.json.as_deref(), Some(&json!({"cents": 5})));
        assert_eq!(told.content.trim(), "{\"cents\": 5}");
        assert_eq!(coercions.len(), 1, "{coercions:?}");
    }
    for more in [
        "Here it is:\n```json\n{\"cents\": 5}\n```",
        "```json\n{\"cents\": 5}\n``` as you asked",
        "```python\n{\"cents\": 5}\n```",
        "```json\n{\"cents\": 5}\n```\n```json\n{}\n```",
        "```json {\"cents\": 5} ```",
        "``````",
        "```",
    ] {
        assert_eq!(told(&amounts(), more).len(), 1, "{more}");
    }
}

#[test]
fn what_is_no_json_is_described_and_not_repeated() {
    let secret = "the secret plan";
    assert_eq!(
        told(&AnswerShape::Json, secret),
        ["content: expected JSON, got a string of 15 characters that is none"]
    );
    let shown = format!("{:?}", fitted(&amounts(), secret));
    assert!(!shown.contains("secret"), "{shown}");
    assert_eq!(told(&AnswerShape::Json, "").len(), 1);
    assert_eq!(told(&AnswerShape::Json, "{} {}").len(), 1);
    assert_eq!(told(&AnswerShape::Json, &"[".repeat(100_000)).len(), 1);
}

#[test]
fn each_violation_of_the_schema_is_told() {
    assert_eq!(
        told(&amounts(), "{\"cents\": \"5\"}"),
        ["content.cents: expected integer, got a string of 1 characters"]
    );
    assert_eq!(
        told(&amounts(), "{}"),
        ["content.cents: expected a value, as it is required, got nothing"]
    );
}

#[test]
fn an_answer_that_was_cut_short_is_no_json_even_where_it_could_be_read() {
    for reason in [FinishReason::Length, FinishReason::ContentFilter] {
        for shape in [AnswerShape::Json, amounts()] {
            let cut = shape.fitted(answer("{\"cents\": 5}", reason), &mut Vec::new());
            let Err(Fault::Contract(violations)) = cut else {
                panic!("{cut:?}")
            };
            assert_eq!(violations[0].field, "finish_reason");
            assert_eq!(violations[0].actual, reason.as_str());
        }
    }
}

#[test]
fn an_answer_that_calls_tools_is_not_the_answer_yet() {
    let calls = answer("", FinishReason::ToolCalls);
    assert!(amounts().fitted(calls, &mut Vec::new()).is_ok());
}

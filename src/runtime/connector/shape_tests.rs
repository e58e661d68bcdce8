//! What each provider is told of the form that is asked for.

use serde_json::{Value, json};

use super::test_server::{PLENTY, call, connector};
use crate::runtime::contract::{AnswerSchema, AnswerShape};

fn amounts() -> Value {
    json!({"properties": {"cents": {"type": "integer"}}})
}

/// What stands under `field` in the request to the provider of `table`.
fn told(table: &str, field: &str, answer: AnswerShape) -> Value {
    let connector = connector(table);
    let mut call = call(PLENTY);
    call.answer = answer;
    let sent: Value = serde_json::from_slice(&connector.build(&call).0).expect("JSON");
    sent[field].clone()
}

fn schema() -> AnswerShape {
    AnswerShape::Schema(AnswerSchema::compile(amounts()).expect("a schema"))
}

#[tokio::test]
async fn openais_api_is_told_the_form_in_response_format() {
    let table = "provider = \"openai\"\nbase_url = \"http://localhost:1/v1\"\nmodel = \"m\"\n";
    let told = |more: &str, answer| told(&format!("{table}{more}"), "response_format", answer);
    assert_eq!(told("", AnswerShape::Text), Value::Null);
    assert_eq!(told("", AnswerShape::Json), json!({"type": "json_object"}));
    let named = json!({"name": "answer", "schema": amounts()});
    let expected = json!({"type": "json_schema", "json_schema": named});
    assert_eq!(told("", schema()), expected);
    assert_eq!(told("send_schema = false", schema()), Value::Null);
}

#[tokio::test]
async fn minimax_is_told_the_form_only_where_the_table_says_so() {
    let table = "provider = \"minimax\"\nmodel = \"m\"\n";
    let told = |more: &str, answer| told(&format!("{table}{more}"), "response_format", answer);
    assert_eq!(told("", schema()), Value::Null);
    let named = json!({"name": "answer", "schema": amounts()});
    let expected = json!({"type": "json_schema", "json_schema": named});
    assert_eq!(told("send_schema = true", schema()), expected);
}

#[tokio::test]
async fn ollama_is_told_the_form_in_format() {
    let table = "provider = \"ollama\"\nmodel = \"m\"\n";
    let told = |more: &str, answer| told(&format!("{table}{more}"), "format", answer);
    assert_eq!(told("", AnswerShape::Text), Value::Null);
    assert_eq!(told("format = \"json\"", AnswerShape::Text), "json");
    assert_eq!(told("", AnswerShape::Json), "json");
    assert_eq!(told("format = \"json\"", schema()), amounts());
    assert_eq!(told("send_schema = false", schema()), Value::Null);
    let kept = "format = \"json\"\nsend_schema = false";
    assert_eq!(told(kept, schema()), "json");
}

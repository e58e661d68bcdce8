//! What a schema finds wrong with an answer, and what is no schema.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn schema(source: Value) -> AnswerSchema {
    AnswerSchema::compile(source).expect("a schema")
}

/// Each violation as `field: expected ..., got ...`.
fn told(source: Value, answer: &Value) -> Vec<String> {
    let violations = schema(source).violations(answer);
    violations.iter().map(ToString::to_string).collect()
}

fn refused(source: Value) -> InvalidSchema {
    AnswerSchema::compile(source).expect_err("no schema")
}

#[test]
fn an_answer_that_holds_the_schema_has_no_violation() {
    let invoice = json!({
        "type": "object",
        "properties": {"id": {"type": "string"}, "cents": {"type": "integer", "minimum": 0}},
        "required": ["id", "cents"],
        "additionalProperties": false,
    });
    let answer = json!({"id": "A-1", "cents": 1200});
    assert!(told(invoice, &answer).is_empty());
    assert!(told(json!(true), &json!(null)).is_empty());
}

#[test]
fn each_violation_names_its_field_what_was_expected_and_what_was_there() {
    let text = json!({"type": "string"});
    for (source, answer, expected) in [
        (text.clone(), json!(1), "content: expected string, got 1"),
        (
            json!({"type": ["string", "null"]}),
            json!([1]),
            "content: expected null or string, got an array of 1 items",
        ),
        (
            json!({"properties": {"a": {"properties": {"b": {"items": text}}}}}),
            json!({"a": {"b": ["x", "y", {}]}}),
            "content.a.b[2]: expected string, got an object of 0 properties",
        ),
        (
            json!({"properties": {"a": {"required": ["b c"]}}}),
            json!({"a": {}}),
            "content.a[\"b c\"]: expected a value, as it is required, got nothing",
        ),
        (
            json!({"properties": {"a": {}}, "additionalProperties": false}),
            json!({"a": 1, "more": "secret"}),
            "content.more: expected no such property, got a string of 6 characters",
        ),
    ] {
        assert_eq!(told(source, &answer), [expected]);
    }
}

#[test]
fn a_violation_repeats_the_schema_and_describes_the_value() {
    for (source, answer, expected) in [
        (
            json!({"enum": ["pay", "wait"]}),
            json!("secret"),
            "content: expected one of \"pay\", \"wait\", got a string of 6 characters",
        ),
        (
            json!({"const": 1}),
            json!(null),
            "content: expected 1, got null",
        ),
        (
            json!({"minimum": 1}),
            json!(0),
            "content: expected at least 1, got 0",
        ),
        (
            json!({"exclusiveMaximum": 1}),
            json!(1.5),
            "content: expected less than 1, got 1.5",
        ),
        (
            json!({"minLength": 3}),
            json!("é"),
            "content: expected at least 3 characters, got a string of 1 characters",
        ),
        (
            json!({"pattern": "^[a-z]+$"}),
            json!("A1"),
            "content: expected a string that matches ^[a-z]+$, got a string of 2 characters",
        ),
        (
            json!({"format": "date"}),
            json!("yesterday"),
            "content: expected a string of the format date, got a string of 9 characters",
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!(true),
            "content: expected what one of the 2 schemas allows, got true",
        ),
        (
            json!({"not": {"type": "null"}}),
            json!(null),
            "content: expected what \"not\" allows, got null",
        ),
    ] {
        assert_eq!(told(source, &answer), [expected]);
    }
}

#[test]
fn all_violations_are_told_up_to_twenty_of_bounded_length() {
    let two = json!({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    assert_eq!(told(two, &json!({"a": 1, "b": 2})).len(), 2);
    let many = Value::Array(vec![json!(1); 500]);
    let texts = json!({"items": {"type": "string"}});
    assert_eq!(told(texts, &many).len(), VIOLATIONS_MAX);
    let long = "x".repeat(10_000);
    let closed = json!({"additionalProperties": false, "propertyNames": {"const": long}});
    for violation in told(closed, &json!({long.clone(): long})) {
        assert!(violation.len() < 500, "{violation}");
    }
}

#[test]
fn what_is_no_schema_is_told_where() {
    for (source, at) in [
        (
            json!({"properties": {"a": {"type": "text"}}}),
            "/properties/a/type",
        ),
        (
            json!({"properties": {"a": {"minimum": "1"}}}),
            "/properties/a/minimum",
        ),
        (json!({"required": "a"}), "/required"),
        (json!([]), ""),
        (json!("object"), ""),
    ] {
        let refused = refused(source);
        assert_eq!(refused.at, at, "{refused}");
    }
}

#[test]
fn a_reference_that_leads_out_of_the_document_is_refused_where_it_stands() {
    for out in [
        "https://example.com/answer.json",
        "https://example.com/answer.json#/a",
        "file:///etc/passwd",
        "other.json",
    ] {
        let source = json!({"properties": {"a/b": {"$ref": out}}});
        let refused = refused(source);
        assert_eq!(refused.at, "/properties/a~1b/$ref", "{refused}");
        assert!(refused.why.contains("nothing is fetched"), "{refused}");
    }
    let dangling = refused(json!({"items": {"$ref": "#/$defs/none"}}));
    assert_eq!(dangling.at, "/items/$ref", "{dangling}");
    let unknown = json!({"$schema": "https://example.com/schema"});
    assert_eq!(refused(unknown).at, "/$schema");
    let inside = json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}});
    assert_eq!(told(inside, &json!(1)), ["content: expected null, got 1"]);
}

#[test]
fn no_pattern_can_make_an_answer_slow() {
    let look_around = refused(json!({"pattern": "^(?=a)b"}));
    assert!(look_around.at.ends_with("pattern"), "{look_around}");
    let evil = schema(json!({"pattern": "^(a+)+$"}));
    let answer = json!(format!("{}!", "a".repeat(100_000)));
    assert_eq!(evil.violations(&answer).len(), 1);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("A-1")),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        let key = prop_oneof!["(id|cents|lines|kind|note)", ".{0,6}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn fixed() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": {"type": "string", "pattern": "^[A-Z]-[0-9]+$", "format": "hostname"},
            "cents": {"type": "integer", "minimum": 0, "multipleOf": 5},
            "kind": {"enum": ["pay", 1, null]},
            "lines": {"type": "array", "maxItems": 3, "uniqueItems": true, "items": {"$ref": "#"}},
            "note": {"anyOf": [{"maxLength": 3}, {"type": "null"}]},
        },
        "required": ["id"],
        "unevaluatedProperties": {"type": "boolean"},
        "propertyNames": {"maxLength": 5},
    })
}

proptest! {
    #[test]
    fn any_answer_is_valid_or_its_violations_are_listed(answer in any_json()) {
        let schema = schema(fixed());
        let violations = schema.violations(&answer);
        prop_assert_eq!(violations.is_empty(), schema.0.validator.is_valid(&answer));
        for violation in violations {
            prop_assert!(violation.field.starts_with("content"));
            prop_assert!(violation.to_string().chars().count() < 600);
        }
    }

    #[test]
    fn any_document_is_a_schema_or_told_why_not(source in any_json()) {
        if let Err(refused) = AnswerSchema::compile(source) {
            prop_assert!(!refused.why.is_empty());
        }
    }
}

//! What is a decision and what is none, with everything that is wrong with it.

use std::num::NonZeroU16;

use proptest::prelude::*;

use super::*;
use crate::contract::{Limits, Micros, TimeoutSec};

fn read_text(raw: &str) -> Decision {
    text(raw).unwrap_or_else(|violations| panic!("{raw}: {violations:?}"))
}

/// The fields that are wrong.
fn wrong(value: &Value) -> Vec<String> {
    let violations = text(&value.to_string()).expect_err("no decision");
    violations.into_iter().map(|it| it.field).collect()
}

#[test]
fn every_decision_is_read_back_as_it_was_kept() {
    for raw in [
        r#"{"action":"search","args":{"query":"api db 5433"}}"#,
        r#"{"action":"read","args":{"id":"a/b"}}"#,
        r#"{"action":"report","args":{"answer":"[a] x","sources":["a"]}}"#,
        r#"{"action":"tool","args":{"server":"git","name":"log","args":{"n":1}}}"#,
        r#"{"action":"delegate","args":{"children":[{"target":"b","action":"pay","prompt":"42"}],"join":"all"}}"#,
    ] {
        assert_eq!(read_text(raw).to_json().to_string(), raw);
    }
}

#[test]
fn a_delegation_has_a_short_form_and_a_long_one() {
    let child = r#""target":"b","action":"pay","prompt":"42","timeout_sec":9"#;
    let short = read_text(&format!(r#"{{"action":"delegate","args":{{{child}}}}}"#));
    let long = read_text(&format!(
        r#"{{"action":"delegate","args":{{"children":[{{{child},"budget":{{"cost":7}}}}],"join":2}}}}"#
    ));
    let Decision::Delegate { children, join } = short else {
        panic!("{short:?}");
    };
    assert_eq!(children[0].timeout_sec, TimeoutSec::new(9));
    assert_eq!((children.len(), join), (1, Join::All));
    let Decision::Delegate { children, join } = long else {
        panic!("{long:?}");
    };
    let budget = Limits {
        cost: Some(Micros(7)),
        ..Limits::default()
    };
    assert_eq!(children[0].budget, Some(budget));
    assert_eq!(join, Join::Count(NonZeroU16::new(2).unwrap()));
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    for (value, fields) in [
        (json!([]), vec!["$", "action"]),
        (json!({}), vec!["action"]),
        (json!({"action": "format_disk", "args": {}}), vec!["action"]),
        (json!({"action": "search"}), vec!["args", "args.query"]),
        (
            json!({"action": "search", "args": {"query": " "}}),
            vec!["args.query"],
        ),
        (
            json!({"action": "read", "args": {"id": 7, "path": "/"}, "thought": "hm"}),
            vec!["thought", "args.id", "args.path"],
        ),
        (
            json!({"action": "report", "args": {"answer": "", "sources": ["a", 1, "a\nb"]}}),
            vec!["args.answer", "args.sources[1]", "args.sources[2]"],
        ),
        (
            json!({"action": "tool", "args": {"server": "a b", "name": "", "args": []}}),
            vec!["args.server", "args.name", "args.args"],
        ),
        (
            json!({"action": "delegate", "args": {"children": [], "join": 0}}),
            vec!["args.children", "args.join"],
        ),
        (
            json!({"action": "delegate", "args": {"children": [
                {"target": "a.b", "action": "x", "prompt": "p", "timeout_sec": 0},
                {"target": "b", "prompt": 1, "budget": {"tokens": -1, "steps": 2}},
                3,
            ]}}),
            vec![
                "args.children[0].target",
                "args.children[0].timeout_sec",
                "args.children[1].action",
                "args.children[1].prompt",
                "args.children[1].budget.tokens",
                "args.children[1].budget.steps",
                "args.children[2]",
            ],
        ),
    ] {
        assert_eq!(wrong(&value), fields, "{value}");
    }
}

#[test]
fn what_is_no_json_or_says_a_thing_twice_is_no_decision() {
    for raw in [
        "",
        "search",
        "{\"action\":\"search\"",
        "{} {}",
        &"[".repeat(100_000),
    ] {
        assert!(text(raw).is_err(), "{raw:.20}");
    }
    let twice = r#"{"action":"search","action":"report","args":{"query":"a","query":"b"}}"#;
    let fields = text(twice).expect_err("no decision");
    let fields: Vec<_> = fields.iter().map(|it| it.field.as_str()).collect();
    assert_eq!(fields, ["action", "args.query"]);
    assert!(call("search", "{\"query\":\"a\",\"query\":\"b\"}").is_err());
    assert!(call("search", "[]").is_err());
    assert!(call("search", "{\"query\":\"a\"}").is_ok());
}

#[test]
fn a_source_that_is_named_twice_is_meant_once() {
    let raw = r#"{"action":"report","args":{"answer":"x","sources":["b","a","b"]}}"#;
    let Decision::Report { sources, .. } = read_text(raw) else {
        panic!("no report");
    };
    let sources: Vec<_> = sources.iter().map(DocumentId::as_str).collect();
    assert_eq!(sources, ["b", "a"]);
}

#[test]
fn no_words_of_the_model_stand_in_a_violation() {
    let secret = json!({"action": "the secret plan", "args": {"query": "the secret plan"}});
    let violations = text(&secret.to_string()).expect_err("no decision");
    assert!(!format!("{violations:?}").contains("secret"));
}

proptest! {
    #[test]
    fn any_text_is_a_decision_or_a_list_of_what_is_wrong(raw in any::<String>(), action in "search|read|report|tool|delegate", args in any::<String>()) {
        for outcome in [text(&raw), call(&action, &raw), call(&action, &format!("{{\"query\":{args:?}}}"))] {
            match outcome {
                Ok(decision) => prop_assert_eq!(read(decision.to_json()), Ok(decision)),
                Err(violations) => prop_assert!(!violations.is_empty()),
            }
        }
    }
}

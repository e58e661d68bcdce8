//! What is offered, in each of its forms.

use std::path::Path;

use futures_util::future::BoxFuture;
use serde_json::Map;

use super::*;
use crate::handler::agent::tools::{IdempotencyKey, ToolFailed};

#[derive(Debug)]
struct Log(Value);

impl Tool for Log {
    fn name(&self) -> &str {
        "git.log"
    }

    fn description(&self) -> &str {
        "Lists commits"
    }

    fn schema(&self) -> &Value {
        &self.0
    }

    fn call(
        &self,
        _: Map<String, Value>,
        _: IdempotencyKey,
    ) -> BoxFuture<'_, Result<Value, ToolFailed>> {
        Box::pin(std::future::ready(Ok(Value::Null)))
    }
}

fn research() -> Documents {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/puruto-research/docs");
    Documents::load(&folder).expect("documents")
}

/// After which everything is of use.
fn searched_and_read() -> Past {
    let hits = json!({"hits": [{"id": "incident"}, {"id": "network"}]});
    Past::made_of([
        (json!({"action": "search", "args": {"query": "db"}}), hits),
        (
            json!({"action": "read", "args": {"id": "network"}}),
            json!({"id": "network", "text": "x"}),
        ),
    ])
}

fn full(schema: Value) -> Offer {
    let peer = Peer {
        target: "bank".parse().expect("valid"),
        actions: vec!["pay".parse().expect("valid")],
        description: None,
    };
    let mut offer = Offer::own(&research(), &[peer], &searched_and_read());
    offer.add(&"git".parse().expect("valid"), &Log(schema));
    offer
}

fn allows(offer: &Offer, decision: &Value) -> bool {
    let AnswerShape::Schema(schema) = offer.shape() else {
        panic!("no schema");
    };
    schema.violations(decision).is_empty()
}

#[test]
fn an_agent_is_offered_what_it_has_and_nothing_else() {
    let names =
        |offer: &Offer| -> Vec<_> { offer.functions().into_iter().map(|it| it.name).collect() };
    assert_eq!(
        names(&Offer::own(&Documents::default(), &[], &Past::default())),
        ["report"]
    );
    let all = full(json!({"type": "object"}));
    assert_eq!(
        names(&all),
        ["search", "read", "delegate", "report", "git__git_log"]
    );
    assert!(all.described().contains("- tool: Lists commits"));
}

#[test]
fn the_schema_holds_what_is_offered_and_refuses_the_rest() {
    let offer = full(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
    let decision = |action: &str, args: Value| json!({"action": action, "args": args});
    let child = json!({"target": "bank", "action": "pay", "prompt": "42"});
    for good in [
        decision("search", json!({"query": "x"})),
        decision("read", json!({"id": "incident"})),
        decision("report", json!({"answer": "x", "sources": ["network"]})),
        decision("delegate", json!({"children": [child], "join": "all"})),
        decision(
            "tool",
            json!({"server": "git", "name": "git.log", "args": {"n": 1}}),
        ),
    ] {
        assert!(allows(&offer, &good), "{good}");
        assert!(decision::read(good.clone()).is_ok(), "{good}");
    }
    let stranger = json!({"target": "other", "action": "pay", "prompt": "42"});
    for bad in [
        decision("read", json!({"id": "../secret"})),
        decision("read", json!({"id": "network"})),
        decision("report", json!({"answer": "x", "sources": ["incident"]})),
        decision("search", json!({"query": "x".repeat(201)})),
        decision("delegate", json!({"children": [stranger], "join": "all"})),
        decision("tool", json!({"server": "git", "name": "push", "args": {}})),
        decision(
            "tool",
            json!({"server": "git", "name": "git.log", "args": {"n": "x"}}),
        ),
        json!({"action": "search", "args": {"query": "x"}, "why": "hm"}),
    ] {
        assert!(!allows(&offer, &bad), "{bad}");
    }
}

#[test]
fn a_called_function_is_the_decision_that_it_stands_for() {
    let offer = full(json!({"type": "object"}));
    let log = offer
        .called("git__git_log", "{\"n\":1}")
        .expect("a decision");
    let expected = json!({"action": "tool", "args": {
        "server": "git", "name": "git.log", "args": {"n": 1},
    }});
    assert_eq!(log.to_json(), expected);
    let read = offer
        .called("read", "{\"id\":\"network\"}")
        .expect("a decision");
    assert_eq!(read.action(), "read");
    for (function, args) in [
        ("git__git_log", "{"),
        ("git__git_log", "[]"),
        ("git__git_log", "{\"n\":1,\"n\":2}"),
        ("nothing", "{}"),
    ] {
        assert!(offer.called(function, args).is_err(), "{function} {args}");
    }
}

#[test]
fn a_schema_that_refers_elsewhere_is_not_passed_on() {
    for schema in [
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
        json!({"properties": {"a": {"$id": "http://example.org/"}}}),
        json!({"type": 7}),
        json!("x"),
        json!({"description": "x".repeat(9_000)}),
    ] {
        assert_eq!(foreign_schema(&schema), json!({"type": "object"}));
    }
    let draft_7 = "http://json-schema.org/draft-07/schema#";
    let plain = json!({"$schema": draft_7, "required": ["n"]});
    assert_eq!(foreign_schema(&plain), json!({"required": ["n"]}));
}

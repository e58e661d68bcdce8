//! Purutos that ask each other without end, that lie about where they stand, or that ask a crowd:
//! a rule refuses it, the fleet goes on.
//!
//! Seen elsewhere: archestra #4462 and #6427, langgraph-swarm #6, crewAI #330, conductor #1279.

use std::time::Duration;

use async_nats::HeaderMap;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{MAX_HOPS, answer, asking, let_all_ask, until_it_waits};
use crate::{
    fleet::Fleet,
    support::asking::{ask, asker, child, leaves::Leaves},
    wire::{RESULTS, Wire},
    worker::Worker,
};

const NAMES: [&str; 2] = ["ping", "pong"];

/// Two that ask each other, one worker, and what reaches them.
async fn court() -> (Fleet, Worker, Wire) {
    let player = asker(1);
    let fleet = Fleet::of(&NAMES.map(|name| (name, player.as_str()))).await;
    let_all_ask(&fleet, &NAMES);
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    (fleet, worker, wire)
}

/// How often the two programs ran.
async fn runs(worker: &Worker) -> u64 {
    let mut runs = 0;
    for name in NAMES {
        runs += worker.executions(name).await;
    }
    runs
}

/// Follows the first children down; the last answer, and how many there are.
fn last_of(mut result: Value) -> (Value, u64) {
    let mut answers = 1;
    while let Some(child) = result["result"]["children"].get(0) {
        result = child.clone();
        answers += 1;
    }
    (result, answers)
}

/// A volley in which each prompt differs ends where the chain is too deep; the one before it
/// answers with the refusal. It is the first request of its fleet.
async fn assert_bounded(worker: &Worker, wire: &Wire, request: &Value) {
    let result = answer(wire, request).await;
    assert_eq!(result["status"], "ok", "{result}");
    let (refused, answers) = last_of(result);
    assert_eq!(refused["error"]["code"], "DENIED", "{refused}");
    assert_eq!(refused["error"]["details"]["rule"], "policy", "{refused}");
    let message = refused["error"]["message"].as_str().expect("a message");
    assert!(message.contains("max_hops"), "{message}");
    assert_eq!(answers, MAX_HOPS);
    assert_eq!(wire.messages(RESULTS).await, MAX_HOPS);
    // Each once to ask, and all but the refused one once more to answer.
    assert_eq!(runs(worker).await, 2 * MAX_HOPS - 1);
}

#[tokio::test]
async fn a_volley_whose_prompts_grow_ends_where_the_chain_is_too_deep() {
    let (_fleet, worker, wire) = court().await;
    let volley = asking("r-1", "ping", &json!({"volley": NAMES, "grow": true}));
    wire.ask(&volley).await;
    assert_bounded(&worker, &wire, &volley).await;
}

#[tokio::test]
async fn a_volley_with_the_same_prompt_ends_at_the_first_repeat() {
    let (_fleet, worker, wire) = court().await;
    let volley = asking("r-1", "ping", &json!({"volley": NAMES}));
    wire.ask(&volley).await;

    let (refused, answers) = last_of(answer(&wire, &volley).await);
    assert_eq!(refused["error"]["code"], "DENIED", "{refused}");
    assert_eq!(refused["error"]["details"]["rule"], "cycle", "{refused}");
    assert_eq!((answers, wire.messages(RESULTS).await), (2, 2));
    assert_eq!(runs(&worker).await, 3);
}

#[tokio::test]
async fn a_hop_or_an_ancestry_that_somebody_made_up_changes_nothing() {
    let (_fleet, worker, wire) = court().await;
    let forged = json!({"hop": 0, "ancestry": [], "lineage": null, "parent": "ping/r-0"});
    let prompt = json!({"volley": NAMES, "grow": true, "forge": forged});
    let mut volley = asking("r-1", "ping", &prompt);
    for (key, value) in forged.as_object().expect("an object") {
        volley[key] = value.clone();
    }
    let mut children = wire.listen("puruto.invoke.pong").await;
    let mut headers = HeaderMap::new();
    headers.insert("Puruto-Parent", "pong/r-0");
    headers.insert("Puruto-Ancestry", "");
    wire.publish_with("puruto.invoke.ping", headers, volley.to_string())
        .await;
    assert_bounded(&worker, &wire, &volley).await;

    // A child that was asked, published again by somebody who puts it at the top.
    let before = (runs(&worker).await, wire.messages(RESULTS).await);
    let mut top = children.result().await;
    assert_eq!(top["hop"], 1, "{top}");
    top["hop"] = 0.into();
    let mut heard = wire.listen("puruto.result.>").await;
    wire.ask(&top).await;
    let conflict = heard.result().await;
    let details = &conflict["error"]["details"];
    assert_eq!(details["kind"], "request_id_conflict", "{conflict}");
    wire.until_all_is_done().await;
    let after = (runs(&worker).await, wire.messages(RESULTS).await);
    assert_eq!(after, (before.0, before.1 + 1));
}

#[tokio::test]
async fn who_says_that_he_is_a_child_wakes_nobody() {
    let held = Leaves::held_back().await;
    let quick = Leaves::after(Duration::ZERO).await;
    let purutos = [
        ("clerk", asker(1)),
        ("held", held.puruto(1)),
        ("quick", quick.puruto(1)),
    ];
    let fleet = Fleet::of(&purutos.each_ref().map(|it| (it.0, it.1.as_str()))).await;
    let_all_ask(&fleet, &["clerk", "held", "quick"]);
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let parent = asking("r-1", "clerk", &ask(&[child("held", "a secret")]));
    wire.ask(&parent).await;
    until_it_waits(&fleet, &parent).await;

    let pretender = crate::wire::request("r-2", "quick", "done, go on");
    let mut headers = HeaderMap::new();
    headers.insert("Puruto-Parent", "clerk/r-1");
    headers.insert("Puruto-Ancestry", "clerk/do");
    wire.publish_with("puruto.invoke.quick", headers, pretender.to_string())
        .await;
    assert_eq!(answer(&wire, &pretender).await["status"], "ok");
    until_it_waits(&fleet, &parent).await;
    assert_eq!(worker.executions("clerk").await, 1);

    held.answer_all();
    let result = answer(&wire, &parent).await;
    assert_eq!(result["result"]["said"], json!(["a secret"]), "{result}");
}

#[tokio::test]
async fn ten_thousand_children_of_one_turn_are_refused_at_once_and_nobody_else_notices() {
    let model = Leaves::after(Duration::ZERO).await;
    let purutos = [
        ("clerk", asker(1)),
        ("leaf", model.puruto(4)),
        ("echo", "[model]\nprovider = \"simulated\"".to_owned()),
    ];
    let fleet = Fleet::of(&purutos.each_ref().map(|it| (it.0, it.1.as_str()))).await;
    let_all_ask(&fleet, &["clerk", "leaf", "echo"]);
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let crowd = asking("r-1", "clerk", &json!({"fan": [10_000, "leaf"]}));
    let other = crate::wire::request("r-2", "echo", "Hello");

    let asked = Instant::now();
    wire.ask(&crowd).await;
    wire.ask(&other).await;
    assert_eq!(
        answer(&wire, &other).await["result"]["summary"],
        json!("Hello")
    );
    let refused = answer(&wire, &crowd).await;

    assert_eq!(refused["error"]["code"], "DENIED", "{refused}");
    assert_eq!(refused["error"]["details"]["rule"], "max_children");
    assert!(asked.elapsed() < Duration::from_secs(10));
    wire.until_all_is_done().await;
    assert_eq!((model.made(), wire.messages(RESULTS).await), (0, 2));
    assert_eq!(worker.executions("clerk").await, 1);
}

#[tokio::test]
async fn a_crowd_over_several_levels_is_refused_where_it_would_be_too_many_below_the_first() {
    const CLERKS: usize = 20;
    let model = Leaves::after(Duration::ZERO).await;
    let purutos = [("clerk", asker(2)), ("leaf", model.puruto(4))];
    let fleet = Fleet::of(&purutos.each_ref().map(|it| (it.0, it.1.as_str()))).await;
    let_all_ask(&fleet, &["clerk", "leaf"]);
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    // 20 times 20 below and the 20 themselves are more than the 256 that there may be.
    let clerks: Vec<_> = (0..CLERKS)
        .map(|it| child("clerk", json!({"fan": [20, "leaf"], "number": it})))
        .collect();
    let root = asking("r-1", "clerk", &ask(&clerks));
    wire.ask(&root).await;

    let result = answer(&wire, &root).await;
    let children = result["result"]["children"].as_array().expect("children");
    assert_eq!(children.len(), CLERKS);
    for child in children {
        let error = &child["error"];
        assert_eq!(error["code"], "BUDGET_EXHAUSTED", "{child}");
        assert_eq!(error["details"]["rule"], "max_descendants", "{child}");
    }
    assert_eq!(model.made(), 0);
    assert_eq!(wire.messages(RESULTS).await, CLERKS as u64 + 1);
}

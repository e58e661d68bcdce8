//! What an operator does with dead letters: `puruto dlq`.

use async_nats::HeaderMap;
use serde_json::{Value, json};

use crate::{
    fleet::Fleet,
    patience::until,
    terminal::Ended,
    wire::{DEAD_LETTERS, RESULTS, Wire, header, json_of, place_of, request},
    worker::Worker,
};

/// Takes a second for anything.
const CLERK: (&str, &str) = (
    "clerk",
    "[model]\nprovider = \"simulated\"\nlatency = \"1s\"",
);

/// A fleet in which a request is dead as soon as one worker died with it.
async fn fleet() -> Fleet {
    let fleet = Fleet::of(&[CLERK]).await.with_quick_take_over();
    fleet.with("PURUTO_WORKER__MAX_ATTEMPTS", "1")
}

/// The same with a request that is dead, and a worker that answered it so.
async fn fleet_with_a_dead_request() -> (Fleet, Wire, Worker, Value) {
    let fleet = fleet().await;
    let victim = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked = request("r-1", "clerk", "Hello");
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Msg-Id", "r-1");
    headers.insert("Puruto-Deadline", "2999-01-01T00:00:00Z");
    let body = asked.to_string();
    wire.publish_with("puruto.invoke.clerk", headers, body)
        .await;
    victim.until_running("clerk", 1).await;
    victim.kill().await;
    let worker = fleet.worker("w2").await;
    let dead = json_of(&wire.result(&asked).await.payload);
    assert_eq!(dead["error"]["details"]["kind"], "poisoned", "{dead}");
    wire.until_all_is_done().await;
    (fleet, wire, worker, asked)
}

/// The request that a replay made of `asked`.
fn replayed(asked: &Value, id: &str) -> Value {
    let mut replayed = asked.clone();
    replayed["request_id"] = id.into();
    replayed
}

fn lines(ended: &Ended) -> Vec<Value> {
    ended
        .output
        .lines()
        .map(|it| json_of(it.as_bytes()))
        .collect()
}

/// Puts a letter of `asked` where letters are, as if it had been malformed.
async fn strand(wire: &Wire, asked: &Value, body: &str) -> u64 {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("Reason", "malformed"),
        ("Detail", "the broker delivered it too often"),
        ("Target", "clerk"),
        ("Request", asked["request_id"].as_str().expect("an id")),
        (
            "Correlation",
            asked["correlation_id"].as_str().expect("an id"),
        ),
        ("Sequence", "1"),
        ("Subject", "puruto.invoke.clerk"),
        ("Stored", "2026-01-31T12:00:00Z"),
    ] {
        headers.insert(format!("Puruto-Dead-{name}"), value);
    }
    wire.publish_with("puruto.dlq.clerk", headers, body).await
}

#[tokio::test]
async fn a_dead_request_is_found_shown_and_replayed_once() {
    let (fleet, wire, worker, asked) = fleet_with_a_dead_request().await;
    let list = fleet.puruto(&["dlq", "list", "--target", "clerk"]).await;
    let letter = list.json();
    assert_eq!(letter["reason"], "poisoned", "{letter}");
    assert_eq!(
        (&letter["request_id"], &letter["attempts"]),
        (&json!("r-1"), &json!(1))
    );
    let shown = fleet.puruto(&["dlq", "show", "r-1"]).await.json();
    assert_eq!(shown["body"], asked.to_string());
    let headers = shown["headers"].as_array().expect("headers");
    assert!(headers.contains(&json!(["Nats-Msg-Id", "r-1"])), "{shown}");

    let dry = fleet.puruto(&["dlq", "replay", "--dry-run", "--all"]).await;
    assert_eq!(dry.json()["outcome"], "would_replay");
    assert_eq!(wire.messages(DEAD_LETTERS).await, 1);

    // Within the window in which the broker knows the message id of the original.
    let replay = fleet.puruto(&["dlq", "replay", "1"]).await;
    assert_eq!(replay.code, 0, "{replay:?}");
    assert_eq!(replay.json()["replayed_as"], "r-1-replay-1");
    let again = replayed(&asked, "r-1-replay-1");
    let stored = wire.result(&again).await;
    assert_eq!(json_of(&stored.payload)["status"], "ok");
    assert_eq!(header(&stored.headers, "Puruto-Attempt"), Some("1"));

    let second = fleet.puruto(&["dlq", "replay", "1"]).await;
    assert_eq!(
        (second.code, &second.json()["outcome"]),
        (1, &json!("gone"))
    );
    let list = fleet.puruto(&["dlq", "list"]).await;
    assert_eq!((list.code, &*list.output), (0, ""));
    wire.until_all_is_done().await;
    assert_eq!(worker.executions("clerk").await, 1);
    // What was told of the original stands.
    let told = json_of(&wire.result(&asked).await.payload);
    assert_eq!(told["error"]["details"]["kind"], "poisoned");
    assert_eq!(wire.messages(RESULTS).await, 2);
}

#[tokio::test]
async fn a_replay_that_is_sent_again_runs_once_within_the_window_and_beyond() {
    let (fleet, wire, worker, asked) = fleet_with_a_dead_request().await;
    let mut heard = wire.listen("puruto.invoke.clerk").await;
    let replay = fleet
        .puruto(&["dlq", "replay", "--request-id", "r-1"])
        .await;
    assert_eq!(replay.code, 0, "{replay:?}");
    let sent = heard.next().await;
    wire.result(&replayed(&asked, "r-1-replay-1")).await;
    wire.until_all_is_done().await;

    // As after a crash in the moment before the letter was removed.
    let headers = sent.headers.expect("headers");
    assert_ne!(header(&headers, "Nats-Msg-Id"), Some("r-1"));
    let first = wire
        .publish_with("puruto.invoke.clerk", headers, &sent.payload)
        .await;
    wire.until_all_is_done().await;
    // The window is over: the broker knows the message id no more.
    let second = wire.publish("puruto.invoke.clerk", &sent.payload).await;
    wire.until_all_is_done().await;

    assert_eq!((first, second), (2, 3), "the first one is a duplicate");
    assert_eq!(worker.executions("clerk").await, 1);
    assert_eq!(wire.messages(RESULTS).await, 2);
}

#[tokio::test]
async fn a_request_that_is_done_is_not_replayed_without_force_and_a_malformed_one_not_at_all() {
    let fleet = fleet().await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked = request("r-1", "clerk", "Hello");
    wire.ask(&asked).await;
    wire.result(&asked).await;
    strand(&wire, &asked, &asked.to_string()).await;
    strand(&wire, &asked, "[]").await;

    let refused = fleet.puruto(&["dlq", "replay", "1"]).await;
    let message = refused.json()["message"].to_string();
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        message.contains("has its result: ok") && message.contains("--force"),
        "{message}"
    );
    assert_eq!(worker.executions("clerk").await, 1);

    let forced = fleet.puruto(&["dlq", "replay", "--all", "--force"]).await;
    let came = lines(&forced);
    assert_eq!(forced.code, 1, "{forced:?}");
    assert_eq!(came[0]["replayed_as"], "r-1-replay-1");
    assert_eq!(came[1]["outcome"], "refused");
    wire.result(&replayed(&asked, "r-1-replay-1")).await;
    assert_eq!(worker.executions("clerk").await, 2);
    assert_eq!(wire.messages(DEAD_LETTERS).await, 1);
}

#[tokio::test]
async fn what_nobody_answered_is_replayed_as_it_was() {
    let fleet = fleet().await;
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked = request("r-1", "clerk", "Hello");
    strand(&wire, &asked, &asked.to_string()).await;

    let replay = fleet
        .puruto(&["dlq", "replay", "--reason", "malformed"])
        .await;

    assert_eq!(replay.json()["replayed_as"], "r-1", "{replay:?}");
    let result = json_of(&wire.result(&asked).await.payload);
    assert_eq!(result["status"], "ok");
    assert_eq!(
        wire.stored(&place_of(&asked)).await.map(|it| it.sequence),
        Some(1)
    );
}

#[tokio::test]
async fn letters_are_removed_only_by_who_says_yes() {
    let fleet = fleet().await;
    fleet.worker("w1").await.kill().await;
    let wire = fleet.wire().await;
    for number in 1..=3 {
        let asked = request(&format!("r-{number}"), "clerk", "Hello");
        strand(&wire, &asked, &asked.to_string()).await;
    }
    let chosen = ["dlq", "purge", "--before", "0s", "--request-id", "r-2"];

    let asked = fleet.puruto(&chosen).await;
    assert_eq!(asked.code, 2, "{asked:?}");
    assert!(
        asked.errors.contains("1 dead letters would be removed"),
        "{asked:?}"
    );
    let nothing = fleet.puruto(&["dlq", "purge", "--yes"]).await;
    assert_eq!(nothing.code, 2, "{nothing:?}");
    let dry = fleet.puruto(&[&chosen[..], &["--dry-run"]].concat()).await;
    assert_eq!(dry.json(), json!({"sequence": 2, "outcome": "would_purge"}));
    assert_eq!(wire.messages(DEAD_LETTERS).await, 3);

    let done = fleet.puruto(&[&chosen[..], &["--yes"]].concat()).await;
    assert_eq!(done.json(), json!({"sequence": 2, "outcome": "purged"}));
    until("the letter is gone", async || {
        (wire.messages(DEAD_LETTERS).await == 2).then_some(())
    })
    .await;
    let newest = fleet.puruto(&["dlq", "list", "--limit", "1"]).await;
    assert_eq!(newest.json()["sequence"], 3);
    assert!(newest.errors.contains("1 older ones"), "{newest:?}");
    let unknown = fleet.puruto(&["dlq", "show", "r-2"]).await;
    assert_eq!((unknown.code, &*unknown.output), (1, ""));
}

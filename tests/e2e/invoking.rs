//! `puruto invoke` and the verbs around it: what a caller at a terminal or in a script gets.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    fleet::{CALLER, Fleet},
    patience::until,
    wire::json_of,
};

/// Answers at once, but for a prompt that asks it to take its time; one at a time.
const CLERK: (&str, &str) = (
    "clerk",
    r#"
        concurrency = 1
        [model]
        provider = "simulated"
        [[model.rules]]
        when = "a moment"
        latency = "700ms"
        [[model.rules]]
        when = "an hour"
        latency = "1h"
    "#,
);

fn code_of(result: &Value) -> &str {
    result["error"]["code"].as_str().unwrap_or("none")
}

/// Asks without waiting; the request's id.
async fn detached(fleet: &Fleet, prompt: &str, more: &[&str]) -> String {
    let mut words = vec!["invoke", "clerk", "do", prompt, "--detach"];
    words.extend(more);
    let asked = fleet.puruto(&words).await;
    assert_eq!(asked.code, 0, "{asked:?}");
    let ids = asked.json();
    ids["request_id"].as_str().expect("an id").to_owned()
}

async fn state_of(fleet: &Fleet, id: &str) -> Value {
    fleet.puruto(&["status", id]).await.json()["state"].clone()
}

#[tokio::test]
async fn the_exit_code_tells_a_script_how_its_request_went() {
    let fleet = Fleet::of(&[CLERK]).await;
    fleet.allow(CALLER, &["clerk", "nobody"]);
    let _worker = fleet.worker("w1").await;

    let answered = fleet.puruto(&["invoke", "clerk", "do", "Hello"]).await;
    let unknown = fleet.puruto(&["invoke", "nobody", "do", "Hello"]).await;
    let denied = fleet.puruto(&["invoke", "stranger", "do", "Hello"]).await;
    let late = ["invoke", "clerk", "do", "Take an hour", "--timeout", "1s"];
    let late = fleet.puruto(&late).await;

    assert_eq!((answered.code, answered.errors.as_str()), (0, ""));
    assert_eq!(answered.json()["status"], "ok");
    assert_eq!(answered.json()["result"]["summary"], "Hello");
    assert_eq!(
        (unknown.code, code_of(&unknown.json())),
        (1, "TARGET_NOT_FOUND")
    );
    assert_eq!((denied.code, code_of(&denied.json())), (3, "DENIED"));
    let why = denied.json()["error"]["message"].to_string();
    assert!(
        why.contains(".puruto-ipc.json") && why.contains("allowed_targets"),
        "{why}"
    );
    assert_eq!((late.code, code_of(&late.json())), (4, "TIMEOUT"));
}

#[tokio::test]
async fn wrong_words_exit_with_2_and_servers_that_are_away_with_5() {
    let mut fleet = Fleet::of(&[CLERK]).await;

    let unquoted = fleet
        .puruto(&["invoke", "clerk", "do", "two", "words"])
        .await;
    let nameless = fleet.puruto(&["invoke", "no name", "do", "Hello"]).await;
    fleet.servers.nats.stop().await.expect("stopped");
    let alone = fleet.puruto(&["invoke", "clerk", "do", "Hello"]).await;

    assert_eq!((unquoted.code, unquoted.output.as_str()), (2, ""));
    assert_eq!((nameless.code, nameless.output.as_str()), (2, ""));
    assert_eq!((alone.code, alone.output.as_str()), (5, ""));
    let address = fleet.servers.nats.port().address().to_string();
    assert!(alone.errors.contains(&address), "{alone:?}");
}

#[tokio::test]
async fn a_detached_request_is_found_again_by_its_id() {
    let fleet = Fleet::of(&[CLERK]).await;
    let _worker = fleet.worker("w1").await;

    let id = detached(&fleet, "Take a moment", &["--correlation-id", "chain-1"]).await;
    let early = fleet.puruto(&["result", &id]).await;
    until("it runs", async || {
        (state_of(&fleet, &id).await == "running").then_some(())
    })
    .await;
    let result = until("it has a result", async || {
        let found = fleet.puruto(&["result", &id]).await;
        (found.code == 0).then(|| found.json())
    })
    .await;
    let status = fleet.puruto(&["status", &id]).await;

    assert_eq!((early.code, early.output.as_str()), (1, ""));
    assert_eq!(result["result"]["summary"], "Take a moment");
    assert_eq!(result["correlation_id"], "chain-1");
    let status = status.json();
    assert_eq!(
        (&status["state"], &status["target"]),
        (&"done".into(), &"clerk".into())
    );
    assert_eq!(
        (&status["attempts"], &status["result"]),
        (&1.into(), &result)
    );
    let stranger = fleet.puruto(&["status", "nobody-asked"]).await;
    assert_eq!(
        (stranger.code, &stranger.json()["state"]),
        (1, &"unknown".into())
    );
}

#[tokio::test]
async fn whoever_watches_before_while_or_after_gets_every_result_once() {
    let fleet = Fleet::of(&[CLERK]).await;
    let worker = fleet.worker("w1").await;
    let chain = ["--correlation-id", "chain-1"];
    let watch = ["watch", "chain-1", "--count", "2"];

    let first = detached(&fleet, "First", &chain).await;
    let mut before = fleet.begin(&watch).await;
    // It subscribes before it reads what is there: whoever prints has subscribed.
    let printed = before.line().await;
    let second = detached(&fleet, "Take a moment", &chain).await;
    worker.until_running("clerk", 1).await;
    let mut during = fleet.begin(&watch).await;
    let seen_before = [printed, before.line().await];
    let seen_during = [during.line().await, during.line().await];
    let mut after = fleet.begin(&watch).await;
    let seen_after = [after.line().await, after.line().await];

    assert_eq!(
        seen_before.each_ref().map(|it| &it["request_id"]),
        [&first, &second]
    );
    assert_eq!(seen_before, seen_during);
    assert_eq!(seen_before, seen_after);
    for watcher in [before, during, after] {
        let ended = watcher.ended().await;
        assert_eq!((ended.code, ended.output.as_str()), (0, ""));
    }
    let more = ["watch", "chain-1", "--count", "3", "--timeout", "300ms"];
    assert_eq!(fleet.puruto(&more).await.code, 4);
}

#[tokio::test]
async fn a_running_request_is_cancelled_within_a_second_and_its_slot_is_free() {
    let fleet = Fleet::of(&[CLERK]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.chain-1.*").await;
    let id = detached(&fleet, "Take an hour", &["--correlation-id", "chain-1"]).await;
    worker.until_running("clerk", 1).await;

    let cancelled = fleet.puruto(&["cancel", &id]).await;
    let asked = Instant::now();
    let result = json_of(&heard.next().await.payload);
    let took = asked.elapsed();
    let next = fleet.puruto(&["invoke", "clerk", "do", "Hello"]).await;
    let again = fleet.puruto(&["cancel", &id]).await;

    assert_eq!(
        (cancelled.code, &cancelled.json()["cancel"]),
        (0, &"announced".into())
    );
    assert_eq!(code_of(&result), "CANCELLED");
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(next.code, 0, "{next:?}");
    assert_eq!(
        (again.code, &again.json()["cancel"]),
        (1, &"already_done".into())
    );
    let found = fleet.puruto(&["result", &id]).await;
    assert_eq!((found.code, code_of(&found.json())), (1, "CANCELLED"));
}

#[tokio::test]
async fn a_queued_request_that_is_cancelled_never_runs() {
    let fleet = Fleet::of(&[CLERK]).await;
    let worker = fleet.worker("w1").await;
    let running = detached(&fleet, "Take an hour", &[]).await;
    worker.until_running("clerk", 1).await;
    let queued = detached(&fleet, "Hello", &["--correlation-id", "chain-2"]).await;

    let cancelled = fleet
        .puruto(&["cancel", &queued, "--target", "clerk"])
        .await;
    assert_eq!(
        (cancelled.code, &cancelled.json()["cancel"]),
        (0, &"flagged".into())
    );
    assert_eq!(state_of(&fleet, &queued).await, "cancel_requested");
    assert_eq!(fleet.puruto(&["cancel", &running]).await.code, 0);
    let result = fleet
        .begin(&["watch", "chain-2", "--count", "1"])
        .await
        .line()
        .await;

    assert_eq!(
        (&result["request_id"], code_of(&result)),
        (&queued.into(), "CANCELLED")
    );
    assert_eq!(worker.executions("clerk").await, 1);
}

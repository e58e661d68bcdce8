//! A caller's policy as its owner edits it while workers run.

use serde_json::Value;

use crate::{
    fleet::{CALLER, Fleet},
    patience::until,
    wire::{Wire, json_of, request},
    worker::Worker,
};

const ECHO: (&str, &str) = ("echo", "[model]\nprovider = \"simulated\"");

/// What the worker answers to a request published past the client's own check.
async fn asked(wire: &Wire, id: &str) -> Value {
    let request = request(id, "echo", "Hello");
    wire.ask(&request).await;
    let result = json_of(&wire.result(&request).await.payload);
    match &result["error"]["code"] {
        Value::Null => result["status"].clone(),
        code => code.clone(),
    }
}

async fn until_reloaded(worker: &Worker, outcome: &str, times: u64) {
    let series = format!("puruto_policy_reloads_total{{outcome=\"{outcome}\"}}");
    until("the worker has read the changed file", async || {
        (worker.count(&series).await >= times).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_changed_policy_changes_the_answer_without_a_restart() {
    let fleet = Fleet::of(&[ECHO]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    assert_eq!(asked(&wire, "r-1").await, "ok");

    fleet.allow(CALLER, &["another"]);
    until_reloaded(&worker, "loaded", 1).await;
    assert_eq!(asked(&wire, "r-2").await, "DENIED");

    fleet.write_policy(CALLER, "{ this is no JSON");
    until_reloaded(&worker, "kept", 1).await;
    assert_eq!(asked(&wire, "r-3").await, "DENIED");

    fleet.allow(CALLER, &["echo"]);
    until_reloaded(&worker, "loaded", 2).await;
    assert_eq!(asked(&wire, "r-4").await, "ok");
    assert_eq!(worker.executions("echo").await, 2);
}

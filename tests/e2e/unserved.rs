//! Requests that no worker pulls: to targets that nobody has, and to targets whose workers are away.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    fleet::Fleet,
    patience::until,
    support::say,
    wire::{INVOKE, RESULTS, Wire, header, json_of, request},
    worker::Worker,
};

/// Answers at once.
const ECHO: (&str, &str) = ("echo", "[model]\nprovider = \"simulated\"");

/// Takes a minute.
const CLERK: (&str, &str) = (
    "clerk",
    "concurrency = 1\n[model]\nprovider = \"simulated\"\nlatency = \"60s\"",
);

/// About how soon is promised one second; a machine that runs all the tests is slow.
const SOON: Duration = Duration::from_secs(10);

/// Who leads, serving `echo` alone.
async fn leader(fleet: &Fleet) -> Worker {
    let leader = fleet.worker_for("leader", "echo").await;
    until("it supervises", async || {
        (leader.count("puruto_supervisor").await == 1).then_some(())
    })
    .await;
    leader
}

/// A request that is worth waiting for so long.
fn request_for(id: &str, target: &str, seconds: u64) -> Value {
    let mut request = request(id, target, "Hello");
    request["timeout_sec"] = json!(seconds);
    request
}

async fn code_of(wire: &Wire, request: &Value) -> String {
    let stored = wire.result(request).await;
    let code = json_of(&stored.payload)["error"]["code"].clone();
    code.as_str().expect("an error").to_owned()
}

#[tokio::test]
async fn whoever_publishes_to_a_target_that_nobody_has_is_told_so_soon() {
    let fleet = Fleet::of(&[ECHO]).await;
    let _leader = leader(&fleet).await;
    let wire = fleet.wire().await;
    let asked = Instant::now();
    let subjects = ["bogus", "bogus.high", "bogus.low", "echo.urgent"];
    let mut requests = Vec::new();
    for (number, rest) in subjects.iter().enumerate() {
        let request = request(&format!("r-{number}"), "bogus", "Hello");
        let subject = format!("puruto.invoke.{rest}");
        wire.publish(&subject, request.to_string()).await;
        requests.push(request);
    }
    for request in &requests {
        assert_eq!(code_of(&wire, request).await, "TARGET_NOT_FOUND");
    }
    let took = asked.elapsed();
    say(&format!("unknown targets: answered after {took:?}"));
    assert!(took < SOON, "{took:?}");
    wire.until_all_is_done().await;
    assert_eq!(wire.messages(RESULTS).await, requests.len() as u64);
}

#[tokio::test]
async fn five_thousand_targets_that_nobody_has_add_no_series_and_keep_nobody_waiting() {
    let fleet = Fleet::of(&[ECHO]).await;
    let leader = leader(&fleet).await;
    let wire = fleet.wire().await;
    let series = async || leader.metrics().await.lines().count();
    // Each of these makes the series that are made only once there is something to count.
    for first in [
        request("1", "bogus", "Hello"),
        request("2", "echo", "Hello"),
    ] {
        wire.ask(&first).await;
        wire.result(&first).await;
    }
    let before = series().await;
    let asked = Instant::now();
    for number in 0..5_000 {
        let target = format!("bogus-{number}");
        wire.publish(&format!("puruto.invoke.{target}"), "{}").await;
    }
    let good = request("good", "echo", "Hello");
    wire.ask(&good).await;
    let stored = wire.result(&good).await;
    assert_eq!(json_of(&stored.payload)["status"], "ok");

    until("all are answered", async || {
        (wire.messages(RESULTS).await == 5_003).then_some(())
    })
    .await;
    say(&format!(
        "5,000 unknown targets: answered after {:?}",
        asked.elapsed()
    ));
    wire.until_all_is_done().await;
    assert_eq!(series().await, before);
    assert_eq!(wire.consumers().await.len(), 3, "those of echo");
}

#[tokio::test]
async fn requests_whose_worker_is_gone_end_at_their_deadlines() {
    let fleet = Fleet::of(&[ECHO, CLERK]).await.with_quick_take_over();
    let leader = leader(&fleet).await;
    let clerk = fleet.worker_for("clerk", "clerk").await;
    let wire = fleet.wire().await;
    let begun = request_for("begun", "clerk", 8);
    wire.ask(&begun).await;
    clerk.until_running("clerk", 1).await;
    let queued = request_for("queued", "clerk", 8);
    wire.ask(&queued).await;

    clerk.kill().await;
    let patient = request_for("patient", "clerk", 600);
    wire.ask(&patient).await;

    assert_eq!(code_of(&wire, &begun).await, "TIMEOUT");
    assert_eq!(code_of(&wire, &queued).await, "TIMEOUT");
    until("two are ended", async || {
        (leader.count(LATE).await == 2).then_some(())
    })
    .await;
    until("one is watched still", async || {
        (leader.count("puruto_unserved_watched").await == 1).then_some(())
    })
    .await;
    assert_eq!(wire.messages(INVOKE).await, 1);

    // Whoever comes back finds the rest, and it is watched no longer.
    let back = fleet.worker_for("back", "clerk").await;
    back.until_running("clerk", 1).await;
    until("nothing is watched", async || {
        (leader.count("puruto_unserved_watched").await == 0).then_some(())
    })
    .await;
}

const LATE: &str = "puruto_unserved_ended_total{reason=\"late\"}";

#[tokio::test]
async fn a_request_that_is_cancelled_while_its_workers_are_away_is_answered() {
    let fleet = Fleet::of(&[ECHO, CLERK]).await.with_quick_take_over();
    let _leader = leader(&fleet).await;
    fleet.worker_for("clerk", "clerk").await.kill().await;
    let wire = fleet.wire().await;
    let asked = request_for("1", "clerk", 600);
    let cancelled = fleet.puruto(&["cancel", "1", "--target", "clerk"]).await;
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    wire.ask(&asked).await;
    let stored = wire.result(&asked).await;
    assert_eq!(json_of(&stored.payload)["error"]["code"], "CANCELLED");
    assert_eq!(header(&stored.headers, "Puruto-Worker"), Some("leader"));
}

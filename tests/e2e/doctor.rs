//! `puruto doctor`: what it sees of a real installation, well and ill.

use serde_json::Value;

use crate::{
    fleet::Fleet,
    records::Records,
    wire::{INVOKE, request},
};

const CLERK: (&str, &str) = ("clerk", "[model]\nprovider = \"simulated\"");

/// The check of this name.
fn check<'d>(diagnosis: &'d Value, name: &str) -> &'d Value {
    let checks = diagnosis["checks"].as_array().expect("checks");
    let found = checks.iter().find(|it| it["check"] == name);
    found.unwrap_or_else(|| panic!("no check {name:?} in {diagnosis:#}"))
}

#[tokio::test]
async fn an_installation_that_works_has_no_errors_and_says_what_it_guarantees() {
    let fleet = Fleet::of(&[CLERK]).await;
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    records.set("appendfsync", "everysec").await;
    let _worker = fleet.worker("w1").await;
    let ended = fleet.puruto(&["doctor"]).await;
    let diagnosis = ended.json();
    assert_eq!(
        (ended.code, &diagnosis["ok"]),
        (0, &true.into()),
        "{diagnosis:#}"
    );
    let redis = diagnosis["guarantee"]["redis"]
        .as_str()
        .expect("a guarantee");
    assert!(redis.contains("at most 1s of claims"), "{redis}");
    for (name, seen) in [
        ("redis maxmemory-policy", "noeviction"),
        ("redis persistence", "appendfsync everysec"),
        ("nats permissions", "granted"),
        ("nats stream PURUTO_RESULTS", "there"),
        ("workers of clerk", "1"),
        ("epoch", "the same"),
    ] {
        assert_eq!(check(&diagnosis, name)["seen"], seen, "{name}");
        assert_eq!(check(&diagnosis, name)["level"], "ok", "{name}");
    }
    let lane = "nats consumer clerk";
    assert_eq!(check(&diagnosis, lane)["level"], "ok");
    // Nothing on a laptop keeps a power loss from costing something.
    assert_eq!(check(&diagnosis, "nats sync_interval")["level"], "warning");
}

#[tokio::test]
async fn what_is_wrong_is_named_with_what_to_change_and_fails_the_command() {
    let fleet = Fleet::of(&[CLERK]).await;
    let mut worker = fleet.worker("w1").await;
    worker.drain().await;
    let wire = fleet.wire().await;
    wire.ask(&request("r-1", "clerk", "Hello")).await;
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    records.set("maxmemory-policy", "allkeys-lru").await;
    let mut drifted = wire.config(INVOKE).await;
    drifted.max_messages_per_subject = 7;
    wire.configure(&drifted).await;

    let ended = fleet.puruto(&["doctor"]).await;
    let diagnosis = ended.json();
    assert_eq!((ended.code, &diagnosis["ok"]), (1, &false.into()));
    for (name, level, words) in [
        (
            "redis maxmemory-policy",
            "error",
            "set maxmemory-policy noeviction",
        ),
        (
            "nats consumer clerk",
            "error",
            "start puruto worker for this target",
        ),
        (
            "nats stream PURUTO_INVOKE",
            "warning",
            "start puruto worker",
        ),
        ("workers of clerk", "warning", "start puruto worker"),
    ] {
        let check = check(&diagnosis, name);
        assert_eq!(check["level"], level, "{check:#}");
        let change = check["change"].as_str().expect("what to change");
        assert!(change.contains(words), "{check:#}");
    }
}

#[tokio::test]
async fn a_server_that_is_away_is_an_error_and_the_other_is_looked_at_all_the_same() {
    let mut fleet = Fleet::of(&[CLERK]).await;
    fleet.servers.nats.stop().await.expect("stopped");
    let ended = fleet.puruto(&["doctor"]).await;
    let diagnosis = ended.json();
    assert_eq!(ended.code, 1);
    assert_eq!(check(&diagnosis, "nats")["level"], "error");
    assert_eq!(check(&diagnosis, "redis role")["level"], "ok");
    assert_eq!(diagnosis["guarantee"], Value::Null);
}

//! Redis with Sentinel: what becomes of requests when the master dies or freezes, and of a master
//! that comes back.

use std::time::Duration;

use puruto_fleet::dev::port::Port;
use serde_json::Value;
use tokio::time::interval;

use crate::{
    fleet::Fleet,
    patience::until,
    records::Records,
    sentinels::{PASSWORD, Sentinels, ask},
    wire::{Heard, RESULTS, Wire, json_of, place_of, request},
    worker::Worker,
};

const CLERK: (&str, &str) = (
    "clerk",
    "concurrency = 8\n[model]\nprovider = \"simulated\"\nlatency = \"100ms\"",
);
/// Enough to be asked for before, during and after a failover of some three seconds.
const REQUESTS: usize = 300;
const PUBLISH_EVERY: Duration = Duration::from_millis(20);

/// A fleet that reaches its Redis through Sentinels, with its workers.
async fn watched_fleet() -> (Fleet, Sentinels, Vec<Worker>) {
    let fleet = Fleet::of(&[CLERK]).await;
    let sentinels = Sentinels::over(&fleet.servers.redis, fleet.servers.folder()).await;
    let fleet = fleet
        .with("REDIS_URL", &sentinels.url())
        .with("PURUTO_REDIS__SENTINEL_PASSWORD", PASSWORD);
    let workers = vec![fleet.worker("w1").await, fleet.worker("w2").await];
    (fleet, sentinels, workers)
}

fn requests(kind: &str, count: usize) -> Vec<Value> {
    let ids = (0..count).map(|number| format!("{kind}-{number}"));
    ids.map(|id| request(&id, "clerk", "Hello")).collect()
}

async fn publish_all(wire: &Wire, requests: &[Value]) {
    let mut pace = interval(PUBLISH_EVERY);
    for request in requests {
        pace.tick().await;
        wire.ask(request).await;
    }
}

/// Each of these is answered well, each result was heard once, and nothing is left to do.
async fn assert_each_is_answered_once(wire: &Wire, heard: &mut Heard, requests: &[Value]) {
    let mut places: Vec<String> = Vec::new();
    for _ in requests {
        let message = heard.next().await;
        assert_eq!(json_of(&message.payload)["status"], "ok", "{message:?}");
        places.push(message.subject.to_string());
    }
    wire.until_all_is_done().await;
    assert!(heard.nothing_more(wire).await);
    places.sort();
    let mut expected: Vec<_> = requests.iter().map(place_of).collect();
    expected.sort();
    assert_eq!(places, expected);
}

/// How often a script was called there since that server started.
async fn scripts_called(server: Port) -> u64 {
    let stats: String = ask(server, &["INFO", "commandstats"]).await;
    let line = stats
        .lines()
        .find_map(|it| it.strip_prefix("cmdstat_evalsha:calls="));
    line.and_then(|it| it.split(',').next()?.parse().ok())
        .unwrap_or(0)
}

async fn until_demoted(server: Port) {
    until("the old master is a replica", async || {
        let replication: String = ask(server, &["INFO", "replication"]).await;
        replication.contains("role:slave").then_some(())
    })
    .await;
}

#[tokio::test]
async fn requests_outlive_a_redis_master_that_is_killed_and_its_return_as_a_replica() {
    let (mut fleet, sentinels, _workers) = watched_fleet().await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.>").await;
    let during = requests("during", REQUESTS);

    let old = fleet.servers.redis.port();
    let failing_over = async {
        until("some have their results", async || {
            (wire.messages(RESULTS).await >= 20).then_some(())
        })
        .await;
        fleet.servers.redis.kill().await.expect("killed");
        sentinels.until_failed_over().await;
    };
    tokio::join!(publish_all(&wire, &during), failing_over);
    assert_each_is_answered_once(&wire, &mut heard, &during).await;

    // It comes back with its old data, and as the master that it was.
    fleet.servers.redis.restart().await.expect("up again");
    let after = requests("after", 50);
    publish_all(&wire, &after).await;
    assert_each_is_answered_once(&wire, &mut heard, &after).await;
    until_demoted(old).await;

    assert_eq!(scripts_called(old).await, 0, "the old master is let be");
    let mut records = Records::connect(&sentinels.replica.url()).await;
    assert_eq!(records.attempts("clerk", "after-49").await, 1);
}

#[tokio::test]
async fn requests_outlive_a_redis_master_that_freezes_and_thaws_as_a_replica() {
    let (fleet, sentinels, workers) = watched_fleet().await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.>").await;
    let during = requests("during", REQUESTS);

    let old = fleet.servers.redis.port();
    let failing_over = async {
        until("some have their results", async || {
            (wire.messages(RESULTS).await >= 20).then_some(())
        })
        .await;
        fleet.servers.redis.pause().expect("frozen");
        sentinels.until_failed_over().await;
    };
    tokio::join!(publish_all(&wire, &during), failing_over);
    assert_each_is_answered_once(&wire, &mut heard, &during).await;
    for worker in &workers {
        until("its session is kept on the new master", async || {
            worker.is_ready().await.then_some(())
        })
        .await;
    }

    fleet.servers.redis.resume().expect("thawed");
    until_demoted(old).await;
    let called = scripts_called(old).await;
    let after = requests("after", 50);
    publish_all(&wire, &after).await;
    assert_each_is_answered_once(&wire, &mut heard, &after).await;

    assert_eq!(
        scripts_called(old).await,
        called,
        "the old master is let be"
    );
}

#[tokio::test]
async fn sentinels_that_refuse_or_watch_no_such_master_say_so() {
    let fleet = Fleet::of(&[CLERK]).await;
    let sentinels = Sentinels::over(&fleet.servers.redis, fleet.servers.folder()).await;

    let fleet = fleet.with("REDIS_URL", &sentinels.url());
    let refused = fleet.puruto(&["status", "r-1"]).await;
    assert_ne!(refused.code, 0);
    let why = &refused.errors;
    assert!(
        why.contains("NOAUTH") && why.contains("check user"),
        "{why}"
    );

    let fleet = fleet
        .with("REDIS_URL", &sentinels.url().replace("/main", "/other"))
        .with("PURUTO_REDIS__SENTINEL_PASSWORD", PASSWORD);
    let unknown = fleet.puruto(&["status", "r-1"]).await;
    assert_ne!(unknown.code, 0);
    let why = &unknown.errors;
    assert!(why.contains("watches no master called other"), "{why}");
    assert!(!why.contains(PASSWORD), "{why}");
}

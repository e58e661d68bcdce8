//! What a worker makes sure of before it serves, and what it says then.

use crate::{fleet::Fleet, records::Records};

const CLERK: (&str, &str) = ("clerk", "[model]\nprovider = \"simulated\"");

#[tokio::test]
async fn a_worker_refuses_a_redis_that_evicts_and_names_the_setting_and_the_change() {
    let fleet = Fleet::of(&[CLERK]).await;
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    records.set("maxmemory-policy", "allkeys-lru").await;
    let mut worker = fleet.launch("w1").await;
    assert_eq!(worker.ended().await.code(), Some(1));
    let log = worker.log();
    assert!(log.contains("maxmemory-policy is allkeys-lru"), "{log}");
    assert!(log.contains("set maxmemory-policy noeviction"), "{log}");
}

#[tokio::test]
async fn a_worker_says_in_one_line_what_the_installation_guarantees() {
    let fleet = Fleet::of(&[CLERK]).await;
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    records.set("appendfsync", "everysec").await;
    let worker = fleet.worker("w1").await;
    let log = worker.log();
    let mut lines = log.lines();
    let said = lines.find(|line| line.contains("what this installation guarantees"));
    let said = said.unwrap_or_else(|| panic!("no guarantee in {log}"));
    for words in [
        "a crash of the Redis machine loses at most 1s of claims: repeated work, no request",
        "a power loss of its machine at most the last 2m of accepted requests",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

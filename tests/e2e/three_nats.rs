//! NATS as a cluster of three: what becomes of requests when one server dies, and then another.

use std::time::Duration;

use async_nats::HeaderMap;
use serde_json::Value;
use tokio::{sync::watch, time::interval};

use crate::{
    cluster::Cluster,
    fleet::Fleet,
    patience::until,
    records::Records,
    support::say,
    wire::{RESULTS, Wire, json_of, request},
};

const CLERK: (&str, &str) = (
    "clerk",
    "concurrency = 8\n[model]\nprovider = \"simulated\"\nlatency = \"100ms\"",
);
const PUBLISH_EVERY: Duration = Duration::from_millis(20);

/// Publishes one request after the other until it is told to stop; what was stored. One whose
/// answer got lost is published again, as a caller does.
async fn keep_asking(wire: &Wire, mut stop: watch::Receiver<bool>) -> Vec<Value> {
    let mut asked = Vec::new();
    let mut pace = interval(PUBLISH_EVERY);
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return asked,
            _ = pace.tick() => {}
        }
        let id = format!("r-{}", asked.len());
        let request = request(&id, "clerk", "Hello");
        until("the cluster stores a request", async || {
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Msg-Id", id.as_str());
            let body = request.to_string();
            wire.try_publish("puruto.invoke.clerk", headers, body).await
        })
        .await;
        asked.push(request);
    }
}

/// Waits until `more` results are there than when it was asked.
async fn until_results_come(wire: &Wire, more: u64) {
    let before = wire.messages(RESULTS).await;
    until("results come", async || {
        (wire.messages(RESULTS).await >= before + more).then_some(())
    })
    .await;
}

#[tokio::test]
async fn requests_outlive_one_nats_server_of_three_and_then_another() {
    let fleet = Fleet::of(&[CLERK]).await;
    let mut cluster = Cluster::start(fleet.servers.folder()).await;
    let fleet = fleet
        .with("NATS_URL", &cluster.url())
        .with("PURUTO_NATS__REPLICAS", "3");
    let _workers = (fleet.worker("w1").await, fleet.worker("w2").await);
    cluster.until_each_stream_is_on_all().await;
    let wire = Wire::connect(&cluster.url()).await;

    let (stop, stopped) = watch::channel(false);
    let losing_two = async {
        until_results_come(&wire, 20).await;
        let first = cluster.kill_leader().await;
        until_results_come(&wire, 50).await;
        cluster.restart(first).await;
        let second = cluster.kill_leader().await;
        until_results_come(&wire, 50).await;
        stop.send_replace(true);
        (first, second)
    };
    let (asked, (first, second)) = tokio::join!(keep_asking(&wire, stopped), losing_two);
    say(&format!(
        "{} requests, servers n{first} and n{second} killed",
        asked.len()
    ));

    for request in &asked {
        let result = json_of(&wire.result(request).await.payload);
        assert_eq!(result["status"], "ok", "{result}");
    }
    wire.until_all_is_done().await;
    assert_eq!(wire.messages(RESULTS).await, asked.len() as u64);
    assert_ne!(first, second, "the one that came back was let be");

    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    for request in &asked {
        let id = request["request_id"].as_str().expect("an id");
        assert_eq!(records.attempts("clerk", id).await, 1, "{id}");
    }
}

//! What several workers make of one model server: they know together how it is.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::{
    fleet::Fleet,
    patience::until,
    waiting::{Sick, clerk},
    wire::{RESULTS, Wire, json_of, request},
};

async fn ask(wire: &Wire, count: usize) -> Vec<Value> {
    let requests: Vec<_> = (0..count)
        .map(|it| request(&format!("r-{it}"), "clerk", "are you well?"))
        .collect();
    for request in &requests {
        wire.ask(request).await;
    }
    requests
}

async fn until_results(wire: &Wire, count: usize) {
    until("every result", async || {
        (wire.messages(RESULTS).await == count as u64).then_some(())
    })
    .await;
}

#[tokio::test]
async fn two_workers_find_an_outage_together_and_not_each_for_itself() {
    const REQUESTS: usize = 40;
    let model = Sick::default();
    let server = model.serve().await;
    let fleet = Fleet::of(&[("clerk", &clerk(&server, "concurrency = 2"))]).await;
    let workers = [fleet.worker("w1").await, fleet.worker("w2").await];
    let wire = fleet.wire().await;
    ask(&wire, REQUESTS).await;
    until_results(&wire, REQUESTS).await;
    // Ten open the circuit; as many as there are slots may be on their way.
    let failed = model.failed();
    assert!((10..=10 + 4).contains(&failed), "{failed} calls");
    for worker in &workers {
        assert!(worker.log().contains("circuit_opened"), "{}", worker.log());
    }
}

#[tokio::test]
async fn a_limit_is_kept_by_all_workers_together() {
    const REQUESTS: usize = 14;
    let model = Sick::default();
    model.mend();
    let server = model.serve().await;
    let clerk = clerk(&server, "concurrency = 20");
    let clerk = format!("{clerk}\n[model.limits]\nrequests_per_minute = 60");
    let fleet = Fleet::of(&[("clerk", &clerk)]).await;
    let _workers = [fleet.worker("w1").await, fleet.worker("w2").await];
    let wire = fleet.wire().await;
    let before = Instant::now();
    let requests = ask(&wire, REQUESTS).await;
    until_results(&wire, REQUESTS).await;
    // Six at once, then 55 a minute.
    let took = before.elapsed();
    assert!(took >= Duration::from_secs(8), "{took:?}");
    assert_eq!(model.answered(), REQUESTS);
    for request in &requests {
        let result = json_of(&wire.result(request).await.payload);
        assert_eq!(result["status"], "ok", "{result}");
    }
}

#[tokio::test]
async fn calls_go_on_while_redis_is_away() {
    let model = Sick::default();
    let server = model.serve().await;
    let mut fleet = Fleet::of(&[("clerk", &clerk(&server, "concurrency = 2"))]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let requests = ask(&wire, 1).await;
    until("the first attempt", async || {
        (model.failed() == 1).then_some(())
    })
    .await;

    fleet.servers.redis.kill().await.expect("killed");
    model.mend();
    until("another attempt", async || {
        (model.answered() == 1).then_some(())
    })
    .await;
    assert_eq!(worker.count("puruto_circuits_alone_total").await, 1);
    fleet.servers.redis.restart().await.expect("up again");

    let result = json_of(&wire.result(&requests[0]).await.payload);
    assert_eq!(result["status"], "ok", "{result}");
}

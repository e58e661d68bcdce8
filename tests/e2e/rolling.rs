//! Every worker is replaced by a new one while requests keep coming, as a deployment does it.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::{
    fleet::Fleet,
    records::Records,
    wire::{RESULTS, Wire, request},
    worker::Worker,
};

const REQUESTS: usize = 500;
const PUBLISH_EVERY: Duration = Duration::from_millis(12);
const CLERK: (&str, &str) = (
    "clerk",
    r#"
        concurrency = 4
        [model]
        provider = "simulated"
        latency = { min = "50ms", max = "400ms" }
    "#,
);

fn id_of(number: usize) -> String {
    format!("r-{number}")
}

async fn publish_all(wire: &Wire) {
    let mut pace = interval(PUBLISH_EVERY);
    pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for number in 0..REQUESTS {
        pace.tick().await;
        wire.ask(&request(&id_of(number), "clerk", "Hello")).await;
    }
}

/// Stops each worker in good order once its successor serves.
async fn replace_all(fleet: &Fleet, workers: Vec<Worker>) -> Vec<Worker> {
    let mut successors = Vec::new();
    for (number, mut worker) in workers.into_iter().enumerate() {
        successors.push(fleet.worker(&format!("new-{number}")).await);
        worker.drain().await;
    }
    successors
}

#[tokio::test]
async fn a_rolling_restart_under_load_loses_nothing_and_repeats_nothing() {
    let fleet = Fleet::of(&[CLERK]).await;
    let mut workers = Vec::new();
    for number in 1..=3 {
        workers.push(fleet.worker(&format!("old-{number}")).await);
    }
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.>").await;

    let (_successors, ()) = tokio::join!(replace_all(&fleet, workers), publish_all(&wire));
    wire.until_all_is_done().await;

    for _ in 0..REQUESTS {
        assert_eq!(heard.result().await["status"], "ok");
    }
    assert!(heard.nothing_more(&wire).await);
    assert_eq!(wire.messages(RESULTS).await, REQUESTS as u64);
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    for number in 0..REQUESTS {
        let id = id_of(number);
        assert_eq!(records.attempts("clerk", &id).await, 1, "{id}");
    }
}

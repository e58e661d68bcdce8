//! What becomes of requests when their worker dies, stalls or is told to stop.

use std::time::Duration;

use async_nats::HeaderMap;
use rustix::process::Signal;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    fleet::Fleet,
    patience::until,
    records::Records,
    wire::{RESULTS, Wire, header, json_of, request},
    worker::Worker,
};

/// Takes two seconds for anything, two requests at a time.
const CLERK: (&str, &str) = (
    "clerk",
    "concurrency = 2\n[model]\nprovider = \"simulated\"\nlatency = \"2s\"",
);

/// The worker that runs the one request of the clerk there is, then the other.
pub(crate) async fn holder_first(one: Worker, other: Worker) -> (Worker, Worker) {
    let first = until("one of them runs it", async || {
        let running = "puruto_in_flight{target=\"clerk\"}";
        let counts = (one.count(running).await, other.count(running).await);
        match counts {
            (0, 0) => None,
            (_, 0) => Some(true),
            (0, _) => Some(false),
            (_, _) => panic!("both run it: {counts:?}"),
        }
    })
    .await;
    if first { (one, other) } else { (other, one) }
}

/// Which worker answered, and on which execution.
pub(crate) fn told(headers: Option<&HeaderMap>) -> (String, String) {
    let headers = headers.expect("headers");
    let text = |name| header(headers, name).expect("a header").to_owned();
    (text("Puruto-Worker"), text("Puruto-Attempt"))
}

fn owned(worker: &str, attempt: &str) -> (String, String) {
    (worker.to_owned(), attempt.to_owned())
}

async fn ask_for(wire: &Wire, count: usize) -> Vec<Value> {
    let requests: Vec<_> = (0..count)
        .map(|it| request(&format!("r-{it}"), "clerk", "Hello"))
        .collect();
    for request in &requests {
        wire.ask(request).await;
    }
    requests
}

#[tokio::test]
async fn a_killed_worker_has_its_request_finished_by_another_with_one_result() {
    let fleet = Fleet::of(&[CLERK]).await.with_quick_take_over();
    let workers = (fleet.worker("w1").await, fleet.worker("w2").await);
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.>").await;
    ask_for(&wire, 1).await;
    let (holder, other) = holder_first(workers.0, workers.1).await;

    holder.kill().await;
    let answer = heard.next().await;
    wire.until_all_is_done().await;

    assert_eq!(json_of(&answer.payload)["status"], "ok");
    assert_eq!(told(answer.headers.as_ref()), owned(other.name(), "2"));
    assert!(heard.nothing_more(&wire).await);
    assert_eq!(wire.messages(RESULTS).await, 1);
}

#[tokio::test]
async fn what_a_killed_worker_had_committed_is_published_by_another_and_not_done_again() {
    let mut fleet = Fleet::of(&[CLERK]).await.with_quick_take_over();
    let workers = (fleet.worker("w1").await, fleet.worker("w2").await);
    let wire = fleet.wire().await;
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    let requests = ask_for(&wire, 1).await;
    let (holder, other) = holder_first(workers.0, workers.1).await;

    // Its commit gets through, and its result does not.
    fleet.servers.nats.kill().await.expect("killed");
    let committed = until("its result is committed", async || {
        records.committed("clerk", "r-0").await
    })
    .await;
    holder.kill().await;
    fleet.servers.nats.restart().await.expect("up again");
    let wire = fleet.wire().await;
    let stored = wire.result(&requests[0]).await;
    wire.until_all_is_done().await;

    assert_eq!(stored.payload, committed.as_bytes());
    assert_eq!(header(&stored.headers, "Puruto-Worker"), Some(other.name()));
    assert_eq!(other.executions("clerk").await, 0);
    assert_eq!(records.attempts("clerk", "r-0").await, 1);
}

#[tokio::test]
async fn a_worker_told_to_stop_finishes_what_runs_and_leaves_the_rest_to_others() {
    let fleet = Fleet::of(&[CLERK]).await;
    let mut first = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let requests = ask_for(&wire, 5).await;
    first.until_running("clerk", 2).await;

    first.drain().await;
    assert_eq!(wire.messages(RESULTS).await, 2);
    let consumer = wire.consumer("clerk").await;
    assert_eq!((consumer.num_ack_pending, consumer.num_pending), (0, 3));
    let second = fleet.worker("w2").await;
    let mut by_first = 0;
    for request in &requests {
        let (worker, attempt) = told(Some(&wire.result(request).await.headers));
        assert_eq!(attempt, "1");
        by_first += usize::from(worker == "w1");
    }

    assert_eq!(by_first, 2);
    assert_eq!(second.executions("clerk").await, 3);
}

#[tokio::test]
async fn a_worker_told_to_stop_twice_hands_its_request_over_at_once() {
    // With the ordinary times: nobody waits for a session or for the broker here.
    let fleet = Fleet::of(&[CLERK]).await;
    let workers = (fleet.worker("w1").await, fleet.worker("w2").await);
    let wire = fleet.wire().await;
    let requests = ask_for(&wire, 1).await;
    let (mut holder, other) = holder_first(workers.0, workers.1).await;

    holder.signal(Signal::TERM);
    until("the first signal was heard", async || {
        holder.log().contains("draining").then_some(())
    })
    .await;
    holder.signal(Signal::TERM);
    let status = holder.ended().await;
    let ended = Instant::now();
    other.until_running("clerk", 1).await;
    let took = ended.elapsed();

    assert!(status.success(), "{status}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    let stored = wire.result(&requests[0]).await;
    assert_eq!(told(Some(&stored.headers)), owned(other.name(), "1"));
}

//! What becomes of requests when the servers die, are emptied, or are not there yet.

use serde_json::Value;

use crate::{
    fleet::Fleet,
    patience::until,
    records::Records,
    wire::{DEAD_LETTERS, INVOKE, RESULTS, Wire, json_of, request},
};

const CLERK: (&str, &str) = (
    "clerk",
    "concurrency = 4\n[model]\nprovider = \"simulated\"\nlatency = \"300ms\"",
);
const REQUESTS: u64 = 20;
const RENEWED: &str = "puruto_session_renewals_total{outcome=\"renewed\"}";
const UNREADY: &str = "puruto_store_faults_total{kind=\"unready\"}";

async fn ask_for_twenty(wire: &Wire) -> Vec<Value> {
    let requests: Vec<_> = (0..REQUESTS)
        .map(|it| request(&format!("r-{it}"), "clerk", "Hello"))
        .collect();
    for request in &requests {
        wire.ask(request).await;
    }
    requests
}

/// Waits until some have their results and others run.
async fn until_some_are_done(wire: &Wire) {
    until("some have their results", async || {
        (wire.messages(RESULTS).await >= 4).then_some(())
    })
    .await;
}

/// Each request has one result and nothing is left to do.
async fn assert_each_is_answered(wire: &Wire, requests: &[Value]) {
    for request in requests {
        let result = json_of(&wire.result(request).await.payload);
        assert_eq!(result["status"], "ok", "{result}");
    }
    wire.until_all_is_done().await;
    assert_eq!(wire.messages(RESULTS).await, requests.len() as u64);
}

#[tokio::test]
async fn requests_outlive_a_redis_that_is_killed_and_restarted() {
    let mut fleet = Fleet::of(&[CLERK]).await;
    let _workers = (fleet.worker("w1").await, fleet.worker("w2").await);
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.>").await;
    let requests = ask_for_twenty(&wire).await;
    until_some_are_done(&wire).await;

    fleet.servers.redis.kill().await.expect("killed");
    fleet.servers.redis.restart().await.expect("up again");

    assert_each_is_answered(&wire, &requests).await;
    for _ in &requests {
        heard.next().await;
    }
    assert!(heard.nothing_more(&wire).await);
}

#[tokio::test]
async fn requests_outlive_a_redis_that_is_emptied_and_what_was_done_is_not_done_again() {
    let fleet = Fleet::of(&[CLERK]).await.with_quick_take_over();
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let requests = ask_for_twenty(&wire).await;
    let first = wire.result(&requests[0]).await;
    until_some_are_done(&wire).await;

    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    records.flush().await;
    assert_each_is_answered(&wire, &requests).await;
    let executions = worker.executions("clerk").await;
    let mut heard = wire.listen("puruto.result.>").await;
    for request in &requests {
        wire.ask(request).await;
    }
    wire.until_all_is_done().await;

    assert_eq!(worker.executions("clerk").await, executions);
    assert!(heard.nothing_more(&wire).await);
    assert_eq!(wire.result(&requests[0]).await.payload, first.payload);
    let found = fleet.puruto(&["result", "r-0"]).await;
    assert_eq!((found.code, found.json()), (0, json_of(&first.payload)));
}

#[tokio::test]
async fn requests_outlive_a_nats_that_is_killed_and_restarted() {
    let mut fleet = Fleet::of(&[CLERK]).await;
    let _workers = (fleet.worker("w1").await, fleet.worker("w2").await);
    let wire = fleet.wire().await;
    let requests = ask_for_twenty(&wire).await;
    until_some_are_done(&wire).await;

    fleet.servers.nats.kill().await.expect("killed");
    fleet.servers.nats.restart().await.expect("up again");

    // The test's own client may have to reconnect as well.
    let wire = fleet.wire().await;
    assert_each_is_answered(&wire, &requests).await;
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    for request in &requests {
        let id = request["request_id"].as_str().expect("an id");
        assert_eq!(records.attempts("clerk", id).await, 1, "{id}");
    }
}

#[tokio::test]
async fn a_worker_started_before_its_servers_serves_once_they_are_up() {
    let mut fleet = Fleet::of(&[CLERK]).await;
    fleet.servers.nats.stop().await.expect("stopped");
    fleet.servers.redis.stop().await.expect("stopped");

    let worker = fleet.launch("w1").await;
    until("it says what it waits for", async || {
        let (status, why) = worker.get("/readyz").await.ok()?;
        (status == 503 && why.contains("nats")).then_some(())
    })
    .await;
    fleet.servers.nats.restart().await.expect("up");
    until("it says that it waits for redis", async || {
        let (status, why) = worker.get("/readyz").await.ok()?;
        (status == 503 && why.contains("redis")).then_some(())
    })
    .await;
    fleet.servers.redis.restart().await.expect("up");
    worker.until_ready().await;

    let answered = fleet.puruto(&["invoke", "clerk", "do", "Hello"]).await;
    assert_eq!(answered.code, 0, "{answered:?}");
}

#[tokio::test]
async fn a_result_that_a_full_redis_cannot_take_is_committed_once_there_is_room() {
    let fleet = Fleet::of(&[CLERK]).await.with_quick_take_over();
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    let asked = request("r-1", "clerk", "Hello");
    wire.ask(&asked).await;
    worker.until_running("clerk", 1).await;
    records.set("maxmemory", "1").await;
    let renewals = worker.count(RENEWED).await;
    until("the commit is refused, and tried again", async || {
        let refused = worker.counted(UNREADY).await?;
        let renewed = worker.count(RENEWED).await - renewals;
        // For longer than the session would live.
        (refused >= 3 && renewed >= 6).then_some(())
    })
    .await;
    assert_eq!(wire.messages(RESULTS).await, 0);
    assert_eq!(wire.messages(INVOKE).await, 1);
    assert_eq!(worker.count("puruto_fenced_total").await, 0);

    records.set("maxmemory", "0").await;
    assert_each_is_answered(&wire, &[asked]).await;
    assert_eq!(worker.executions("clerk").await, 1);
    assert_eq!(records.attempts("clerk", "r-1").await, 1);
}

#[tokio::test]
async fn a_redis_that_is_away_for_longer_than_a_session_ends_no_worker_and_loses_no_request() {
    let mut fleet = Fleet::of(&[CLERK]).await.with_quick_take_over();
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let requests = ask_for_twenty(&wire).await;
    until_some_are_done(&wire).await;

    fleet.servers.redis.kill().await.expect("killed");
    until("the worker fences itself", async || {
        (worker.count("puruto_fenced_total").await >= 1).then_some(())
    })
    .await;
    until("it says why it does not serve", async || {
        let (status, _) = worker.get("/readyz").await.ok()?;
        (status == 503).then_some(())
    })
    .await;
    let faults = worker.counted("puruto_store_faults_total{kind=\"unreachable\"}");
    assert!(
        faults.await.is_some_and(|faults| faults < 2_000),
        "a hot loop"
    );

    fleet.servers.redis.restart().await.expect("up again");
    assert_each_is_answered(&wire, &requests).await;
    worker.until_ready().await;
}

#[tokio::test]
async fn results_and_dead_letters_outlive_their_streams() {
    let slow = "[model]\nprovider = \"simulated\"\nlatency = \"3s\"";
    let fleet = Fleet::of(&[("clerk", slow)]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let request = request("r-1", "clerk", "Hello");
    wire.ask(&request).await;
    worker.until_running("clerk", 1).await;
    for stream in [RESULTS, DEAD_LETTERS] {
        wire.delete(stream).await;
    }
    assert_each_is_answered(&wire, &[request]).await;
    assert_eq!(worker.executions("clerk").await, 1);
    wire.publish("puruto.invoke.clerk", "[]").await;
    wire.until_all_is_done().await;
    assert_eq!(wire.messages(DEAD_LETTERS).await, 1);
}

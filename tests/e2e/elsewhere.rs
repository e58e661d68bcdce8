//! What went wrong in other systems, each as a story that goes well here.
//!
//! The rest of that list stands beside what it is about; `tests/faults.md` says where.

use std::{fs, time::Duration};

use async_nats::HeaderMap;
use rustix::process::Signal;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    crash::{holder_first, told},
    fleet::Fleet,
    patience::until,
    records::Records,
    wire::{INVOKE, RESULTS, json_of, request},
};

/// Answers after `latency`, so many at a time.
fn clerk(concurrency: usize, latency: &str) -> String {
    format!(
        "concurrency = {concurrency}\n[model]\nprovider = \"simulated\"\nlatency = \"{latency}\""
    )
}

/// celery #5935 and #3430: a job longer than the visibility timeout ran twice, three times, more.
#[tokio::test]
async fn a_request_that_outlasts_its_ack_wait_and_its_session_runs_once() {
    // Ack wait and session end after about two seconds.
    let fleet = Fleet::of(&[("clerk", &clerk(1, "7s"))]).await;
    let fleet = fleet.with_quick_take_over();
    let workers = [
        fleet.worker("w1").await,
        fleet.worker("w2").await,
        fleet.worker("w3").await,
    ];
    let wire = fleet.wire().await;
    let asked = request("r-1", "clerk", "Hello");
    wire.ask(&asked).await;

    let result = json_of(&wire.result(&asked).await.payload);
    let redelivered = wire.consumer("clerk").await.num_redelivered;
    wire.until_all_is_done().await;

    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!(redelivered, 0);
    let mut executions = 0;
    for worker in &workers {
        executions += worker.executions("clerk").await;
    }
    assert_eq!((executions, wire.messages(RESULTS).await), (1, 1));
}

/// opensre #6082: the database was fenced, and two messages went out all the same. What happens
/// outside cannot be fenced: both executions show the same id, by which it can be told apart.
#[tokio::test]
async fn whoever_runs_a_request_again_shows_the_same_id_outside() {
    let program = r#"
        kind = "command"
        [command]
        argv = ["python3", "-c", """
import json, sys, time
request = json.load(sys.stdin)
with open('effects', 'a') as effects:
    effects.write(request['request_id'] + chr(10))
time.sleep(3)
answer = {key: request[key] for key in ('request_id', 'correlation_id')}
answer.update(status='ok', duration_ms=1, result={'summary': 'sent'})
json.dump(answer, sys.stdout)
        """]
    "#;
    let fleet = Fleet::of(&[("clerk", program)])
        .await
        .with_quick_take_over();
    let workers = (fleet.worker("w1").await, fleet.worker("w2").await);
    let wire = fleet.wire().await;
    let asked = request("r-1", "clerk", "Hello");
    wire.ask(&asked).await;
    let (holder, _other) = holder_first(workers.0, workers.1).await;
    let effects = fleet.servers.folder().join("workers/clerk/effects");
    until("the first one ran", async || {
        fs::read_to_string(&effects).ok()
    })
    .await;

    holder.signal(Signal::STOP);
    let result = wire.result(&asked).await;
    holder.signal(Signal::CONT);
    holder.until_ready().await;
    wire.until_all_is_done().await;

    assert_eq!(json_of(&result.payload)["status"], "ok");
    assert_eq!(told(Some(&result.headers)).1, "2");
    let effects = fs::read_to_string(&effects).expect("what went out");
    assert_eq!(effects, "r-1\nr-1\n");
    assert_eq!(wire.messages(RESULTS).await, 1);
}

/// The broker forgets at its restart which message ids it has seen, once they are acked.
#[tokio::test]
async fn a_request_that_the_broker_has_forgotten_is_answered_from_its_record() {
    let mut fleet = Fleet::of(&[("clerk", &clerk(1, "10ms"))]).await;
    let worker = fleet.worker("w1").await;
    let asked = request("r-1", "clerk", "Hello");
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Msg-Id", "r-1");
    let wire = fleet.wire().await;
    let body = asked.to_string();
    wire.publish_with("puruto.invoke.clerk", headers.clone(), &body)
        .await;
    let first = wire.result(&asked).await;
    wire.until_all_is_done().await;

    fleet.servers.nats.kill().await.expect("killed");
    fleet.servers.nats.restart().await.expect("up again");
    let wire = fleet.wire().await;
    let again = wire.publish_with("puruto.invoke.clerk", headers, &body);
    assert_eq!(again.await, 2, "it was stored a second time");
    wire.until_all_is_done().await;

    assert_eq!(worker.executions("clerk").await, 1);
    let stored = wire.result(&asked).await;
    assert_eq!(stored.payload, first.payload);
    assert_eq!(wire.messages(RESULTS).await, 1);
}

/// pgqueuer #630, Oban #364 and #424: what SIGTERM interrupted stayed taken, and its slots too.
#[tokio::test]
async fn what_a_worker_handed_over_is_nobodys_and_costs_no_slot() {
    let fleet = Fleet::of(&[("clerk", &clerk(2, "2s"))]).await;
    let mut first = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked = [request("r-1", "clerk", "a"), request("r-2", "clerk", "b")];
    for request in &asked {
        wire.ask(request).await;
    }
    first.until_running("clerk", 2).await;

    first.signal(Signal::TERM);
    until("the first signal was heard", async || {
        first.log().contains("draining").then_some(())
    })
    .await;
    first.signal(Signal::TERM);
    assert!(first.ended().await.success());
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    let held = records.held_by("w1").await;
    let second = fleet.worker("w2").await;
    second.until_running("clerk", 2).await;

    assert_eq!(held, 0);
    for request in &asked {
        let stored = wire.result(request).await;
        assert_eq!(told(Some(&stored.headers)), ("w2".into(), "1".into()));
    }
}

/// celery #9213: the grace period ends before the job does.
#[tokio::test]
async fn what_does_not_end_within_the_drain_runs_elsewhere_at_once() {
    let fleet = Fleet::of(&[("clerk", &clerk(1, "20s"))]).await;
    let fleet = fleet.with("PURUTO_WORKER__DRAIN_TIMEOUT", "1s");
    let workers = (fleet.worker("w1").await, fleet.worker("w2").await);
    let wire = fleet.wire().await;
    wire.ask(&request("r-1", "clerk", "Hello")).await;
    let (mut holder, other) = holder_first(workers.0, workers.1).await;

    holder.drain().await;
    let ended = Instant::now();
    other.until_running("clerk", 1).await;
    let took = ended.elapsed();

    // The session and the ack wait are fifteen seconds.
    assert!(took < Duration::from_secs(5), "{took:?}");
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    assert_eq!(records.attempts("clerk", "r-1").await, 1);
}

/// asynq #1089, WeKnora #3462: a heartbeat kept a hung job alive for ever. River #1258: the stuck
/// job was judged by a time-out that was not its own.
#[tokio::test]
async fn a_model_that_never_answers_costs_its_slot_until_the_requests_own_deadline() {
    let fleet = Fleet::of(&[("clerk", &clerk(1, "1h"))]).await;
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    for (id, timeout) in [("r-1", 2), ("r-2", 3)] {
        let mut asked = request(id, "clerk", "Hello");
        asked["timeout_sec"] = timeout.into();
        let began = Instant::now();
        wire.ask(&asked).await;
        let result = json_of(&wire.result(&asked).await.payload);
        let took = began.elapsed().as_secs_f64();

        assert_eq!(result["error"]["code"], "TIMEOUT", "{result}");
        // Not sooner; how much later is the machine's affair, but far from the default of 120 s.
        assert!(took > f64::from(timeout) - 0.1 && took < 20.0, "{took}");
    }
}

/// The same, for what waits behind it and was never begun.
#[tokio::test]
async fn a_request_behind_a_worker_that_is_busy_is_told_when_its_time_is_over() {
    let fleet = Fleet::of(&[("clerk", &clerk(1, "1h"))]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    wire.ask(&request("r-1", "clerk", "Hello")).await;
    worker.until_running("clerk", 1).await;

    let mut queued = request("r-2", "clerk", "Hello");
    queued["timeout_sec"] = 2.into();
    wire.ask(&queued).await;
    let result = json_of(&wire.result(&queued).await.payload);

    assert_eq!(result["error"]["code"], "TIMEOUT", "{result}");
    assert_eq!(worker.executions("clerk").await, 1);
    assert_eq!(wire.messages(INVOKE).await, 1);
}

/// dynamo #9734, keptn JES #380: a reply above the broker's limit was lost, and its caller waited.
#[tokio::test]
async fn an_answer_that_the_broker_cannot_take_is_told_and_breaks_no_connection() {
    let verbose = r#"
        kind = "command"
        [command]
        output_max = 4_000_000
        argv = ["python3", "-c", """
import json, sys
request = json.load(sys.stdin)
answer = {key: request[key] for key in ('request_id', 'correlation_id')}
answer.update(status='ok', duration_ms=1, result={'summary': 'much', 'all': 'x' * 1500000})
json.dump(answer, sys.stdout)
        """]
    "#;
    let fleet = Fleet::of(&[("clerk", verbose)]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked = request("r-1", "clerk", "Hello");
    wire.ask(&asked).await;

    let result = json_of(&wire.result(&asked).await.payload);
    let reconnects = worker.count("puruto_broker_reconnects_total").await;

    assert_eq!(result["error"]["code"], "IPC_ERROR", "{result}");
    assert_eq!(result["error"]["details"]["reason"], "result_too_large");
    assert_eq!(reconnects, 0);
}

/// RUSTSEC-2025-0055, EDDI #816: what a caller sends writes lines into the log.
#[tokio::test]
async fn nothing_that_a_caller_sends_writes_a_line_or_a_colour_into_the_log() {
    let evil = "x\n{\"level\":\"ERROR\",\"message\":\"forged\"}\u{1b}[31m\u{0}";
    let fleet = Fleet::of(&[("clerk", &clerk(1, "10ms"))]).await;
    let fleet = fleet.with("PURUTO_LOG__FILTER", "debug");
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    for field in ["request_id", "correlation_id", "caller", "action", "prompt"] {
        let mut asked = request(&format!("r-{field}"), "clerk", "Hello");
        asked[field] = evil.into();
        wire.ask(&asked).await;
    }
    wire.until_all_is_done().await;

    let log = worker.log();
    assert!(!log.contains('\u{1b}') && !log.contains('\u{0}'));
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).expect("a JSON object a line");
        assert!(event["timestamp"].is_string(), "{line}");
        assert_ne!(event["message"], "forged", "{line}");
    }
}

//! What a worker shows of itself: counters, health and logs, and what none of them may hold.

use std::time::Duration;

use puruto_fleet::telemetry::names::METRICS;
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

use crate::{
    fleet::Fleet,
    patience::{WITHIN, as_often_as, until, until_within},
    support::say,
    wire::{RESULTS, json_of, request},
    worker::Worker,
};

const ECHO: (&str, &str) = ("echo", "[model]\nprovider = \"simulated\"");
const KEY: &str = "sk-e2e-7f3a9b";
const PROMPT: &str = "The prompt that nobody else may read";
const ANSWER: &str = "The answer that nobody else may read";

/// The series of a worker, without their values.
async fn series(worker: &Worker) -> Vec<String> {
    let metrics = worker.metrics().await;
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').expect("a value").0.to_owned())
        .collect()
}

/// `PURUTO_IDS` and `PURUTO_STRANGERS` say how many, for a longer run than that of every day.
#[tokio::test]
async fn however_many_ids_and_unknown_targets_there_were_the_series_are_the_same() {
    let (ids, strangers) = (
        as_often_as("PURUTO_IDS", 200),
        as_often_as("PURUTO_STRANGERS", 50),
    );
    let fleet = Fleet::of(&[ECHO]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    for target in ["echo", "unique-stranger"] {
        let first = request("unique-first", target, "Hello");
        wire.ask(&first).await;
        wire.result(&first).await;
    }
    wire.until_all_is_done().await;
    let before = series(&worker).await;

    for number in 0..ids {
        wire.ask(&request(&format!("unique-{number}"), "echo", "Hello"))
            .await;
    }
    for number in 0..strangers {
        let target = format!("unique-stranger-{number}");
        wire.ask(&request("unique-1", &target, "Hello")).await;
    }
    let results = ids + strangers + 2;
    let patience = WITHIN.max(Duration::from_millis(20) * u32::try_from(results).expect("few"));
    until_within(patience, "each has its result", async || {
        (wire.messages(RESULTS).await == results).then_some(())
    })
    .await;
    wire.until_all_is_done().await;
    say(&format!(
        "{ids} ids, {strangers} unknown targets: {} series",
        before.len()
    ));

    let after = series(&worker).await;
    assert_eq!(after, before);
    assert!(!after.iter().any(|it| it.contains("unique")), "{after:?}");
    let walk = METRICS.iter().filter(|it| it.labels.contains(&"target"));
    for metric in walk {
        assert!(
            after.iter().any(|it| it.starts_with(metric.name)),
            "{}",
            metric.name
        );
    }
    for name in ["runtime_requests_total", "runtime_request_duration_seconds"] {
        assert!(after.iter().any(|it| it.starts_with(name)), "{name}");
    }
}

#[tokio::test]
async fn readiness_follows_redis_and_liveness_does_not() {
    let fleet = Fleet::of(&[ECHO]).await.with_quick_take_over();
    let worker = fleet.worker("w1").await;

    fleet.servers.redis.pause().expect("paused");
    let why = until("it is not ready", async || {
        let (status, why) = worker.get("/readyz").await.expect("an answer");
        (status == 503).then_some(why)
    })
    .await;
    let live = worker.get("/livez").await.expect("an answer");
    fleet.servers.redis.resume().expect("resumed");
    worker.until_ready().await;

    assert!(why.contains("session"), "{why}");
    assert_eq!(live.0, 200);
    let answered = fleet.puruto(&["invoke", "echo", "do", "Hello"]).await;
    assert_eq!(answered.code, 0, "{answered:?}");
}

#[tokio::test]
async fn a_worker_that_says_it_is_ready_serves_everything_it_has() {
    // Enough for a caller to come between the first of them and the last.
    let names: Vec<_> = (10..50).map(|it| format!("echo-{it}")).collect();
    let purutos: Vec<_> = names.iter().map(|it| (it.as_str(), ECHO.1)).collect();
    let fleet = Fleet::of(&purutos).await;
    let wire = fleet.wire().await;

    let _worker = fleet.worker("w1").await;
    let served = wire.consumers().await;

    for name in &names {
        assert!(served.contains(name), "{name} is not among {served:?}");
    }
}

/// A model server that answers once, then refuses the key.
async fn model_server() -> MockServer {
    let server = MockServer::start().await;
    let answer = json!({
        "id": "a-1", "object": "chat.completion", "model": "m-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    });
    let authorized = matchers::header("authorization", format!("Bearer {KEY}").as_str());
    Mock::given(authorized)
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    let refusal = json!({"error": {"message": format!("invalid key {KEY} for {PROMPT}")}});
    Mock::given(matchers::any())
        .respond_with(ResponseTemplate::new(401).set_body_json(refusal))
        .with_priority(9)
        .mount(&server)
        .await;
    server
}

#[tokio::test]
async fn neither_logs_nor_metrics_nor_errors_hold_a_prompt_an_answer_or_a_key() {
    let model = model_server().await;
    let worker = format!(
        "[model]\nprovider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m-1\"\napi_key_env = \"E2E_KEY\"",
        model.uri()
    );
    let fleet = Fleet::of(&[("clerk", &worker)]).await;
    let fleet = fleet
        .with("E2E_KEY", KEY)
        .with("PURUTO_LOG__FILTER", "debug");
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let (first, second) = (
        request("r-1", "clerk", PROMPT),
        request("r-2", "clerk", PROMPT),
    );

    wire.ask(&first).await;
    let answered = json_of(&wire.result(&first).await.payload);
    wire.ask(&second).await;
    let refused = json_of(&wire.result(&second).await.payload);
    wire.publish("puruto.invoke.clerk", format!("{{\"prompt\": \"{PROMPT}\""))
        .await;
    wire.until_all_is_done().await;

    assert_eq!(
        answered["result"]["output"]["content"], ANSWER,
        "{answered}"
    );
    assert_eq!(refused["error"]["details"]["kind"], "auth", "{refused}");
    let (log, metrics) = (worker.log(), worker.metrics().await);
    assert!(log.contains("request_failed"), "{log}");
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).expect("a JSON object a line");
        assert!(event["level"].is_string(), "{line}");
    }
    for text in [log, metrics, refused.to_string()] {
        for secret in [PROMPT, ANSWER, KEY] {
            assert!(!text.contains(secret), "{secret} stands in {text}");
        }
    }
}

#[tokio::test]
async fn a_workers_health_is_told_by_its_own_binary() {
    let mut fleet = Fleet::of(&[ECHO]).await;
    let worker = fleet.worker("w1").await;
    let telemetry = format!("worker.telemetry={}", worker.telemetry());
    let question = ["--set", &telemetry, "health"];

    let serving = fleet.puruto(&question).await;
    assert_eq!(
        (serving.code, serving.json()["ready"].clone()),
        (0, json!(true))
    );

    drop(worker);
    let gone = fleet.puruto(&question).await;
    assert_eq!(gone.code, 5, "{gone:?}");
    assert!(gone.errors.contains("no worker answers at"), "{gone:?}");

    fleet.servers.redis.stop().await.expect("stopped");
    let waiting = fleet.launch("w2").await;
    let telemetry = format!("worker.telemetry={}", waiting.telemetry());
    until("it says what it waits for", async || {
        let told = fleet.puruto(&["--set", &telemetry, "health"]).await;
        (told.code == 1 && told.output.contains("redis")).then_some(())
    })
    .await;
}

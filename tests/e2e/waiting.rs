//! Requests that only wait: for their next attempt, for a closed breaker, for another worker.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

use crate::{
    fleet::Fleet,
    patience::{until, until_within},
    wire::{json_of, request},
};

/// Much longer than a breaker stays open and its probes take.
const REOPENS_WITHIN: Duration = Duration::from_secs(90);

/// A model that answers 503 until it is mended, and counts what it answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sick(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    well: AtomicBool,
    failed: AtomicUsize,
    answered: AtomicUsize,
}

impl Sick {
    pub(crate) async fn serve(&self) -> MockServer {
        let server = MockServer::start().await;
        let every = Mock::given(matchers::any()).respond_with(self.clone());
        every.mount(&server).await;
        server
    }

    pub(crate) fn mend(&self) {
        self.0.well.store(true, Ordering::SeqCst);
    }

    pub(crate) fn failed(&self) -> usize {
        self.0.failed.load(Ordering::SeqCst)
    }

    pub(crate) fn answered(&self) -> usize {
        self.0.answered.load(Ordering::SeqCst)
    }
}

impl Respond for Sick {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        if !self.0.well.load(Ordering::SeqCst) {
            self.0.failed.fetch_add(1, Ordering::SeqCst);
            return ResponseTemplate::new(503);
        }
        self.0.answered.fetch_add(1, Ordering::SeqCst);
        ResponseTemplate::new(200).set_body_json(json!({
            "model": "m-1",
            "choices": [{"message": {"content": "well again"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        }))
    }
}

pub(crate) fn clerk(server: &MockServer, keys: &str) -> String {
    format!(
        "{keys}\n[model]\nprovider = \"openai\"\nmodel = \"m-1\"\nbase_url = \"{}\"",
        server.uri()
    )
}

#[tokio::test]
async fn a_request_that_waits_for_its_next_attempt_keeps_nobody_from_the_only_slot() {
    let clerk = "concurrency = 1\n[model]\nprovider = \"simulated\"\n\
                 [[model.rules]]\nwhen = \"slow\"\nerrors = [\"503\", \"503\"]";
    let fleet = Fleet::of(&[("clerk", clerk)]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let slow = request("slow", "clerk", "slow");
    wire.ask(&slow).await;
    worker.until_running("clerk", 1).await;
    until("it backs off", async || {
        worker.log().contains("retry_triggered").then_some(())
    })
    .await;
    let quick = request("quick", "clerk", "quick");
    wire.ask(&quick).await;
    let (first, second) = (wire.result(&quick).await, wire.result(&slow).await);
    assert!(first.sequence < second.sequence, "the slow one came first");
    assert_eq!(json_of(&second.payload)["status"], "ok");
}

#[tokio::test]
async fn a_parked_request_waits_without_a_slot_until_the_breaker_closes() {
    const REQUESTS: usize = 12;
    let model = Sick::default();
    let server = model.serve().await;
    let keys = format!("concurrency = {REQUESTS}\non_circuit_open = \"park\"");
    let fleet = Fleet::of(&[("clerk", &clerk(&server, &keys))]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked: Vec<Value> = (0..REQUESTS)
        .map(|it| request(&format!("r-{it}"), "clerk", "are you well?"))
        .collect();
    for request in &asked {
        wire.ask(request).await;
    }
    let free = "puruto_slots_free{target=\"clerk\"}";
    until("all of them are parked", async || {
        let held = worker.count("puruto_in_flight{target=\"clerk\"}").await;
        let all = REQUESTS as u64;
        let open = worker.log().contains("circuit_opened");
        (open && held == all && worker.count(free).await == all).then_some(())
    })
    .await;
    let failed = model.failed();
    assert!(failed <= REQUESTS, "{failed} calls of an open circuit");

    model.mend();
    until_within(REOPENS_WITHIN, "every result", async || {
        (wire.messages(crate::wire::RESULTS).await == REQUESTS as u64).then_some(())
    })
    .await;
    for request in &asked {
        let result = json_of(&wire.result(request).await.payload);
        assert_eq!(result["result"]["summary"], "well again", "{result}");
    }
    assert_eq!(model.answered(), REQUESTS, "each was asked once");
}

#[tokio::test]
async fn a_parked_request_ends_at_its_deadline() {
    let model = Sick::default();
    let server = model.serve().await;
    let keys = "concurrency = 12\non_circuit_open = \"park\"";
    let fleet = Fleet::of(&[("clerk", &clerk(&server, keys))]).await;
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut last = Value::Null;
    for it in 0..12 {
        last = request(&format!("r-{it}"), "clerk", "are you well?");
        last["timeout_sec"] = 6.into();
        wire.ask(&last).await;
    }
    let result = json_of(&wire.result(&last).await.payload);
    assert_eq!(result["error"]["code"], "TIMEOUT", "{result}");
}

#[tokio::test]
async fn a_request_that_is_handed_over_between_attempts_calls_its_model_four_times_in_all() {
    let model = Sick::default();
    let server = model.serve().await;
    let fleet = Fleet::of(&[("clerk", &clerk(&server, ""))])
        .await
        .with("PURUTO_WORKER__DRAIN_TIMEOUT", "50ms");
    let mut first = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked = request("r-1", "clerk", "are you well?");
    wire.ask(&asked).await;
    until("the second attempt", async || {
        (model.failed() == 2).then_some(())
    })
    .await;
    first.signal(Signal::TERM);
    first.ended().await;
    let _second = fleet.worker("w2").await;
    let result = json_of(&wire.result(&asked).await.payload);
    assert_eq!(result["error"]["details"]["kind"], "model_unavailable");
    assert_eq!(result["error"]["details"]["attempts"], 4, "{result}");
    assert_eq!(model.failed(), 4);
}

//! The runtime before a judge that nobody here wrote: `llmock` fails as it is told, sees every
//! attempt with its time, and says what the client did wrong.

use std::{fmt, time::Duration};

use futures_util::future::join_all;
use puruto_fleet::runtime::{
    AgentRuntime, CallFailed, MaxTokens, Message, ModelAnswer, ModelCall, backoff::Backoff,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    asking::{PLENTY, runtime_with},
    streaming::{shown, streamed},
    support::foreign::{llmock, mock::Mock, need},
};

/// Long enough to be told from none, short enough to be waited for.
const FIRST_DELAY: Duration = Duration::from_millis(200);

/// What is done to the calls of one model, and how such a call must end.
struct Scenario {
    model: &'static str,
    behaviors: Vec<Value>,
    table: &'static str,
    ends: &'static str,
}

impl Scenario {
    fn new(model: &'static str, behavior: Value, ends: &'static str) -> Self {
        Self {
            model,
            behaviors: vec![behavior],
            table: "",
            ends,
        }
    }

    fn behaviors(&self) -> impl Iterator<Item = Value> {
        self.behaviors.iter().map(|behavior| {
            let mut behavior = behavior.clone();
            behavior["match"] = json!({"model": self.model});
            behavior
        })
    }
}

fn fail(status: u16, times: u8) -> Value {
    json!({"type": "fail", "status": status, "times": times})
}

fn fail_with_wish(status: u16, seconds: f64, times: u8) -> Value {
    json!({"type": "fail", "status": status, "retry_after": seconds, "times": times})
}

fn scenarios() -> Vec<Scenario> {
    let outage = json!({"type": "fail", "status": 503, "times": null});
    let delay = json!({"type": "delay", "seconds": 3});
    let mut slow = Scenario::new("slow", delay, "answer");
    slow.table = "request_timeout = \"1s\"";
    let mut mixed = Scenario::new("mixed", fail_with_wish(429, 0.5, 1), "answer");
    mixed.behaviors.extend([fail(500, 1), fail(529, 1)]);
    vec![
        Scenario::new("s408", fail(408, 1), "answer"),
        Scenario::new("s429", fail(429, 1), "answer"),
        Scenario::new("s500", fail(500, 3), "answer"),
        Scenario::new("s502", fail(502, 2), "answer"),
        Scenario::new("s503", fail(503, 3), "answer"),
        Scenario::new("s504", fail(504, 2), "answer"),
        Scenario::new("s529", fail(529, 2), "answer"),
        Scenario::new("limited", fail_with_wish(429, 1.5, 3), "answer"),
        Scenario::new("limited-briefly", fail_with_wish(429, 0.25, 2), "answer"),
        Scenario::new("busy", fail_with_wish(503, 1.0, 2), "answer"),
        Scenario::new("down", outage, "server_error"),
        Scenario::new("s400", fail(400, 1), "rejected"),
        Scenario::new("s401", fail(401, 1), "auth"),
        Scenario::new("s403", fail(403, 1), "auth"),
        Scenario::new("s404", fail(404, 1), "rejected"),
        Scenario::new("s422", fail(422, 1), "rejected"),
        slow,
        mixed,
    ]
}

fn break_off(kind: &str) -> Value {
    json!({"type": "stream_fault", "kind": kind, "after_chunks": 3, "stall_seconds": 300})
}

fn streamed_scenarios() -> Vec<Scenario> {
    let slow = json!({"type": "slow_first_token", "seconds": 1});
    let mut stall = Scenario::new("stall", break_off("stall"), "answer");
    stall.table = "request_timeout = \"2s\"";
    let mut twice = Scenario::new("twice", break_off("disconnect"), "answer");
    twice.behaviors.push(break_off("truncate"));
    vec![
        Scenario::new("disconnect", break_off("disconnect"), "answer"),
        Scenario::new("truncate", break_off("truncate"), "answer"),
        Scenario::new("malformed", break_off("malformed"), "answer"),
        Scenario::new("slow-first", slow, "answer"),
        Scenario::new("streamed-503", fail(503, 2), "answer"),
        Scenario::new("streamed-429", fail_with_wish(429, 0.5, 2), "answer"),
        Scenario::new("streamed-400", fail(400, 1), "rejected"),
        stall,
        twice,
    ]
}

fn runtime(server: &Mock, model: &str, more: &str) -> AgentRuntime {
    let base_url = server.base_url();
    let table = format!(
        "provider = \"openai\"\nbase_url = \"{base_url}/v1\"\nmodel = \"{model}\"\n\
         api_key_env = \"KEY\"\n{more}"
    );
    runtime_with(&table, Backoff::starting_at(FIRST_DELAY))
}

async fn asked(runtime: &AgentRuntime, prompt: &str) -> Result<ModelAnswer, CallFailed> {
    asked_for(runtime, prompt, None).await
}

async fn asked_for(
    runtime: &AgentRuntime,
    prompt: &str,
    max_tokens: Option<MaxTokens>,
) -> Result<ModelAnswer, CallFailed> {
    let mut call = ModelCall::new(
        "r-1".parse().expect("valid"),
        runtime.model().clone(),
        vec![Message::user(prompt)],
        Instant::now() + PLENTY,
    );
    call.max_tokens = max_tokens;
    runtime.call(&call).await
}

async fn queue(server: &Mock, scenarios: &[Scenario]) {
    let behaviors: Vec<_> = scenarios.iter().flat_map(Scenario::behaviors).collect();
    let all = json!({ "behaviors": behaviors });
    server.post("/_llmock/scenario", &all).await;
}

fn ended(outcome: &Result<ModelAnswer, CallFailed>) -> &'static str {
    match outcome {
        Ok(_) => "answer",
        Err(failed) => failed.fault.error_type(),
    }
}

/// What the judge says.
struct Verdict(Value);

impl Verdict {
    async fn of(server: &Mock) -> Self {
        Self(server.get("/_llmock/verdict").await)
    }

    fn count(&self, what: &str) -> u64 {
        self.0[what].as_u64().expect("a count")
    }

    #[track_caller]
    fn is_clean(&self) {
        let faults = (self.count("errors"), self.count("warnings"));
        assert_eq!(faults, (0, 0), "{self}");
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.0["findings"])
    }
}

#[tokio::test]
async fn the_judge_finds_nothing_wrong_with_how_faults_are_taken() {
    let Some(server) = need(llmock(&[]).await) else {
        return;
    };
    let scenarios = scenarios();
    queue(&server, &scenarios).await;

    let play = async |scenario: &Scenario| {
        let runtime = runtime(&server, scenario.model, scenario.table);
        asked(&runtime, "pay this invoice").await
    };
    let outcomes = join_all(scenarios.iter().map(play)).await;
    let verdict = Verdict::of(&server).await;

    for (scenario, outcome) in scenarios.iter().zip(&outcomes) {
        assert_eq!(
            ended(outcome),
            scenario.ends,
            "{}: {outcome:?}",
            scenario.model
        );
    }
    verdict.is_clean();
    // Those that are refused have one attempt; nothing was left unplayed.
    assert_eq!(
        verdict.count("faults_injected"),
        1 + 1 + 3 + 2 + 3 + 2 + 2 + 3 + 2 + 2 + 4 + 5 + 3
    );
    let pending = server.get("/_llmock/scenario").await;
    assert_eq!(
        pending["pending"].as_array().map(Vec::len),
        Some(1),
        "the outage"
    );
}

#[tokio::test]
async fn the_judge_finds_nothing_wrong_with_how_streams_that_break_are_taken() {
    // As models write. All at once, it would be over before anybody could hang up on it.
    let pace = [("LLMOCK_STREAM_CHUNK_DELAY_MS", "100")];
    let Some(server) = need(llmock(&pace).await) else {
        return;
    };
    let scenarios = streamed_scenarios();
    queue(&server, &scenarios).await;

    let play = async |scenario: &Scenario| {
        let runtime = runtime(&server, scenario.model, scenario.table);
        streamed(&runtime, "pay this invoice").await
    };
    let played = join_all(scenarios.iter().map(play)).await;
    let verdict = Verdict::of(&server).await;

    for (scenario, (said, outcome)) in scenarios.iter().zip(&played) {
        assert_eq!(
            ended(outcome),
            scenario.ends,
            "{}: {outcome:?}",
            scenario.model
        );
        if let Ok(answer) = outcome {
            assert_eq!(shown(said), answer.content, "{}", scenario.model);
        }
    }
    verdict.is_clean();
    assert_eq!(
        verdict.count("faults_injected"),
        1 + 1 + 1 + 2 + 2 + 1 + 1 + 2
    );
}

#[tokio::test]
async fn quotas_are_kept_and_a_question_beyond_the_context_is_not_repeated() {
    let settings = [
        ("LLMOCK_RPM", "60"),
        ("LLMOCK_TPM", "60000"),
        ("LLMOCK_CONTEXT_WINDOW", "1000"),
    ];
    let Some(server) = need(llmock(&settings).await) else {
        return;
    };
    let runtime = runtime(&server, "limited", "");

    let too_long = asked(&runtime, &"word ".repeat(2_000)).await;
    let greedy = MaxTokens(20_100.try_into().expect("not zero"));
    for number in 0..3 {
        let answer = asked_for(&runtime, &format!("long {number}"), Some(greedy)).await;
        answer.expect("once there are tokens enough");
    }
    for number in 0..60 {
        let answer = asked(&runtime, &format!("short {number}")).await;
        answer.expect("once there is room");
    }
    let verdict = Verdict::of(&server).await;

    assert_eq!(ended(&too_long), "rejected");
    let told = too_long.expect_err("too long").to_string();
    assert!(told.contains("context_length_exceeded"), "{told}");
    verdict.is_clean();
    // One that was too long, one for tokens, one or more for requests.
    assert!(verdict.count("faults_injected") >= 3, "{}", verdict.0);
}

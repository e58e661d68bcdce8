//! The runtime before a real model under a real engine, alone and with `aimock` before it, which
//! spoils what the model says. Nothing is asserted about its wisdom.

use std::{fs, time::Duration};

use futures_util::future::join_all;
use puruto_fleet::{
    dev::model::ModelServer,
    runtime::{AgentRuntime, CallFailed, FinishReason, ModelAnswer, backoff::Backoff},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::{
    asking::{call, runtime_with},
    streaming::{shown, streamed},
    support::foreign::{aimock, mock::Mock, need, small_model},
};

/// More than it needs beside much else that is going on.
const PATIENCE: Duration = Duration::from_secs(120);

fn runtime(base_url: &str) -> AgentRuntime {
    let table = format!(
        "provider = \"openai\"\nbase_url = \"{base_url}\"\nmodel = \"m-1\"\nmax_tokens = 12\n\
         temperature = 0.0"
    );
    runtime_with(&table, Backoff::starting_at(Duration::from_millis(20)))
}

async fn asked(runtime: &AgentRuntime, prompt: &str) -> Result<ModelAnswer, CallFailed> {
    runtime.call(&call(prompt, PATIENCE)).await
}

#[track_caller]
fn is_an_answer(answer: &ModelAnswer) {
    let usage = answer.usage;
    assert!(
        usage.prompt_tokens > 0 && usage.completion_tokens > 0,
        "{answer:?}"
    );
    assert_eq!(
        usage.total_tokens,
        usage.prompt_tokens + usage.completion_tokens
    );
    let ended = answer.finish_reason;
    assert!(
        matches!(ended, FinishReason::Stop | FinishReason::Length),
        "{answer:?}"
    );
    assert!(!answer.content.is_empty());
}

/// Its server queues without a limit, closes what is idle for five seconds, and refuses a question
/// that is longer than its context.
#[tokio::test]
async fn a_real_engine_is_met_as_it_is() {
    let folder = TempDir::new().expect("a folder");
    let Some(model) = need(small_model(&folder.path().join("model.log")).await) else {
        return;
    };
    let runtime = runtime(&model.base_url());

    // More calls than it has slots for.
    let prompts: Vec<_> = (0..5).map(|it| format!("Pay invoice {it}.")).collect();
    let answers = join_all(prompts.iter().map(|prompt| asked(&runtime, prompt))).await;
    let (said, written) = streamed(&runtime, "Say hello.").await;
    let too_long = asked(&runtime, &"invoice ".repeat(3_000)).await;
    sleep(Duration::from_millis(5_200)).await;
    let after_a_pause = asked(&runtime, "Pay the last invoice.").await;

    for answer in answers {
        is_an_answer(&answer.expect("an answer"));
    }
    let written = written.expect("an answer in pieces");
    is_an_answer(&written);
    assert_eq!(shown(&said), written.content);
    let too_long = too_long.expect_err("too long");
    assert_eq!(
        (too_long.fault.error_type(), too_long.attempts),
        ("rejected", 1)
    );
    assert!(
        too_long.to_string().contains("exceed_context_size_error"),
        "{too_long}"
    );
    is_an_answer(&after_a_pause.expect("an answer over a new connection"));
}

/// `aimock` before the model.
struct Front(Mock);

impl Front {
    async fn of(model: &ModelServer, folder: &TempDir) -> Option<Self> {
        let nothing = folder.path().join("fixtures.json");
        fs::write(&nothing, r#"{"fixtures": []}"#).expect("a file");
        let nothing = nothing.to_str().expect("text");
        let base_url = model.base_url();
        let upstream = base_url.strip_suffix("/v1").expect("OpenAI's path");
        let arguments = [
            "--fixtures",
            nothing,
            "--proxy-only",
            "--provider-openai",
            upstream,
        ];
        need(aimock(&arguments).await).map(Self)
    }

    /// From now on calls are spoilt so, each with its probability.
    async fn spoil(&self, rates: Value) {
        self.0.post("/__aimock/chaos", &rates).await;
    }

    /// What a call ends in, in a word, and after how many attempts; 0 stands for an answer. Each is
    /// made by a client of its own, so that no breaker keeps the next one from being made.
    async fn ended(&self, prompt: &str) -> (&'static str, u8) {
        let runtime = runtime(&format!("{}/v1", self.0.base_url()));
        match asked(&runtime, prompt).await {
            Ok(answer) => {
                is_an_answer(&answer);
                ("answer", 0)
            }
            Err(failed) => (failed.fault.error_type(), failed.attempts),
        }
    }
}

#[tokio::test]
async fn real_answers_among_spoilt_ones_end_in_an_answer_or_the_right_error() {
    let folder = TempDir::new().expect("a folder");
    let Some(model) = need(small_model(&folder.path().join("model.log")).await) else {
        return;
    };
    let Some(front) = Front::of(&model, &folder).await else {
        return;
    };

    assert_eq!(front.ended("Pay this invoice.").await.0, "answer");
    for (rate, expected) in [
        ("malformedRate", ("contract_violation", 1)),
        ("dropRate", ("server_error", 4)),
        ("disconnectRate", ("connection", 4)),
    ] {
        front.spoil(json!({ rate: 1 })).await;
        assert_eq!(front.ended("Pay this invoice.").await, expected, "{rate}");
    }
    front
        .spoil(json!({
            "dropRate": 0.2, "malformedRate": 0.1, "disconnectRate": 0.2, "rateLimitRate": 0.1,
        }))
        .await;
    let mut answers = 0;
    for number in 0..12 {
        match front.ended(&format!("Pay invoice {number}.")).await {
            ("answer", _) => answers += 1,
            ("contract_violation", 1..=4) | ("server_error" | "connection" | "rate_limited", 4) => {
            }
            (ended, attempts) => panic!("{ended} after {attempts} attempts"),
        }
    }
    assert!(answers > 0, "twelve in a row lost against the odds");
}

//! What a breaker makes of answers that are no answers. Time is paused: nothing here waits.

use std::time::Duration;

use puruto_fleet::runtime::AgentRuntime;
use tokio::time::advance;

use crate::asking::{PLENTY, call, runtime};

/// Fails, refuses or answers, by prompt.
const MODEL: &str = "provider = \"simulated\"\nanswer = \"hi\"\n\
    [[rules]]\nwhen = \"fail\"\nerrors = [\"500\", \"500\", \"500\", \"500\"]\n\
    [[rules]]\nwhen = \"limit\"\nerrors = [\"429 3600s\"]\n\
    [[rules]]\nwhen = \"refuse\"\nerrors = [\"400\"]\n\
    [[rules]]\nwhen = \"break\"\nerrors = [\"contract\"]";

/// What a call ends in, in one word.
async fn ended(runtime: &AgentRuntime, prompt: &str) -> &'static str {
    match runtime.call(&call(prompt, PLENTY)).await {
        Ok(_) => "answer",
        Err(failed) => failed.fault.error_type(),
    }
}

/// Lets it fail until it opens, then waits until it lets some through.
async fn half_open(runtime: &AgentRuntime) {
    for expected in ["server_error", "server_error", "circuit_open"] {
        assert_eq!(ended(runtime, "fail").await, expected);
    }
    assert_eq!(ended(runtime, "hello").await, "circuit_open");
    advance(Duration::from_secs(10)).await;
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_refused_or_breaks_the_contract_frees_its_place() {
    for (prompt, expected) in [
        ("refuse", "rejected"),
        ("limit", "rate_limited"),
        ("break", "contract_violation"),
    ] {
        let runtime = runtime(MODEL);
        half_open(&runtime).await;
        // More of them than there are probes: none of them takes a place for good ...
        for _ in 0..10 {
            assert_eq!(ended(&runtime, prompt).await, expected);
        }
        // ... and none is taken for proof that the server is well: three failures open it again.
        assert_eq!(ended(&runtime, "fail").await, "circuit_open", "{prompt}");
        advance(Duration::from_secs(10)).await;
        for _ in 0..10 {
            assert_eq!(ended(&runtime, "hello").await, "answer", "{prompt}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_neither_opens_it_nor_wipes_the_failures_before() {
    let runtime = runtime(MODEL);
    for prompt in ["refuse", "limit", "break"] {
        for _ in 0..50 {
            assert_ne!(ended(&runtime, prompt).await, "circuit_open", "{prompt}");
        }
    }
    advance(Duration::from_secs(10)).await;
    assert_eq!(ended(&runtime, "fail").await, "server_error");
    for _ in 0..50 {
        assert_eq!(ended(&runtime, "limit").await, "rate_limited");
    }
    assert_eq!(ended(&runtime, "fail").await, "server_error");
    assert_eq!(
        ended(&runtime, "fail").await,
        "circuit_open",
        "failures still count"
    );
}

//! Scripted routes on a paused clock: who is asked when, and what is told.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::{join, join_all};
use tokio::time::Instant;

use super::*;
use crate::{
    clock::{Chance, Clock},
    contract::ErrorCode,
    runtime::{
        Fault, Message,
        breaker::{BreakerState, CircuitName},
        calls_made::CallsMade,
        fault::{ConnectionFault, HttpStatus, Phase, Refusal},
        observe::{CallDone, Observe, Validation},
        retry::Stop,
        stream::{self, Delta},
    },
};

/// Writes down which models were left, and for what.
#[derive(Debug, Default)]
struct Left(Mutex<Vec<String>>);

impl Observe for Left {
    fn request_done(&self, _: &CallDone<'_>) {}
    fn retried(&self, _: &ModelName, _: &'static str) {}
    fn failed_over(&self, from: &ModelName, error_type: &'static str) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.push(format!("{from} {error_type}"));
    }
    fn validated(&self, _: Validation) {}
    fn circuit(&self, _: &CircuitName, _: BreakerState) {}
}

/// Simulated models m-0, m-1 and so on, each with its script.
fn routes(scripts: &[&str], left: &Arc<Left>) -> Routes {
    let numbered = scripts.iter().enumerate();
    let configs: Vec<ProviderConfig> = numbered
        .map(|(index, script)| {
            let table = format!("provider = \"simulated\"\nmodel = \"m-{index}\"\n{script}");
            toml::from_str(&table).expect("well formed")
        })
        .collect();
    let (model, fallbacks) = configs.split_first().expect("at least one");
    let shared = Shared::new(
        Clock::system(),
        Chance::seeded(3),
        Arc::<Left>::clone(left) as Arc<dyn Observe>,
    );
    Routes::open(model, fallbacks, |_| None, &shared).expect("complete")
}

fn call(timeout: Duration) -> ModelCall {
    ModelCall::new(
        "r-1".parse().expect("valid"),
        "whichever".parse().expect("valid"),
        vec![Message::user("pay")],
        Instant::now() + timeout,
    )
}

const HOUR: Duration = Duration::from_secs(3_600);
const DOWN: &str = "errors = [\"503\", \"503\", \"503\", \"503\"]";

fn left(left: &Left) -> Vec<String> {
    left.0.lock().expect("no panic").clone()
}

#[tokio::test(start_paused = true)]
async fn a_route_whose_retries_ran_out_passes_on_and_the_answer_says_which_one_gave_it() {
    let away = Arc::default();
    let routes = routes(&[DOWN, "answer = \"from {attempt}\""], &away);
    let answer = routes.call(&call(HOUR)).await.expect("an answer");
    assert_eq!(
        (answer.content.as_str(), answer.model.as_str()),
        ("from 0", "m-1")
    );
    let told = json!({"provider": "simulated", "model": "m-1", "index": 1});
    assert_eq!(answer.metadata["route"], told);
    assert_eq!(left(&away), ["m-0 server_error"]);
}

#[tokio::test(start_paused = true)]
async fn the_preferred_route_is_always_asked_first() {
    let away = Arc::default();
    let routes = routes(&["", ""], &away);
    let answer = routes.call(&call(HOUR)).await.expect("an answer");
    assert_eq!(answer.metadata["route"]["index"], 0);
    assert!(left(&away).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_single_route_is_not_named() {
    let alone = routes(&[""], &Arc::default());
    let answer = alone.call(&call(HOUR)).await.expect("an answer");
    assert!(!answer.metadata.contains_key("route"));
    let alone = routes(&[DOWN], &Arc::default());
    let failed = alone.call(&call(HOUR)).await.expect_err("no answer");
    assert_eq!((failed.attempts, failed.routes.len()), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_passes_on_without_an_attempt_and_at_once() {
    let away = Arc::default();
    let routes = routes(&[DOWN, ""], &away);
    // The tenth failed attempt opens it.
    let calls = [(); 3].map(|()| call(HOUR));
    join_all(calls.iter().map(|it| routes.call(it))).await;
    let before = Instant::now();
    let answer = routes.call(&call(HOUR)).await.expect("an answer");
    assert_eq!(answer.metadata["route"]["index"], 1);
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(
        left(&away).last().map(String::as_str),
        Some("m-0 circuit_open")
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_does_not_fit_the_deadline_is_not_waited_for_but_passed_on() {
    let away = Arc::default();
    let routes = routes(&["errors = [\"429 60s\"]", ""], &away);
    let before = Instant::now();
    let answer = routes.call(&call(Duration::from_secs(30))).await;
    assert_eq!(answer.expect("an answer").metadata["route"]["index"], 1);
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(left(&away), ["m-0 rate_limited"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_person_must_see_or_the_question_brings_about_ends_the_call() {
    for (script, code) in [
        ("errors = [\"401\"]", ErrorCode::IpcError),
        ("errors = [\"400\"]", ErrorCode::IpcError),
        ("errors = [\"contract\"]", ErrorCode::InvalidResponse),
    ] {
        let away = Arc::default();
        let routes = routes(&[script, ""], &away);
        let failed = routes.call(&call(HOUR)).await.expect_err(script);
        assert_eq!(failed.fault.code(), code);
        assert_eq!((failed.attempts, failed.why), (1, Stop::Final));
        assert!(failed.routes.is_empty(), "no other was asked");
        assert!(left(&away).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn all_routes_share_the_one_deadline() {
    let away = Arc::default();
    let routes = routes(&["latency = \"10s\"", ""], &away);
    let before = Instant::now();
    let timeout = Duration::from_secs(5);
    let failed = routes.call(&call(timeout)).await.expect_err("late");
    assert_eq!(failed.fault, Fault::DeadlinePassed);
    assert!(before.elapsed() - timeout <= Duration::from_millis(1));
    assert!(left(&away).is_empty(), "nobody waits for another answer");
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_the_caller_is_told_what_each_ended_in() {
    let away = Arc::default();
    let routes = routes(&[DOWN, "errors = [\"429 2h\"]", DOWN], &away);
    let failed = routes.call(&call(HOUR)).await.expect_err("no answer");
    let error = failed.to_result_error();
    assert_eq!(error.kind(), Some("model_unavailable"), "the last one's");
    let details = error.details.expect("details");
    assert_eq!(details["attempts"], 9);
    let ended = |model: &str, error: &str, attempts: u8| json!({"provider": "simulated", "model": model, "error": error, "attempts": attempts});
    let expected = json!([
        ended("m-0", "server_error", 4),
        ended("m-1", "rate_limited", 1),
        ended("m-2", "server_error", 4),
    ]);
    assert_eq!(details["routes"], expected);
    let said = "no route has an answer: simulated/m-0: the model server failed: HTTP 503; gave up \
                after 4 attempts: no attempt is left; simulated/m-1: ";
    assert!(error.message.starts_with(said), "{}", error.message);
    assert_eq!(left(&away), ["m-0 server_error", "m-1 rate_limited"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_route_wrote_before_it_failed_is_void_once_the_next_one_writes() {
    let cut = "answer = \"never heard\"\nerrors = [\"cut 1\", \"cut 1\", \"cut 1\", \"cut 1\"]";
    let routes = routes(&[cut, "answer = \"from the other\""], &Arc::default());
    let (sink, mut tokens) = stream::channel();
    let mut streamed = call(HOUR);
    streamed.tokens = Some(sink);
    let asking = async move { routes.call(&streamed).await };
    let reading = async {
        let (mut text, mut restarts) = (String::new(), 0);
        while let Some(token) = tokens.next().await {
            match token.delta {
                Delta::Content(more) => text += &more,
                Delta::Reasoning(_) => {}
                Delta::Restart => {
                    text.clear();
                    restarts += 1;
                }
            }
        }
        (text, restarts)
    };
    let (answer, (text, restarts)) = join(asking, reading).await;
    assert_eq!(answer.expect("an answer").content, "from the other");
    assert_eq!(text, "from the other", "what came before is void");
    assert!(restarts > 0);
}

#[tokio::test(start_paused = true)]
async fn each_route_goes_on_counting_its_own_calls_when_the_request_is_handed_over() {
    let made = CallsMade::recorded("4,2");
    let routes = routes(&["", DOWN, ""], &Arc::default());
    let mut handed_over = call(HOUR);
    handed_over.made = made.count(0);
    let answer = routes.call(&handed_over).await.expect("an answer");
    assert_eq!(answer.metadata["route"]["index"], 2);
    assert_eq!(made.to_string(), "4,4,1");
}

#[tokio::test(start_paused = true)]
async fn a_table_that_cannot_be_opened_is_named() {
    let good: ProviderConfig = toml::from_str("provider = \"simulated\"").expect("well formed");
    let keyed = "provider = \"ollama\"\nmodel = \"m\"\napi_key_env = \"KEY\"";
    let keyed: ProviderConfig = toml::from_str(keyed).expect("well formed");
    let shared = Shared::new(Clock::system(), Chance::seeded(3), Arc::new(()));
    let open = |model: &ProviderConfig, fallbacks: &[ProviderConfig]| {
        let opened = Routes::open(model, fallbacks, |_| None, &shared);
        opened.expect_err("no key").to_string()
    };
    let why = "api_key_env = \"KEY\": the environment variable is not set";
    assert_eq!(open(&keyed, &[]), format!("model.{why}"));
    let fallbacks = [good.clone(), keyed];
    assert_eq!(open(&good, &fallbacks), format!("fallback[1].{why}"));
}

#[test]
fn each_fault_passes_on_or_ends_the_call() {
    let refusal = || Refusal {
        status: HttpStatus(429),
        code: None,
        retry_after: None,
    };
    let connection = |what| Fault::Connection {
        what,
        detail: "".into(),
    };
    for fault in [
        connection(ConnectionFault::Refused),
        Fault::Timeout {
            phase: Phase::Acquire,
            after: HOUR,
        },
        Fault::Timeout {
            phase: Phase::Attempt,
            after: HOUR,
        },
        Fault::Server(refusal()),
        Fault::Overloaded(refusal()),
        Fault::RateLimited(refusal()),
        Fault::TokenLimited(refusal()),
        Fault::QuotaExhausted(refusal()),
        Fault::Incomplete { reason: "abort" },
        Fault::CallsSpent { calls: 4 },
    ] {
        assert!(passes_on(&fault), "{fault}");
    }
    for fault in [
        connection(ConnectionFault::Certificate),
        Fault::DeadlinePassed,
        Fault::Auth(refusal()),
        Fault::Rejected(refusal()),
        Fault::Contract(vec![]),
        Fault::BodyTooLarge { cap: 1 },
    ] {
        assert!(!passes_on(&fault), "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_route_is_found_by_its_name_and_asked_before_the_others() {
    let away = Arc::default();
    let routes = routes(&["answer = \"a\"", DOWN, "answer = \"c\""], &away);
    assert_eq!(routes.name(), "simulated/m-0");
    assert_eq!(routes.find("simulated/m-9"), None);
    let chosen = routes.find("simulated/m-1").expect("the second");
    let answer = routes.call_from(chosen, &call(HOUR)).await;
    let answer = answer.expect("an answer");
    assert_eq!((answer.model.as_str(), &*answer.content), ("m-0", "a"));
    assert_eq!(left(&away), ["m-1 server_error"]);
    let last = routes.find("simulated/m-2").expect("the third");
    let answer = routes.call_from(last, &call(HOUR)).await;
    assert_eq!(answer.expect("an answer").content, "c");
}

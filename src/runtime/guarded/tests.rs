//! The stack around a scripted model, on a paused clock.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::{BoxFuture, join_all};
use tokio::time::timeout;

use super::*;
use crate::{
    clock::{Chance, Clock, WallTime},
    contract::ErrorCode,
    runtime::{
        Message,
        breaker::{BreakerState, CircuitName},
        calls_made::CallsMade,
        retry::Stop,
        waiting::Waiting,
    },
};

/// Writes down what is counted.
#[derive(Debug, Default)]
pub(super) struct Counts(Mutex<Vec<String>>);

impl Counts {
    fn note(&self, what: String) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what);
    }

    fn all(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Observe for Counts {
    fn request_done(&self, done: &CallDone<'_>) {
        let (model, took) = (done.model, done.took.as_secs());
        self.note(format!("{model} {:?} after {took} s", done.status()));
    }

    fn retried(&self, model: &ModelName, error_type: &'static str) {
        self.note(format!("{model} again after {error_type}"));
    }

    fn failed_over(&self, from: &ModelName, error_type: &'static str) {
        self.note(format!("away from {from} after {error_type}"));
    }

    fn validated(&self, result: Validation) {
        self.note(format!("{result:?}"));
    }

    fn circuit(&self, _: &CircuitName, _: BreakerState) {}
}

pub(super) fn runtime(script: &str, counts: &Arc<Counts>) -> AgentRuntime {
    let config = format!("provider = \"simulated\"\n{script}");
    AgentRuntime::open(
        &toml::from_str(&config).expect("well formed"),
        |_| None,
        Shared::new(
            Clock::manual(WallTime::from_unix_millis(0)),
            Chance::seeded(11),
            Arc::<Counts>::clone(counts),
        ),
    )
    .expect("complete")
}

pub(super) fn call(prompt: &str, timeout: Duration) -> ModelCall {
    ModelCall::new(
        "r-1".parse().expect("valid"),
        "m-1".parse().expect("valid"),
        vec![Message::system("be brief"), Message::user(prompt)],
        Instant::now() + timeout,
    )
}

pub(super) const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn the_first_good_answer_ends_the_call() {
    let counts = Arc::default();
    let runtime = runtime("answer = \"you said {prompt}\"", &counts);
    let answer = runtime.call(&call("pay", HOUR)).await.expect("an answer");
    assert_eq!(answer.content, "you said pay");
    assert_eq!(answer.model.as_str(), "m-1");
    assert_eq!(answer.usage.prompt_tokens, 3, "eleven bytes, four a token");
    assert_eq!(answer.usage.total_tokens, 6);
    assert_eq!(counts.all(), ["Valid", "m-1 Ok after 0 s"]);
}

#[tokio::test(start_paused = true)]
async fn scripted_errors_are_retried_with_their_delays_until_the_answer() {
    let counts = Arc::default();
    let script = "answer = \"attempt {attempt}\"\nerrors = [\"503\", \"timeout\", \"429\"]";
    let runtime = runtime(script, &counts);
    let before = Instant::now();
    let answer = runtime.call(&call("pay", HOUR)).await.expect("an answer");
    assert_eq!(answer.content, "attempt 3");
    // 1 s after the 503, 2 s after the time-out, 4 * 2^2 s after the 429; each ±10 %.
    let took = before.elapsed().as_secs_f64();
    assert!((17.1..=20.9).contains(&took), "{took}");
    let counted = counts.all();
    let expected = [
        "m-1 again after server_error",
        "m-1 again after timeout",
        "m-1 again after rate_limited",
        "Valid",
    ];
    assert_eq!(counted[..4], expected);
}

#[tokio::test(start_paused = true)]
async fn four_attempts_are_made_and_no_fifth() {
    let counts = Arc::default();
    let runtime = runtime("errors = [\"500\", \"500\", \"500\", \"502\"]", &counts);
    let failed = runtime.call(&call("pay", HOUR)).await.expect_err("spent");
    assert_eq!((failed.attempts, failed.why), (4, Stop::AttemptsSpent));
    assert_eq!(failed.fault.refusal().map(|it| it.status.0), Some(502));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_failing_is_left_alone_and_the_caller_told_at_once() {
    let counts = Arc::default();
    let runtime = runtime("errors = [\"500\", \"500\", \"500\", \"502\"]", &counts);
    // The tenth failed attempt is the fourth of one of them; the others are not let through.
    let calls = [(); 3].map(|()| call("pay", HOUR));
    let failed = join_all(calls.iter().map(|it| runtime.call(it))).await;
    let mut ends = failed.into_iter().map(|it| it.expect_err("no answer"));
    let first = ends.next().expect("three");
    assert_eq!((first.attempts, first.why), (4, Stop::AttemptsSpent));
    for end in ends {
        assert_eq!((end.attempts, end.why), (3, Stop::Final));
    }
    let before = Instant::now();
    let failed = runtime.call(&call("pay", HOUR)).await.expect_err("open");
    assert_eq!((failed.attempts, before.elapsed()), (0, Duration::ZERO));
    let told = failed.to_result_error();
    assert_eq!(told.kind(), Some("circuit_open"));
    assert!(
        told.message.contains("the circuit of simulated"),
        "{}",
        told.message
    );
}

#[tokio::test(start_paused = true)]
async fn many_calls_that_fail_at_once_are_made_again_one_after_the_other() {
    let counts = Arc::<Counts>::default();
    let runtime = runtime("errors = [\"429\"]", &counts);
    let calls: Vec<_> = (0..100).map(|_| call("pay", HOUR)).collect();
    let before = Instant::now();
    let outcomes = join_all(calls.iter().map(|it| runtime.call(it))).await;
    assert!(outcomes.iter().all(Result::is_ok), "none is lost");
    // 30 at once, and 10 more each ten seconds.
    let took = before.elapsed().as_secs();
    assert!((65..90).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_budget_never_reaches_says_so() {
    let counts = Arc::default();
    let runtime = runtime("errors = [\"429\"]", &counts);
    let brief = Duration::from_secs(8);
    let calls: Vec<_> = (0..100).map(|_| call("pay", brief)).collect();
    let outcomes = join_all(calls.iter().map(|it| runtime.call(it))).await;
    let failed: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
    assert_eq!(failed.len(), 100 - 10 - 20, "a fifth of the calls, and ten");
    assert!(failed.iter().all(|it| it.why == Stop::BudgetSpent));
    let told = failed.first().expect("some").to_result_error();
    assert_eq!(told.kind(), Some("rate_limited"));
    assert!(told.message.contains("retry budget"), "{}", told.message);
}

#[tokio::test(start_paused = true)]
async fn refusals_and_abandoned_calls_open_nothing() {
    for script in [
        "errors = [\"401\"]",
        "errors = [\"contract\"]",
        "latency = \"1h\"",
    ] {
        let runtime = runtime(script, &Arc::default());
        for _ in 0..20 {
            let call = call("pay", Duration::from_secs(1));
            let failed = runtime.call(&call).await.expect_err("no answer");
            assert_ne!(failed.fault.error_type(), "circuit_open", "{script}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_final_fault_is_not_retried() {
    for (error, code) in [
        ("401", ErrorCode::IpcError),
        ("400", ErrorCode::IpcError),
        ("contract", ErrorCode::InvalidResponse),
    ] {
        let counts = Arc::default();
        let runtime = runtime(&format!("errors = [\"{error}\"]"), &counts);
        let failed = runtime.call(&call("pay", HOUR)).await.expect_err(error);
        assert_eq!((failed.attempts, failed.why), (1, Stop::Final));
        assert_eq!(failed.fault.code(), code);
        let counted = counts.all();
        assert_eq!(
            counted.last().map(String::as_str),
            Some("m-1 Error after 0 s")
        );
        assert_eq!(counted.contains(&"Invalid".to_owned()), error == "contract");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_cannot_start_before_the_deadline_ends_the_call_at_once() {
    let counts = Arc::default();
    let runtime = runtime("errors = [\"429 60s\"]", &counts);
    let before = Instant::now();
    let timeout = Duration::from_secs(30);
    let failed = runtime.call(&call("pay", timeout)).await.expect_err("late");
    assert_eq!(before.elapsed(), Duration::ZERO, "nobody waited");
    assert_eq!(failed.fault.code(), ErrorCode::IpcError);
    assert!(matches!(failed.why, Stop::DeadlineTooClose { .. }));
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_a_running_attempt_to_the_millisecond() {
    let counts = Arc::default();
    let runtime = runtime("latency = \"10s\"", &counts);
    let before = Instant::now();
    let timeout = Duration::from_secs(2);
    let failed = runtime.call(&call("pay", timeout)).await.expect_err("late");
    assert!(before.elapsed() - timeout <= Duration::from_millis(1));
    assert_eq!(failed.fault, Fault::DeadlinePassed);
    assert_eq!(failed.to_result_error().code, ErrorCode::Timeout);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_retried_while_the_deadline_allows() {
    let counts = Arc::default();
    let runtime = runtime("latency = \"5m\"", &counts);
    let failed = runtime.call(&call("pay", HOUR)).await.expect_err("slow");
    let after = Duration::from_secs(120);
    assert_eq!(
        failed.fault,
        Fault::Timeout {
            phase: Phase::Attempt,
            after
        }
    );
    assert_eq!(failed.attempts, 4);
}

#[tokio::test(start_paused = true)]
async fn no_attempt_starts_after_the_deadline() {
    let counts = Arc::default();
    let runtime = runtime("answer = \"too late\"", &counts);
    let late = call("pay", Duration::ZERO);
    let failed = runtime.call(&late).await.expect_err("late");
    assert_eq!(failed.fault, Fault::DeadlinePassed);
}

#[tokio::test(start_paused = true)]
async fn the_first_rule_that_fits_the_prompt_overrides_what_it_names() {
    let counts = Arc::default();
    let script = "answer = \"no idea\"\nlatency = \"1s\"\n\
        [[rules]]\nwhen = \"pay\"\nanswer = \"paid\"\n\
        [[rules]]\nwhen = \"pay twice\"\nanswer = \"never used\"\n\
        [[rules]]\nwhen = \"slow\"\nlatency = \"9s\"\nerrors = [\"400\"]";
    let runtime = runtime(script, &counts);
    let before = Instant::now();
    let paid = runtime.call(&call("please pay twice", HOUR)).await;
    assert_eq!(paid.expect("an answer").content, "paid");
    assert_eq!(before.elapsed().as_secs(), 1, "the latency of all others");
    let other = runtime.call(&call("hello", HOUR)).await;
    assert_eq!(other.expect("an answer").content, "no idea");
    let slow = runtime.call(&call("slow", HOUR)).await;
    assert_eq!(slow.expect_err("scripted").attempts, 1);
    assert_eq!(before.elapsed().as_secs(), 11);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_leaves_nothing_behind() {
    let counts = Arc::default();
    let runtime = runtime("errors = [\"503\"]", &counts);
    let call = call("pay", HOUR);
    let abandoned = timeout(Duration::from_millis(10), runtime.call(&call)).await;
    assert!(abandoned.is_err(), "it waits for its retry");
    tokio::time::advance(HOUR).await;
    assert_eq!(counts.all(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_call_in_flight_is_small() {
    let counts = Arc::default();
    let runtime = runtime("latency = \"1s\"", &counts);
    let call = call("pay", HOUR);
    let in_flight = size_of_val(&runtime.call(&call));
    // Ten thousand of them take 20 MB at most, beside what else a request holds.
    assert!(in_flight <= 2_048, "{in_flight} bytes");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_handed_over_goes_on_counting_where_it_was() {
    let counts = Arc::default();
    let runtime = runtime("errors = [\"500\", \"500\", \"500\", \"502\"]", &counts);
    let made = CallsMade::recorded("3");
    let mut handed_over = call("pay", HOUR);
    handed_over.made = made.count(0);
    let failed = runtime.call(&handed_over).await.expect_err("spent");
    assert_eq!((failed.attempts, failed.why), (4, Stop::AttemptsSpent));
    assert_eq!(failed.fault.refusal().map(|it| it.status.0), Some(502));
    assert_eq!(made.to_string(), "4");
    let failed = runtime.call(&handed_over).await.expect_err("nothing left");
    assert_eq!(failed.fault, Fault::CallsSpent { calls: 4 });
    assert_eq!(failed.attempts, 4, "and the server was left alone");
}

/// Keeps what it was asked to wait.
#[derive(Debug, Default)]
struct Waits(Mutex<Vec<Duration>>);

impl Waiting for Waits {
    fn wait(&self, delay: Duration) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().push(delay);
        Box::pin(async {})
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_lent_the_call_a_slot_does_the_waiting() {
    let counts = Arc::default();
    let runtime = runtime("errors = [\"500\", \"500\"]", &counts);
    let waits = Arc::new(Waits::default());
    let mut patient = call("pay", HOUR);
    patient.waiting = Some(Arc::<Waits>::clone(&waits));
    let before = Instant::now();
    runtime.call(&patient).await.expect("an answer");
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(waits.0.lock().unwrap().len(), 2);
}

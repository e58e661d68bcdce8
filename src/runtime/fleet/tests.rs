//! Several workers before one server, on a paused clock.

use std::{
    future::ready,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use std::sync::Arc;

use futures_util::future::{BoxFuture, join_all};
use tokio::time::{Instant, advance, timeout};

use super::*;
use crate::{
    circuit::{BreakerRules, FleetCircuit, Throttle},
    clock::{Chance, Clock},
    contract::ErrorCode,
    runtime::{
        Fault, FinishReason, Message, ModelAnswer, ModelCall, Shared, Usage,
        breaker::BreakerState,
        config::ProviderConfig,
        connector::Payload,
        fault::{HttpStatus, Refusal},
        fleet::gate::Leave,
    },
};

/// What the workers of a test share; it can go away, as a store does.
#[derive(Debug)]
struct Together {
    circuit: Mutex<FleetCircuit>,
    asked: AtomicUsize,
    away: AtomicBool,
}

impl Together {
    fn new() -> Arc<Self> {
        let circuit = FleetCircuit::new(BreakerRules::default(), Instant::now());
        Arc::new(Self {
            circuit: Mutex::new(circuit),
            asked: AtomicUsize::new(0),
            away: AtomicBool::new(false),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Fleet for Together {
    fn admit<'a>(&'a self, _: &'a CircuitName, ask: &'a Ask) -> BoxFuture<'a, Admission> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(ready(match self.away.load(Ordering::Relaxed) {
            true => Admission::Admitted(None),
            false => self.circuit.lock().unwrap().admit(ask, Instant::now()),
        }))
    }

    fn report(&self, _: &CircuitName, outcome: Outcome) {
        self.circuit
            .lock()
            .unwrap()
            .report(&outcome, Instant::now());
    }
}

struct Worker {
    gate: Gate,
    payload: Payload,
}

const LIMITED: &str = "limits = { requests_per_minute = 60 }";
const HOUR: Duration = Duration::from_secs(3_600);

impl Worker {
    fn new(fleet: &Arc<Together>, more: &str) -> Self {
        Self::with(Arc::<Together>::clone(fleet), more)
    }

    fn with(fleet: Arc<dyn Fleet>, more: &str) -> Self {
        let config = format!(
            "provider = \"openai\"\nbase_url = \"http://api.example/v1\"\nmodel = \"m-1\"\n{more}"
        );
        let config: ProviderConfig = toml::from_str(&config).expect("well formed");
        let chance = Chance::system();
        let shared = Shared {
            fleet,
            ..Shared::new(Clock::system(), chance, Arc::new(()))
        };
        let connector = config.connect(|_| None, &shared).expect("complete");
        Self {
            payload: connector.build(&call(HOUR)),
            gate: Gate::new(&connector, &shared),
        }
    }

    async fn enter(&self) -> Result<Leave, Fault> {
        self.gate.enter(&call(HOUR), &self.payload).await
    }

    async fn attempts(&self, count: usize, ended: &Result<ModelAnswer, Fault>) {
        for _ in 0..count {
            self.enter().await.expect("leave").end(ended);
        }
    }

    async fn is_refused(&self) -> bool {
        matches!(self.enter().await, Err(Fault::CircuitOpen { .. }))
    }
}

fn call(limit: Duration) -> ModelCall {
    ModelCall::new(
        "r-1".parse().expect("valid"),
        "m-1".parse().expect("valid"),
        vec![Message::user("hello")],
        Instant::now() + limit,
    )
}

fn refused(status: u16, retry_after: Option<Duration>) -> Result<ModelAnswer, Fault> {
    Err(Fault::of_status(Refusal {
        status: HttpStatus(status),
        code: None,
        retry_after,
    }))
}

fn answered(total_tokens: u64) -> Result<ModelAnswer, Fault> {
    Ok(ModelAnswer {
        content: "hi".to_owned(),
        model: "m-1".parse().expect("valid"),
        usage: Usage {
            prompt_tokens: 1,
            completion_tokens: 1,
            total_tokens,
        },
        finish_reason: FinishReason::Stop,
        tool_calls: vec![],
        citations: vec![],
        metadata: serde_json::Map::new(),
        json: None,
    })
}

#[tokio::test(start_paused = true)]
async fn what_one_worker_learns_of_an_outage_spares_the_other_its_own_failures() {
    let fleet = Together::new();
    let (one, other) = (Worker::new(&fleet, ""), Worker::new(&fleet, ""));
    one.attempts(10, &refused(500, None)).await;
    assert!(one.is_refused().await && other.is_refused().await);
    // Known here from now on: nobody is asked again.
    let asked = fleet.asked();
    for _ in 0..100 {
        assert!(other.is_refused().await);
    }
    assert_eq!(fleet.asked(), asked);
    assert_eq!(other.gate.state(), BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn five_probes_are_made_by_all_workers_together_and_three_close_the_circuit_for_all() {
    let fleet = Together::new();
    let workers: Vec<_> = (0..10).map(|_| Worker::new(&fleet, "")).collect();
    workers[0].attempts(10, &refused(500, None)).await;
    assert!(workers[1].is_refused().await);
    advance(Duration::from_secs(10)).await;
    let entered = join_all(workers.iter().map(Worker::enter)).await;
    let probes: Vec<_> = entered.into_iter().filter_map(Result::ok).collect();
    assert_eq!(probes.len(), 5);
    assert_eq!(workers[1].gate.state(), BreakerState::HalfOpen);
    for probe in probes {
        probe.end(&answered(2));
    }
    advance(Duration::from_secs(1)).await;
    for worker in &workers {
        worker.attempts(1, &answered(2)).await;
        assert_eq!(worker.gate.state(), BreakerState::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_makes_room_for_another_workers() {
    let fleet = Together::new();
    let (one, other) = (Worker::new(&fleet, ""), Worker::new(&fleet, ""));
    one.attempts(10, &refused(500, None)).await;
    advance(Duration::from_secs(10)).await;
    for _ in 0..20 {
        drop(one.enter().await.expect("leave"));
    }
    other.attempts(3, &answered(2)).await;
    one.attempts(1, &answered(2)).await;
    assert_eq!(one.gate.state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_about_a_simulated_model() {
    let fleet = Together::new();
    let config: ProviderConfig = toml::from_str("provider = \"simulated\"").expect("well formed");
    let shared = Shared {
        fleet: Arc::<Together>::clone(&fleet),
        ..Shared::new(Clock::system(), Chance::system(), Arc::new(()))
    };
    let connector = config.connect(|_| None, &shared).expect("complete");
    let worker = Worker {
        payload: connector.build(&call(HOUR)),
        gate: Gate::new(&connector, &shared),
    };
    worker.attempts(10, &refused(500, None)).await;
    assert!(worker.is_refused().await, "it has a breaker of its own");
    assert_eq!(fleet.asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_loses_the_fleet_finds_out_for_itself() {
    let fleet = Together::new();
    let (one, other) = (Worker::new(&fleet, ""), Worker::new(&fleet, ""));
    one.attempts(10, &refused(500, None)).await;
    assert!(other.is_refused().await);
    fleet.away.store(true, Ordering::Relaxed);
    assert!(other.is_refused().await, "it is still known to be open");
    advance(Duration::from_secs(10)).await;
    let probes = join_all((0..8).map(|_| other.enter())).await;
    assert_eq!(probes.iter().filter(|it| it.is_ok()).count(), 5);
    for probe in probes.into_iter().flatten() {
        probe.end(&answered(2));
    }
    assert_eq!(other.gate.state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_one_worker_for_patience_is_left_alone_by_all() {
    let fleet = Together::new();
    let (one, other) = (Worker::new(&fleet, ""), Worker::new(&fleet, ""));
    let wish = Duration::from_secs(20);
    one.attempts(1, &refused(429, Some(wish))).await;
    let before = Instant::now();
    other.attempts(1, &answered(2)).await;
    let waited = before.elapsed();
    assert!(waited >= wish && waited <= wish.mul_f64(1.5), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_deadline_ends_the_call_at_once_and_says_so() {
    let fleet = Together::new();
    let worker = Worker::new(&fleet, "");
    let wish = Duration::from_secs(20);
    worker.attempts(1, &refused(503, Some(wish))).await;
    let before = Instant::now();
    let hurried = call(Duration::from_secs(5));
    let entered = worker.gate.enter(&hurried, &worker.payload).await;
    let fault = entered.expect_err("too late");
    assert_eq!(before.elapsed(), Duration::ZERO, "nobody waited");
    assert!(matches!(
        fault,
        Fault::Throttled {
            by: Throttle::RetryAfter,
            ..
        }
    ));
    assert_eq!(fault.code(), ErrorCode::IpcError);
    assert_eq!(fault.kind().as_str(), "rate_limited");
    assert_eq!(
        fault.to_string(),
        "calls to openai api.example m-1 wait another 20.0 s since the server asked to be left \
         alone, and the deadline is in 5.0 s"
    );
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_two_workers_waits_for_its_turn_and_no_minute_sees_more_than_the_limit() {
    let fleet = Together::new();
    let workers = [Worker::new(&fleet, LIMITED), Worker::new(&fleet, LIMITED)];
    let entered = join_all((0..200).map(async |turn| {
        workers[turn % 2].attempts(1, &answered(2)).await;
        Instant::now()
    }));
    let mut times = entered.await;
    times.sort();
    for (first, last) in times.iter().zip(&times[60..]) {
        let apart = last.duration_since(*first);
        assert!(
            apart >= Duration::from_secs(60),
            "{apart:?} between the first and the 61st"
        );
    }
    let took = times[199].duration_since(times[0]);
    assert!(took < Duration::from_secs(400), "{took:?} for 200 calls");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_shares_nothing_still_keeps_its_own_limits() {
    let worker = Worker::with(Arc::new(Alone::default()), LIMITED);
    let before = Instant::now();
    worker.attempts(6, &answered(2)).await;
    assert_eq!(before.elapsed(), Duration::ZERO);
    worker.attempts(1, &answered(2)).await;
    assert!(before.elapsed() >= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn tokens_are_taken_as_expected_and_settled_as_the_server_counts_them() {
    // Two thousand at once, about thirteen hundred of which a question and its answer take.
    let limited = "max_tokens = 1_250\nlimits = { tokens_per_minute = 20_000 }";
    let worker = Worker::with(Arc::new(Alone::default()), limited);
    let before = Instant::now();
    worker.attempts(20, &answered(100)).await;
    // Nineteen hundred of what was expected were not used, nineteen times.
    assert!(
        before.elapsed() < Duration::from_secs(5),
        "{:?}",
        before.elapsed()
    );
    worker.attempts(1, &answered(18_000 * 10)).await;
    let hurried = call(Duration::from_secs(300));
    let owed = worker.gate.enter(&hurried, &worker.payload).await;
    let fault = owed.expect_err("a debt of ten minutes");
    assert!(matches!(
        fault,
        Fault::Throttled {
            by: Throttle::Tokens,
            ..
        }
    ));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_waits_takes_nothing() {
    let worker = Worker::with(Arc::new(Alone::default()), LIMITED);
    worker.attempts(6, &answered(2)).await;
    for _ in 0..50 {
        let waiting = timeout(Duration::from_millis(5), worker.enter()).await;
        assert!(waiting.is_err(), "its turn comes in a second");
    }
    let before = Instant::now();
    worker.attempts(1, &answered(2)).await;
    assert!(before.elapsed() <= Duration::from_secs(2));
}

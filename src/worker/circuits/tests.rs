//! Workers over one store, and over one that is away, on a paused clock.

use std::{
    future::pending,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::time::advance;

use super::*;
use crate::{
    circuit::{BreakerRules, BreakerState, PassId, RateLimits, Standing, Throttle, Throttled},
    clock::{Chance, Clock, WallTime},
    store::twin::{Fault, Op, StoreTwin},
};

/// A twin that counts questions and can fall silent.
#[derive(Clone)]
struct Store {
    twin: StoreTwin,
    clock: Clock,
    asked: Arc<AtomicUsize>,
    silent: Arc<AtomicBool>,
}

impl Store {
    fn new() -> Self {
        let clock = Clock::manual(WallTime::from_unix_millis(1_000_000));
        Self {
            twin: StoreTwin::new(clock.clone()),
            clock,
            asked: Arc::default(),
            silent: Arc::default(),
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    fn fall_silent(&self, silent: bool) {
        self.silent.store(silent, Ordering::Relaxed);
    }

    async fn pass(&self, by: Duration) {
        self.clock.advance(by);
        advance(by).await;
    }

    async fn answer(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.silent.load(Ordering::Relaxed) {
            pending().await
        }
    }
}

impl Circuits for Store {
    async fn admit(&self, circuit: &CircuitName, ask: &Ask) -> Result<Admission, StoreFault> {
        self.answer().await;
        self.twin.admit(circuit, ask).await
    }

    async fn report(
        &self,
        circuit: &CircuitName,
        outcome: &Outcome,
    ) -> Result<Admission, StoreFault> {
        self.answer().await;
        self.twin.report(circuit, outcome).await
    }
}

struct Worker {
    circuits: FleetCircuits<Store>,
    metrics: Metrics,
    name: CircuitName,
    chance: Chance,
}

impl Worker {
    fn new(store: &Store) -> Self {
        let metrics = Metrics::new([]);
        let (circuits, telling) = FleetCircuits::new(store.clone(), metrics.clone());
        tokio::spawn(telling);
        Self {
            circuits,
            metrics,
            name: CircuitName::new("openai", "api.example", "m-1"),
            chance: Chance::system(),
        }
    }

    fn ask(&self, requests: u32) -> Ask {
        Ask {
            pass: PassId::fresh(&self.chance),
            rules: BreakerRules::default(),
            limits: RateLimits {
                requests_per_minute: requests.try_into().ok(),
                tokens_per_minute: None,
            },
            tokens: 0,
        }
    }

    async fn admit(&self) -> Admission {
        self.circuits.admit(&self.name, &self.ask(0)).await
    }

    async fn attempt(&self, ended: Ended, retry_after: Option<Duration>) {
        let ask = self.ask(0);
        let admission = self.circuits.admit(&self.name, &ask).await;
        let Admission::Admitted(standing) = admission else {
            panic!("not admitted: {admission:?}");
        };
        let outcome = Outcome {
            pass: ask.pass,
            generation: standing.map(|it| it.generation),
            rules: ask.rules,
            ended,
            retry_after,
            spent: Spent::Unknown,
        };
        self.circuits.report(&self.name, outcome);
    }

    fn went_alone(&self) -> bool {
        self.metrics
            .render()
            .contains("puruto_circuits_alone_total 1")
    }
}

/// Lets the tasks that tell the store do so.
async fn told() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

const CLOSED: fn(&Admission) -> bool = |admission| {
    matches!(
        admission,
        Admission::Admitted(Some(Standing {
            state: BreakerState::Closed,
            ..
        }))
    )
};

#[tokio::test(start_paused = true)]
async fn a_busy_worker_asks_a_few_times_a_second_while_all_is_well() {
    let store = Store::new();
    let worker = Worker::new(&store);
    for _ in 0..100 {
        assert!(CLOSED(&worker.admit().await));
        store.pass(Duration::from_millis(10)).await;
    }
    assert!(store.asked() <= 5, "{}", store.asked());
}

#[tokio::test(start_paused = true)]
async fn what_one_worker_tells_the_other_hears_when_it_asks_next() {
    let store = Store::new();
    let (one, other) = (Worker::new(&store), Worker::new(&store));
    assert!(CLOSED(&other.admit().await));
    for _ in 0..10 {
        one.attempt(Ended::Failure, None).await;
    }
    told().await;
    store.pass(Duration::from_millis(250)).await;
    for worker in [&one, &other] {
        let Admission::Refused(refusal) = worker.admit().await else {
            panic!("let through");
        };
        assert_eq!(refusal.failed_percent, 100);
        let asked = store.asked();
        worker.admit().await;
        assert_eq!(store.asked(), asked, "it is known until when");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wish_of_the_server_is_known_to_all_and_asked_for_once() {
    let store = Store::new();
    let (one, other) = (Worker::new(&store), Worker::new(&store));
    let wish = Duration::from_secs(20);
    one.attempt(Ended::Success, Some(wish)).await;
    told().await;
    for worker in [&one, &other] {
        let Admission::Throttled(throttled) = worker.admit().await else {
            panic!("let through");
        };
        let (by, wait) = (Throttle::RetryAfter, wish);
        assert_eq!(throttled, Throttled { wait, by });
    }
    store.pass(wish).await;
    assert!(CLOSED(&other.admit().await));
}

#[tokio::test(start_paused = true)]
async fn of_all_who_wait_for_a_limit_one_asks_for_the_next_turn() {
    let store = Store::new();
    let worker = Worker::new(&store);
    for turn in 1..=5 {
        let taken = worker.circuits.admit(&worker.name, &worker.ask(10)).await;
        assert!(CLOSED(&taken), "{taken:?}");
        for _ in 0..100 {
            let later = worker.circuits.admit(&worker.name, &worker.ask(10)).await;
            assert!(matches!(later, Admission::Throttled(_)));
        }
        assert_eq!(store.asked(), turn * 2);
        store.pass(Duration::from_secs(6)).await;
    }
    assert!(
        CLOSED(&worker.admit().await),
        "who has no limit does not wait"
    );
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_silent_costs_one_call_a_moment_and_the_others_nothing() {
    let store = Store::new();
    let worker = Worker::new(&store);
    store.fall_silent(true);
    let before = Instant::now();
    assert_eq!(worker.admit().await, Admission::Admitted(None));
    assert_eq!(before.elapsed(), ANSWER_WITHIN);
    let before = Instant::now();
    for _ in 0..1_000 {
        assert_eq!(worker.admit().await, Admission::Admitted(None));
    }
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert!(store.asked() <= 2, "{}", store.asked());
    assert!(worker.went_alone());
    told().await;
    store.fall_silent(false);
    store.pass(ALONE_FOR * 3).await;
    told().await;
    assert!(CLOSED(&worker.admit().await), "it is asked again");
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_its_store_keeps_its_limits_and_the_servers_wishes_to_itself() {
    let store = Store::new();
    let worker = Worker::new(&store);
    store.fall_silent(true);
    worker
        .attempt(Ended::Success, Some(Duration::from_secs(9)))
        .await;
    assert!(matches!(worker.admit().await, Admission::Throttled(_)));
    store.pass(Duration::from_secs(9)).await;
    for _ in 0..6 {
        let taken = worker.circuits.admit(&worker.name, &worker.ask(60)).await;
        assert_eq!(taken, Admission::Admitted(None));
    }
    let seventh = worker.circuits.admit(&worker.name, &worker.ask(60)).await;
    assert!(matches!(seventh, Admission::Throttled(_)));
}

#[tokio::test(start_paused = true)]
async fn leave_that_was_given_to_nobody_is_given_back() {
    let store = Store::new();
    let (one, other) = (Worker::new(&store), Worker::new(&store));
    // One request at once. The store counts it and its answer is lost.
    store.twin.fail_next(Op::CircuitAdmit, Fault::AfterEffect);
    let lost = one.circuits.admit(&one.name, &one.ask(10)).await;
    assert_eq!(lost, Admission::Admitted(None), "by its own limits");
    let taken = other.circuits.admit(&other.name, &other.ask(10)).await;
    assert!(matches!(taken, Admission::Throttled(_)));
    // No time passes for the store.
    sleep(ALONE_FOR * 2).await;
    let third = Worker::new(&store);
    let free = third.circuits.admit(&third.name, &third.ask(10)).await;
    assert!(CLOSED(&free), "{free:?}");
}

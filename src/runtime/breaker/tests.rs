//! The breaker's rules, row by row, and that each change is told.

use std::time::Duration;

use super::*;
use crate::runtime::{
    ModelName,
    observe::{CallDone, Validation},
};

#[derive(Debug, Default)]
struct Log(Mutex<Vec<BreakerState>>);

impl Observe for Log {
    fn request_done(&self, _: &CallDone<'_>) {}
    fn retried(&self, _: &ModelName, _: &'static str) {}
    fn failed_over(&self, _: &ModelName, _: &'static str) {}
    fn validated(&self, _: Validation) {}

    fn circuit(&self, circuit: &CircuitName, state: BreakerState) {
        assert_eq!(circuit.as_str(), "openai api.example m-1");
        self.0.lock().unwrap().push(state);
    }
}

struct Circuit {
    breaker: Breaker,
    log: Arc<Log>,
}

impl Circuit {
    fn new() -> Self {
        let log = Arc::new(Log::default());
        let name = CircuitName::new("openai", "api.example", "m-1");
        let observe = Arc::clone(&log) as Arc<dyn Observe>;
        let breaker = Breaker::new(name, BreakerRules::default(), observe);
        Self { breaker, log }
    }

    fn attempts(&self, count: usize, ended: Ended) {
        for _ in 0..count {
            self.breaker.admit().expect("leave").end(ended);
        }
    }

    fn opened() -> Self {
        let circuit = Self::new();
        circuit.attempts(10, Ended::Failure);
        assert_eq!(circuit.breaker.state(), BreakerState::Open);
        circuit
    }

    fn probes(&self, count: usize) -> Vec<Ticket> {
        (0..count)
            .map(|_| self.breaker.admit().expect("leave"))
            .collect()
    }

    fn states(&self) -> Vec<BreakerState> {
        self.log.0.lock().unwrap().clone()
    }
}

async fn seconds(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn more_than_half_of_at_least_ten_attempts_open_it() {
    for (succeeded, failed, state) in [
        (0, 9, BreakerState::Closed),
        (5, 5, BreakerState::Closed),
        (4, 6, BreakerState::Open),
        (0, 10, BreakerState::Open),
        (50, 50, BreakerState::Closed),
        (50, 51, BreakerState::Open),
    ] {
        let circuit = Circuit::new();
        circuit.attempts(succeeded, Ended::Success);
        circuit.attempts(failed, Ended::Failure);
        let told = format!("{succeeded} succeeded, {failed} failed");
        assert_eq!(circuit.breaker.state(), state, "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_older_than_ten_seconds_does_not_count() {
    let circuit = Circuit::new();
    circuit.attempts(9, Ended::Failure);
    seconds(11).await;
    circuit.attempts(9, Ended::Failure);
    assert_eq!(circuit.breaker.state(), BreakerState::Closed);
    seconds(9).await;
    circuit.attempts(1, Ended::Failure);
    assert_eq!(circuit.breaker.state(), BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn what_says_nothing_about_the_server_does_not_count() {
    let circuit = Circuit::new();
    circuit.attempts(100, Ended::Neutral);
    drop(circuit.probes(100));
    circuit.attempts(9, Ended::Failure);
    assert_eq!(circuit.breaker.state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn an_open_one_fails_fast_for_ten_seconds_and_says_until_when() {
    let circuit = Circuit::opened();
    let refused = circuit.breaker.admit().unwrap_err();
    assert!(refused.to_string().contains("another 10.0 s"), "{refused}");
    tokio::time::advance(Duration::from_millis(9_999)).await;
    assert!(circuit.breaker.admit().is_err());
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(circuit.breaker.admit().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_half_open_one_lets_five_through_and_no_sixth() {
    let circuit = Circuit::opened();
    seconds(10).await;
    let probes = circuit.probes(5);
    let refused = circuit.breaker.admit().unwrap_err();
    // The first of them has ended by then.
    assert!(refused.to_string().contains("another 120.0 s"), "{refused}");
    assert_eq!(probes.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn three_of_five_decide() {
    let decided = [
        (Ended::Success, BreakerState::Closed),
        (Ended::Failure, BreakerState::Open),
    ];
    for (ended, state) in decided {
        let circuit = Circuit::opened();
        seconds(10).await;
        let other = match ended {
            Ended::Success => Ended::Failure,
            Ended::Failure | Ended::Neutral => Ended::Success,
        };
        circuit.attempts(2, other);
        assert_eq!(circuit.breaker.state(), BreakerState::HalfOpen);
        circuit.attempts(3, ended);
        assert_eq!(circuit.breaker.state(), state);
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_makes_room_for_another() {
    let circuit = Circuit::opened();
    seconds(10).await;
    for _ in 0..100 {
        drop(circuit.probes(5));
    }
    circuit.attempts(3, Ended::Success);
    assert_eq!(circuit.breaker.state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_has_failed_when_its_lease_ends() {
    let circuit = Circuit::opened();
    seconds(10).await;
    let hanging = circuit.probes(3);
    seconds(120).await;
    assert!(circuit.breaker.admit().is_err());
    assert_eq!(circuit.breaker.state(), BreakerState::Open);
    seconds(10).await;
    // Too late to say anything about the new probes.
    hanging.into_iter().for_each(|it| it.end(Ended::Success));
    assert_eq!(circuit.probes(5).len(), 5);
}

#[tokio::test(start_paused = true)]
async fn what_began_before_it_opened_says_nothing_when_it_ends() {
    let circuit = Circuit::new();
    let early = circuit.probes(20);
    circuit.attempts(10, Ended::Failure);
    seconds(10).await;
    early.into_iter().for_each(|it| it.end(Ended::Failure));
    circuit.attempts(3, Ended::Success);
    assert_eq!(circuit.breaker.state(), BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn each_change_is_told_once() {
    let circuit = Circuit::opened();
    seconds(10).await;
    circuit.attempts(3, Ended::Success);
    let expected = [
        BreakerState::Closed,
        BreakerState::Open,
        BreakerState::HalfOpen,
        BreakerState::Closed,
    ];
    assert_eq!(circuit.states(), expected);
}

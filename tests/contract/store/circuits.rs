//! What a fleet shares of the model servers that it calls.

use std::{collections::HashSet, time::Duration};

use puruto_fleet::{
    circuit::{
        Admission, Ask, BreakerRules, BreakerState, CircuitName, Ended, Generation, Outcome,
        PassId, RateLimits, Refusal, Spent, Standing, Throttle, Throttled,
    },
    clock::Chance,
    store::Circuits,
};
use tokio::time::sleep;

use super::world::World;

/// One circuit and the attempts at it.
pub(super) struct Circuit<'s, S> {
    store: &'s S,
    name: CircuitName,
    rules: BreakerRules,
    chance: Chance,
}

impl<'s, S: Circuits> Circuit<'s, S> {
    fn new(store: &'s S) -> Self {
        Self {
            store,
            name: CircuitName::new("openai", "api.example:443", "m-1"),
            rules: BreakerRules::default(),
            chance: Chance::system(),
        }
    }

    /// One that stays open for a moment only, and whose probes have a short lease.
    pub(super) fn quick(store: &'s S) -> Self {
        Self {
            rules: BreakerRules {
                open_for: Duration::from_millis(300),
                probe_lease: Duration::from_secs(2),
                ..BreakerRules::default()
            },
            ..Self::new(store)
        }
    }

    pub(super) fn ask(&self) -> Ask {
        Ask {
            pass: PassId::fresh(&self.chance),
            rules: self.rules,
            limits: RateLimits::NONE,
            tokens: 0,
        }
    }

    async fn admit(&self, ask: &Ask) -> Admission {
        self.store.admit(&self.name, ask).await.expect("an answer")
    }

    pub(super) async fn admitted(&self, ask: &Ask) -> Standing {
        match self.admit(ask).await {
            Admission::Admitted(Some(standing)) => standing,
            other => panic!("not admitted: {other:?}"),
        }
    }

    async fn refused(&self) -> Refusal {
        match self.admit(&self.ask()).await {
            Admission::Refused(refusal) => refusal,
            other => panic!("not refused: {other:?}"),
        }
    }

    async fn throttled(&self, ask: &Ask) -> Throttled {
        match self.admit(ask).await {
            Admission::Throttled(throttled) => throttled,
            other => panic!("not throttled: {other:?}"),
        }
    }

    pub(super) async fn tell(&self, outcome: &Outcome) -> Admission {
        let told = self.store.report(&self.name, outcome).await;
        told.expect("an answer")
    }

    pub(super) fn outcome(&self, pass: PassId, standing: Standing, ended: Ended) -> Outcome {
        Outcome {
            pass,
            generation: Some(standing.generation),
            rules: self.rules,
            ended,
            retry_after: None,
            spent: Spent::Unknown,
        }
    }

    /// An attempt from its leave to its end.
    async fn attempt(&self, ended: Ended) -> Admission {
        let ask = self.ask();
        let standing = self.admitted(&ask).await;
        self.tell(&self.outcome(ask.pass, standing, ended)).await
    }

    async fn attempts(&self, count: usize, ended: Ended) {
        for _ in 0..count {
            self.attempt(ended).await;
        }
    }

    /// Fails until it opens and waits until it may be tried.
    pub(super) async fn half_opened(&self) {
        let mut failures = 0;
        while !matches!(self.attempt(Ended::Failure).await, Admission::Refused(_)) {
            failures += 1;
            assert!(failures < 10, "it does not open");
        }
        sleep(self.rules.open_for * 2).await;
    }

    pub(super) async fn probes(&self, count: usize) -> Vec<(PassId, Standing)> {
        let mut probes = Vec::new();
        for _ in 0..count {
            let ask = self.ask();
            let standing = self.admitted(&ask).await;
            assert_eq!(standing.state, BreakerState::HalfOpen);
            probes.push((ask.pass, standing));
        }
        probes
    }
}

fn state_of(admission: Admission) -> BreakerState {
    match admission {
        Admission::Admitted(Some(standing)) => standing.state,
        Admission::Refused(refusal) => refusal.state,
        other => panic!("no state: {other:?}"),
    }
}

pub(super) fn limits(requests: u32, tokens: u32) -> RateLimits {
    RateLimits {
        requests_per_minute: requests.try_into().ok(),
        tokens_per_minute: tokens.try_into().ok(),
    }
}

pub(super) async fn more_than_half_of_at_least_ten_attempts_open_a_circuit(world: &impl World) {
    for (succeeded, failed, state) in [
        (0, 9, BreakerState::Closed),
        (5, 5, BreakerState::Closed),
        (4, 6, BreakerState::Open),
    ] {
        world.empty().await;
        let circuit = Circuit::new(world.store());
        circuit.attempts(succeeded, Ended::Success).await;
        circuit.attempts(20, Ended::Neutral).await;
        circuit.attempts(failed - 1, Ended::Failure).await;
        let stands = state_of(circuit.attempt(Ended::Failure).await);
        assert_eq!(stands, state, "{succeeded} succeeded, {failed} failed");
    }
    let refusal = Circuit::new(world.store()).refused().await;
    assert_eq!(refusal.failed_percent, 60);
    assert!(refusal.retry_in <= Duration::from_secs(10));
    assert!(refusal.retry_in > Duration::from_secs(1), "{refusal:?}");
}

pub(super) async fn five_probes_are_let_through_and_no_sixth(world: &impl World) {
    let circuit = Circuit::quick(world.store());
    circuit.half_opened().await;
    circuit.probes(5).await;
    assert_eq!(circuit.refused().await.state, BreakerState::HalfOpen);
}

pub(super) async fn three_probes_decide(world: &impl World) {
    for (ended, state) in [
        (Ended::Success, BreakerState::Closed),
        (Ended::Failure, BreakerState::Open),
    ] {
        world.empty().await;
        let circuit = Circuit::quick(world.store());
        circuit.half_opened().await;
        circuit.attempts(2, ended).await;
        assert_eq!(state_of(circuit.attempt(ended).await), state);
    }
}

pub(super) async fn a_neutral_probe_makes_room_for_another(world: &impl World) {
    let circuit = Circuit::quick(world.store());
    circuit.half_opened().await;
    circuit.attempts(20, Ended::Neutral).await;
    circuit.attempts(2, Ended::Success).await;
    let closed = circuit.attempt(Ended::Success).await;
    assert_eq!(state_of(closed), BreakerState::Closed);
}

pub(super) async fn probes_of_a_worker_that_died_have_failed_when_their_lease_ends(
    world: &impl World,
) {
    let circuit = Circuit::quick(world.store());
    circuit.half_opened().await;
    let dead = circuit.probes(3).await;
    sleep(circuit.rules.probe_lease * 2).await;
    assert_eq!(circuit.refused().await.state, BreakerState::Open);
    sleep(circuit.rules.open_for * 2).await;
    // Too late to say anything about the new probes.
    for (pass, standing) in dead {
        let late = circuit.outcome(pass, standing, Ended::Success);
        assert_eq!(state_of(circuit.tell(&late).await), BreakerState::HalfOpen);
    }
    circuit.probes(5).await;
}

pub(super) async fn what_began_before_it_opened_says_nothing_when_it_ends(world: &impl World) {
    let circuit = Circuit::quick(world.store());
    let early = circuit.ask();
    let standing = circuit.admitted(&early).await;
    circuit.half_opened().await;
    circuit.attempts(3, Ended::Success).await;
    circuit.attempts(9, Ended::Failure).await;
    let late = circuit.outcome(early.pass, standing, Ended::Failure);
    assert_eq!(state_of(circuit.tell(&late).await), BreakerState::Closed);
}

pub(super) async fn an_end_that_is_told_twice_counts_once(world: &impl World) {
    let circuit = Circuit::new(world.store());
    let ask = circuit.ask();
    let standing = circuit.admitted(&ask).await;
    let failed = circuit.outcome(ask.pass, standing, Ended::Failure);
    for _ in 0..20 {
        assert_eq!(state_of(circuit.tell(&failed).await), BreakerState::Closed);
    }
}

pub(super) async fn every_life_of_a_circuit_has_its_own_generation(world: &impl World) {
    let circuit = Circuit::quick(world.store());
    let mut generations: HashSet<u64> = HashSet::new();
    for _ in 0..3 {
        let Standing { generation, .. } = circuit.admitted(&circuit.ask()).await;
        let Generation(generation) = generation;
        assert!(generations.insert(generation), "seen before");
        circuit.half_opened().await;
        let probes = circuit.probes(3).await;
        for (pass, standing) in probes {
            generations.insert(standing.generation.0);
            let well = circuit.outcome(pass, standing, Ended::Success);
            circuit.tell(&well).await;
        }
    }
    assert_eq!(generations.len(), 6, "three closed, three half-open");
}

pub(super) async fn a_servers_wish_is_everybodys(world: &impl World) {
    let circuit = Circuit::new(world.store());
    let ask = circuit.ask();
    let standing = circuit.admitted(&ask).await;
    let wish = Duration::from_millis(1_500);
    let limited = Outcome {
        retry_after: Some(wish),
        ..circuit.outcome(ask.pass, standing, Ended::Success)
    };
    circuit.tell(&limited).await;
    let throttled = circuit.throttled(&circuit.ask()).await;
    assert_eq!(throttled.by, Throttle::RetryAfter);
    assert!(throttled.wait <= wish, "{throttled:?}");
    sleep(wish).await;
    circuit.admitted(&circuit.ask()).await;
}

pub(super) async fn a_call_takes_from_every_limit_or_from_none(world: &impl World) {
    let circuit = Circuit::new(world.store());
    // Two requests at once, and a hundred tokens.
    let ask = |tokens| Ask {
        limits: limits(20, 1_000),
        tokens,
        ..circuit.ask()
    };
    circuit.admitted(&ask(60)).await;
    for _ in 0..5 {
        let throttled = circuit.throttled(&ask(100)).await;
        assert_eq!(throttled.by, Throttle::Tokens);
        assert!(throttled.wait <= Duration::from_secs(5), "{throttled:?}");
    }
    // Those that were turned away took no request.
    circuit.admitted(&ask(1)).await;
    assert_eq!(circuit.throttled(&ask(1)).await.by, Throttle::Requests);
}

pub(super) async fn a_pass_that_asks_again_takes_nothing_more(world: &impl World) {
    let circuit = Circuit::new(world.store());
    let ask = Ask {
        limits: limits(10, 0),
        ..circuit.ask()
    };
    let standing = circuit.admitted(&ask).await;
    for _ in 0..3 {
        assert_eq!(circuit.admitted(&ask).await, standing);
    }
}

pub(super) async fn what_was_not_spent_is_given_back_and_what_was_spent_beyond_is_owed(
    world: &impl World,
) {
    let circuit = Circuit::new(world.store());
    // A hundred tokens at once, and one request.
    let ask = |tokens| Ask {
        limits: limits(1, 1_000),
        tokens,
        ..circuit.ask()
    };
    let told = async |ask: &Ask, spent| {
        let standing = circuit.admitted(ask).await;
        let outcome = circuit.outcome(ask.pass, standing, Ended::Success);
        circuit.tell(&Outcome { spent, ..outcome }).await;
    };
    // More than there ever is takes all there is.
    for _ in 0..3 {
        told(&ask(5_000), Spent::Unsent).await;
    }
    let limits = limits(0, 1_000);
    let tokens = |tokens| Ask {
        limits,
        ..ask(tokens)
    };
    told(&tokens(60), Spent::Tokens(2)).await;
    told(&tokens(60), Spent::Tokens(2)).await;
    told(&tokens(60), Spent::Tokens(100_000)).await;
    let owed = circuit.throttled(&tokens(1)).await;
    assert!(owed.wait > Duration::from_secs(3_600), "{owed:?}");
}

pub(super) async fn a_hundred_that_ask_at_once_share_what_there_is(world: &impl World) {
    let circuit = Circuit::new(world.store());
    let asks: Vec<Ask> = (0..100)
        .map(|_| Ask {
            limits: limits(60, 0),
            ..circuit.ask()
        })
        .collect();
    let asking = asks.iter().map(|ask| circuit.admit(ask));
    let answers = futures_util::future::join_all(asking).await;
    let admitted = |it: &&Admission| matches!(it, Admission::Admitted(_));
    let admitted = answers.iter().filter(admitted).count();
    // Six at once; another comes each second.
    assert!((6..=30).contains(&admitted), "{admitted}");
}

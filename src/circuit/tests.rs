//! That nothing can wedge a circuit, one process's or a fleet's.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::*;
use crate::clock::Chance;

/// What can happen to a breaker.
#[derive(Clone, Debug)]
enum Event {
    Ask,
    End(usize, Ended),
    Adopt(BreakerState),
    Pass(Duration),
}

fn ended() -> impl Strategy<Value = Ended> {
    prop_oneof![
        Just(Ended::Success),
        Just(Ended::Failure),
        Just(Ended::Neutral)
    ]
}

fn passing() -> impl Strategy<Value = Duration> {
    (0..30_000u64).prop_map(Duration::from_millis)
}

fn event() -> impl Strategy<Value = Event> {
    let state = prop_oneof![
        Just(BreakerState::Closed),
        Just(BreakerState::Open),
        Just(BreakerState::HalfOpen)
    ];
    prop_oneof![
        10 => Just(Event::Ask),
        8 => (any::<usize>(), ended()).prop_map(|(which, ended)| Event::End(which, ended)),
        1 => state.prop_map(Event::Adopt),
        2 => passing().prop_map(Event::Pass),
    ]
}

/// Another one says where the circuit stands.
fn adopt(machine: &mut Machine, state: BreakerState, now: Instant) {
    match state {
        BreakerState::Closed | BreakerState::HalfOpen => machine.adopt(state, now),
        BreakerState::Open => machine.adopt_refusal(
            Refusal {
                state,
                retry_in: Duration::from_secs(10),
                failed_percent: 100,
            },
            now,
        ),
    };
}

proptest! {
    /// Whatever happens: never more than five probes decide, and with time and good attempts it
    /// closes again.
    #[test]
    fn no_schedule_wedges_it_or_lets_a_sixth_probe_in(events in prop::collection::vec(event(), 0..400)) {
        let rules = BreakerRules::default();
        let mut now = Instant::now();
        let mut machine = Machine::new(rules, now);
        let mut out = Vec::new();
        for event in events {
            match event {
                Event::Ask => match machine.admit(now).0 {
                    Ok(pass) => out.push(pass),
                    Err(_) => prop_assert_ne!(machine.state(), BreakerState::Closed),
                },
                Event::End(_, _) if out.is_empty() => {}
                Event::End(which, ended) => {
                    let pass = out.swap_remove(which % out.len());
                    machine.ended(pass, ended, now);
                }
                Event::Adopt(state) => adopt(&mut machine, state, now),
                Event::Pass(by) => now += by,
            }
            prop_assert!(machine.probes() <= rules.probes);
        }
        machine.let_go();
        now += rules.probe_lease + rules.open_for * 2;
        for _ in 0..rules.probes {
            let mut leave = machine.admit(now).0;
            if leave.is_err() {
                now += rules.open_for;
                leave = machine.admit(now).0;
            }
            let pass = leave.expect("leave after all that time");
            machine.ended(pass, Ended::Success, now);
        }
        prop_assert_eq!(machine.state(), BreakerState::Closed);
    }
}

/// What can happen to a circuit that a fleet shares.
#[derive(Clone, Debug)]
enum Shared {
    Ask,
    /// An attempt ends, and is told once or twice.
    End(usize, Ended, bool),
    /// A worker dies with its attempt.
    Die(usize),
    Pass(Duration),
}

fn shared() -> impl Strategy<Value = Shared> {
    prop_oneof![
        10 => Just(Shared::Ask),
        8 => (any::<usize>(), ended(), any::<bool>())
            .prop_map(|(which, ended, twice)| Shared::End(which, ended, twice)),
        1 => any::<usize>().prop_map(Shared::Die),
        2 => passing().prop_map(Shared::Pass),
    ]
}

fn ask(chance: &Chance) -> Ask {
    Ask {
        pass: PassId::fresh(chance),
        rules: BreakerRules::default(),
        limits: RateLimits::default(),
        tokens: 0,
    }
}

fn outcome(pass: PassId, generation: Generation, ended: Ended) -> Outcome {
    Outcome {
        pass,
        generation: Some(generation),
        rules: BreakerRules::default(),
        ended,
        retry_after: None,
        spent: Spent::Unknown,
    }
}

proptest! {
    /// Whatever workers do, also if they die: never more than five attempts are out at a server
    /// that is being tried, and with time and good attempts its circuit closes again.
    #[test]
    fn no_schedule_wedges_a_fleets_circuit_or_lets_a_sixth_probe_in(
        events in prop::collection::vec(shared(), 0..400),
        seed in any::<u64>(),
    ) {
        let (rules, chance) = (BreakerRules::default(), Chance::seeded(seed));
        let mut now = Instant::now();
        let mut circuit = FleetCircuit::new(rules, now);
        // Each attempt that is out with its circuit's life, and whether it is a probe until when.
        let mut out: Vec<(PassId, Standing, Instant)> = Vec::new();
        for event in events {
            match event {
                Shared::Ask => {
                    let ask = ask(&chance);
                    if let Admission::Admitted(Some(standing)) = circuit.admit(&ask, now) {
                        out.push((ask.pass, standing, now + rules.probe_lease));
                    }
                }
                Shared::End(..) | Shared::Die(_) if out.is_empty() => {}
                Shared::End(which, ended, twice) => {
                    let (pass, standing, _) = out.swap_remove(which % out.len());
                    let outcome = outcome(pass, standing.generation, ended);
                    circuit.report(&outcome, now);
                    if twice {
                        circuit.report(&outcome, now);
                    }
                }
                Shared::Die(which) => {
                    out.swap_remove(which % out.len());
                }
                Shared::Pass(by) => now += by,
            }
            let is_probe = |(_, standing, lease): &&(PassId, Standing, Instant)| {
                standing.state == BreakerState::HalfOpen
                    && standing.generation == circuit.generation()
                    && *lease > now
            };
            prop_assert!(out.iter().filter(is_probe).count() <= 5);
        }
        now += rules.probe_lease + rules.open_for * 2;
        let mut closed = false;
        for _ in 0..20 {
            let ask = ask(&chance);
            match circuit.admit(&ask, now) {
                Admission::Admitted(Some(standing)) => {
                    closed = standing.state == BreakerState::Closed;
                    circuit.report(&outcome(ask.pass, standing.generation, Ended::Success), now);
                }
                Admission::Refused(refusal) => now += refusal.retry_in,
                other => prop_assert!(false, "{other:?}"),
            }
        }
        prop_assert!(closed);
    }
}

fn limits(requests: u32, tokens: u32) -> RateLimits {
    RateLimits {
        requests_per_minute: requests.try_into().ok(),
        tokens_per_minute: tokens.try_into().ok(),
    }
}

#[test]
fn a_call_takes_from_every_limit_or_from_none() {
    let (chance, now) = (Chance::seeded(1), Instant::now());
    let mut meter = Meter::default();
    // Ten requests at once and a hundred tokens.
    let both = limits(100, 1_000);
    let mut take = |tokens| meter.take(PassId::fresh(&chance), both, tokens, now);
    assert_eq!(take(60), Ok(()));
    for _ in 0..100 {
        let throttled = take(60).expect_err("the tokens are not there");
        assert_eq!(throttled.by, Throttle::Tokens);
    }
    // Those that were turned away took no request either.
    for _ in 0..9 {
        assert_eq!(take(4), Ok(()));
    }
    assert_eq!(take(4).expect_err("the requests").by, Throttle::Requests);
}

#[test]
fn what_was_not_spent_is_given_back_and_what_was_spent_beyond_is_owed() {
    let (chance, now) = (Chance::seeded(1), Instant::now());
    let tokens = limits(0, 1_000);
    for (spent, left) in [
        (Spent::Unsent, 100),
        (Spent::Unknown, 40),
        (Spent::Tokens(10), 90),
        (Spent::Tokens(100), 0),
    ] {
        let mut meter = Meter::default();
        let pass = PassId::fresh(&chance);
        assert_eq!(meter.take(pass, tokens, 60, now), Ok(()));
        // Asked again, and told twice.
        assert_eq!(meter.take(pass, tokens, 60, now), Ok(()));
        meter.settle(pass, spent);
        meter.settle(pass, spent);
        let mut take = |wanted| meter.take(PassId::fresh(&chance), tokens, wanted, now);
        if left < 100 {
            assert!(take(left + 1).is_err(), "{spent:?}");
        }
        assert_eq!(take(left), Ok(()), "{spent:?}");
        assert!(take(1).is_err(), "{spent:?}");
    }
    let mut meter = Meter::default();
    let pass = PassId::fresh(&chance);
    assert_eq!(meter.take(pass, tokens, 60, now), Ok(()));
    meter.settle(pass, Spent::Tokens(100 + 901));
    let owed = meter.take(PassId::fresh(&chance), tokens, 1, now);
    assert_eq!(owed.expect_err("a debt").wait.as_secs(), 60);
}

#[test]
fn a_servers_wish_is_kept_the_longest_one_and_within_reason() {
    let (chance, now) = (Chance::seeded(1), Instant::now());
    let mut meter = Meter::default();
    let mut waits = |wish| {
        meter.hold(wish, now);
        let take = meter.take(PassId::fresh(&chance), RateLimits::default(), 0, now);
        take.expect_err("held").wait
    };
    assert_eq!(waits(Duration::from_secs(20)).as_secs(), 20);
    assert_eq!(waits(Duration::from_secs(5)).as_secs(), 20);
    assert_eq!(waits(Duration::MAX).as_secs(), 600);
}

//! What a circuit leaves behind in the data set.

use std::collections::BTreeSet;

use puruto_fleet::circuit::{Ask, Ended, Outcome, Spent};

use crate::store::{
    circuits::{Circuit, limits},
    world::{RedisWorld, World as _},
};

const HOURS_3_MS: i64 = 3 * 60 * 60 * 1000;

#[tokio::test]
async fn every_key_of_a_circuit_lies_in_one_slot_and_ends_by_itself() {
    let world = RedisWorld::start().await;
    let circuit = Circuit::quick(world.store());
    let limited = || Ask {
        limits: limits(1_000, 1_000),
        tokens: 10,
        ..circuit.ask()
    };
    let (out, ended) = (limited(), limited());
    circuit.admitted(&out).await;
    let standing = circuit.admitted(&ended).await;
    let outcome = circuit.outcome(ended.pass, standing, Ended::Success);
    let spent = Spent::Tokens(20);
    circuit.tell(&Outcome { spent, ..outcome }).await;
    let mut kinds = kinds(&world).await;
    circuit.half_opened().await;
    circuit.probes(1).await;
    kinds.extend(self::kinds(&world).await);
    let expected = ["circuit", "pass", "probes", "told", "window"];
    assert_eq!(kinds, expected.map(str::to_owned).into());
}

/// The kinds of all keys, each of which has an end and the same slot as the others.
async fn kinds(world: &RedisWorld) -> BTreeSet<String> {
    let keys: Vec<String> = world.command(&["KEYS", "*"]).await;
    let mut slots = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    for key in &keys {
        let left: i64 = world.command(&["PTTL", key]).await;
        assert!((1..HOURS_3_MS).contains(&left), "{key}: {left}");
        let (slot, rest) = key.split_once("}:").expect("a hash tag");
        slots.insert(slot.to_owned());
        kinds.insert(rest.split(':').next().expect("a kind").to_owned());
    }
    assert_eq!(slots.len(), 1, "{keys:?}");
    kinds
}

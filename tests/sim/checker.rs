//! Holds the end of a story against the invariants.

use std::collections::HashMap;

use puruto_fleet::{
    broker::{BuriedLetter, DeadReason, twin::SettlementKind},
    contract::{Header, Subjects},
    store::{MAX_ATTEMPTS, Nonce},
};
use serde_json::Value;

use crate::{
    scenario::{Scenario, ids},
    world::World,
};

/// The invariants of the fleet at the end of `scenario`; `told` names the story in a failure.
pub fn check(world: &World, scenario: &Scenario, told: &str) {
    one_committed_result_each(world, told);
    commits_carry_the_current_nonce(world, told);
    published_is_what_was_committed(world, scenario, told);
    nothing_is_left_and_nothing_was_lost(world, told);
    whoever_is_poisoned_has_one_letter_and_nobody_else(world, told);
    assert_eq!(world.executions_after_done(), 0, "S5, {told}");
    assert!(
        world.executions() <= 1 + scenario.executions,
        "bounded by faults, {told}"
    );
    let verdict = world.verdict();
    assert!(verdict.holds(), "{told}: {:?}", verdict.violations);
}

/// S1, S6: all commits of a request are the same bytes, unless the store was emptied in between;
/// then the stream decides, which S3 looks at.
fn one_committed_result_each(world: &World, told: &str) {
    let mut seen = HashMap::new();
    for (key, _, bytes) in world.store.commits() {
        let first = seen.entry(key).or_insert_with(|| bytes.clone());
        let emptied = told.contains("EmptyStore");
        assert!(emptied || *first == bytes, "S1, {told}");
    }
}

/// S2: a commit's nonce is that of some claim, and of the last claim made on its request before it.
fn commits_carry_the_current_nonce(world: &World, told: &str) {
    let claims = world.store.claims();
    for (key, nonce, _) in world.store.commits() {
        let nonces: Vec<Nonce> = claims
            .iter()
            .filter(|it| it.0 == key)
            .map(|it| it.1)
            .collect();
        assert!(nonces.contains(&nonce), "S2, {told}");
    }
}

/// S3: what stands in the stream was committed, and whatever was sent there a second time was the
/// same.
fn published_is_what_was_committed(world: &World, scenario: &Scenario, told: &str) {
    let (correlation, request) = ids();
    let place = Subjects::default().result(&correlation, &request);
    let results = world.broker.results();
    let stored = results
        .get(&place)
        .unwrap_or_else(|| panic!("L1, L4: no result, {told}"));
    let attempt = stored.headers.get(Header::Attempt);
    assert!(attempt.is_some(), "who answered on which execution, {told}");
    let committed = world
        .store
        .commits()
        .into_iter()
        .any(|(_, _, bytes)| bytes == stored.body);
    assert!(committed, "S3, {told}");
    let value: Value = serde_json::from_slice(&stored.body).expect("a result is JSON");
    match scenario.code {
        None => assert_eq!(value["status"], "ok", "{told}: {value}"),
        Some(code) => assert_eq!(value["error"]["code"], code, "{told}: {value}"),
    }
    let aside = results.iter().find(|(subject, _)| **subject != place);
    match (scenario.aside, aside) {
        (None, None) => {}
        (Some(kind), Some((_, stored))) => {
            let value: Value = serde_json::from_slice(&stored.body).expect("JSON");
            assert_eq!(value["error"]["details"]["kind"], kind, "{told}");
        }
        (wanted, found) => panic!("{told}: wanted aside {wanted:?}, found {found:?}"),
    }
}

/// Every poisoned result has its dead letter, and nothing else has one.
fn whoever_is_poisoned_has_one_letter_and_nobody_else(world: &World, told: &str) {
    let results = world.broker.results();
    let poisoned = results.values().filter(|stored| {
        let value: Value = serde_json::from_slice(&stored.body).expect("JSON");
        value["error"]["details"]["kind"] == "poisoned"
    });
    let letters = world.broker.dead_letters();
    assert_eq!(letters.len(), poisoned.count(), "{told}");
    for BuriedLetter { letter, .. } in letters {
        assert_eq!(letter.reason, DeadReason::Poisoned, "{told}");
        assert_eq!(letter.request, Some(ids().1), "{told}");
        assert_eq!(letter.attempts, Some(MAX_ATTEMPTS), "{told}");
        assert_eq!(letter.last_worker.as_deref(), Some("sim"), "{told}");
    }
}

/// S4 and L1: every message left the stream, and only by an ack; no ack came before the result.
fn nothing_is_left_and_nothing_was_lost(world: &World, told: &str) {
    assert_eq!(world.broker.pending(), Vec::<u64>::new(), "L1, {told}");
    assert_eq!(world.acks_before_any_result(), 0, "S4, {told}");
    let acks = world.broker.settlements().into_iter();
    let acks = acks.filter(|it| it.kind == SettlementKind::Ack).count();
    assert!(acks >= 1, "S4, {told}");
}

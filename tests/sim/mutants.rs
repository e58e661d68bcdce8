//! Fleets that are broken on purpose, each in one of the ways in which such fleets are: if no
//! story tells a broken one from a sound one, the stories prove nothing.

use std::{collections::BTreeSet, time::Duration};

use puruto_fleet::{
    broker::twin::{FailAt, Operation},
    chaos::checker::Rule,
};
use tokio::time::sleep;

use crate::{
    JOINTS_MAX,
    joints::Mischief,
    scenario::{SCENARIOS, Scenario},
    world::World,
};

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Nothing.
    Sound,
    /// The store takes every commit.
    NoNonceCheck,
    /// The broker is told before there is a result.
    AckBeforeCommit,
    /// A worker whose commit was refused publishes its result all the same.
    PublishFromMemory,
    /// A renewal makes a session that is gone anew.
    RenewRecreates,
}

/// More acks than a worker tries.
pub const ACKS_LOST: usize = 30;
/// Longer than a session that is not renewed is trusted.
const SEVERAL_RENEWALS: Duration = Duration::from_secs(30);

/// Every rule that some story shows to be broken.
async fn broken(mutant: Mutant) -> BTreeSet<Rule> {
    let mut broken = BTreeSet::new();
    let scenario = &SCENARIOS[0];
    for mischief in [Mischief::Die, Mischief::Sleep] {
        for joint in 0..JOINTS_MAX {
            let world = World::with(mutant);
            let struck = scenario.play(&world, mischief(joint)).await;
            broken.extend(rules(&world));
            if !struck {
                break;
            }
        }
    }
    broken.extend(emptied_between_publish_and_ack(scenario, mutant).await);
    broken
}

fn rules(world: &World) -> BTreeSet<Rule> {
    let verdict = world.verdict();
    verdict.violations.iter().map(|it| it.rule).collect()
}

/// A request has its result, but its acks get lost; then the store is emptied, and the message
/// comes again, first to the same worker.
async fn emptied_between_publish_and_ack(scenario: &Scenario, mutant: Mutant) -> BTreeSet<Rule> {
    let world = World::with(mutant);
    scenario.begin(&world).await;
    let worker = world.worker(Mischief::None).await;
    for _ in 0..ACKS_LOST {
        world.broker.fail_next(Operation::Ack, FailAt::BeforeEffect);
    }
    worker.process(world.delivery().await).await;
    world.store.empty();
    world.told.emptied();
    sleep(SEVERAL_RENEWALS).await;
    worker.process(world.delivery().await).await;
    world.finish().await;
    rules(&world)
}

#[tokio::test(start_paused = true)]
async fn a_sound_fleet_breaks_nothing() {
    assert_eq!(broken(Mutant::Sound).await, BTreeSet::new());
}

#[tokio::test(start_paused = true)]
async fn a_store_without_nonce_check_is_caught() {
    let broken = broken(Mutant::NoNonceCheck).await;
    assert!(broken.contains(&Rule::CommittedTwice), "{broken:?}");
    assert!(
        broken.contains(&Rule::CommittedUnderAnOldClaim),
        "{broken:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_ack_before_the_commit_is_caught() {
    let broken = broken(Mutant::AckBeforeCommit).await;
    assert!(broken.contains(&Rule::LeftUnanswered), "{broken:?}");
    assert!(broken.contains(&Rule::Lost), "{broken:?}");
}

#[tokio::test(start_paused = true)]
async fn publishing_from_memory_is_caught() {
    let broken = broken(Mutant::PublishFromMemory).await;
    assert!(broken.contains(&Rule::PublishedOtherBytes), "{broken:?}");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_recreates_is_caught() {
    let broken = broken(Mutant::RenewRecreates).await;
    assert!(broken.contains(&Rule::StartedAfterTheEnd), "{broken:?}");
}

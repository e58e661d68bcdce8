//! A request that asks two others before it answers, with a fault at every joint of all three.

use std::{collections::HashMap, time::Duration};

use serde_json::Value;
use tokio::time::sleep;

use crate::{
    asking::{ASKS, check_answer},
    joints::Mischief,
    scenario::{body, place},
    world::{SimWorker, World},
};

/// Turns of the parent and of its children when nothing goes wrong.
const TURNS: usize = 4;

/// A dead worker's turn is taken again.
const TURNS_WITH_A_FAULT: usize = TURNS + 1;

/// A parent whose record was lost begins again; its children's answers stand in the stream, but
/// for one that was lost with its record before it was published.
const TURNS_WITHOUT_A_STORE: usize = TURNS + 3;

/// The walks of all three together have no more joints.
const JOINTS_MAX: usize = 160;

/// More deliveries than a story takes, lost wakes included.
const DELIVERIES_MAX: usize = 60;

/// Whoever has not ended by then sleeps for good.
const LONG_ENOUGH: Duration = Duration::from_secs(600);

async fn play(world: &World, mischief: Mischief) -> bool {
    world.publish(&body(ASKS, "pay_invoice"));
    let mut worker = world.worker(mischief).await;
    take_what_comes(world, &mut worker).await;
    finish(world).await;
    worker.joints.struck()
}

/// Gives `worker` each message until it was struck or nothing is left.
async fn take_what_comes(world: &World, worker: &mut SimWorker) {
    for _ in 0..DELIVERIES_MAX {
        if world.broker.pending().is_empty() {
            return;
        }
        let (joints, walk) = worker.start(world.delivery().await);
        tokio::pin!(walk);
        tokio::select! {
            biased;
            // A worker whose session was lost with the store takes nothing any more.
            _ = &mut walk => match joints.struck() {
                true => return,
                false => continue,
            },
            () = joints.stopped() => {}
        }
        world.bury(worker).await;
        finish(world).await;
        // A sleeper goes on where it was, some time later; whoever died does not.
        joints.wake();
        tokio::select! {
            biased;
            _ = &mut walk => {}
            () = sleep(LONG_ENOUGH) => {}
        }
        return;
    }
    panic!("it never ends: {:?}", world.broker.pending());
}

/// A healthy worker takes whatever is left, until nothing is.
async fn finish(world: &World) {
    for _ in 0..DELIVERIES_MAX {
        if world.broker.pending().is_empty() {
            return;
        }
        let worker = world.worker(Mischief::None).await;
        worker.process(world.delivery().await).await;
    }
    panic!("still pending: {:?}", world.broker.pending());
}

fn check(world: &World, turns_max: usize, told: &str) {
    let results = world.broker.results();
    let stored = results.get(&place());
    let stored = stored.unwrap_or_else(|| panic!("L1: no result, {told}"));
    let result: Value = serde_json::from_slice(&stored.body).expect("JSON");
    check_answer(&result, told);
    assert_eq!(results.len(), 3, "{told}: {:?}", results.keys());
    assert!(
        world.executions() <= turns_max,
        "{told}: {} turns",
        world.executions()
    );
    assert_eq!(world.executions_after_done(), 0, "S5, {told}");
    let mut first = HashMap::new();
    for (key, _, bytes) in world.store.commits() {
        let before = first.entry(key).or_insert_with(|| bytes.clone());
        assert!(
            told.contains("EmptyStore") || *before == bytes,
            "S1, {told}"
        );
    }
}

async fn at_every_joint(turns_max: usize, mischief: impl Fn(usize) -> Mischief) {
    at_every_joint_of(World::new, turns_max, mischief).await;
}

async fn at_every_joint_of(
    world: impl Fn() -> World,
    turns_max: usize,
    mischief: impl Fn(usize) -> Mischief,
) {
    for joint in 0..JOINTS_MAX {
        let world = world();
        let told = format!("{:?}", mischief(joint));
        let struck = play(&world, mischief(joint)).await;
        check(&world, turns_max, &told);
        if !struck {
            assert!(joint > 40, "{told}: three walks have more joints than that");
            return;
        }
    }
    panic!("more than {JOINTS_MAX} joints");
}

#[tokio::test(start_paused = true)]
async fn a_parent_goes_on_with_what_its_children_said() {
    let world = World::new();
    play(&world, Mischief::None).await;
    check(&world, TURNS, "nothing goes wrong");
    assert_eq!(world.executions(), TURNS);
}

#[tokio::test(start_paused = true)]
async fn a_worker_may_die_at_any_joint_of_a_delegation() {
    at_every_joint(TURNS_WITH_A_FAULT, Mischief::Die).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_may_time_out_at_any_joint_of_a_delegation() {
    at_every_joint(TURNS_WITH_A_FAULT, Mischief::TimeOut).await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_may_sleep_at_any_joint_of_a_delegation() {
    at_every_joint(TURNS_WITH_A_FAULT, Mischief::Sleep).await;
}

#[tokio::test(start_paused = true)]
async fn the_store_may_be_emptied_at_any_joint_of_a_delegation() {
    at_every_joint(TURNS_WITHOUT_A_STORE, Mischief::EmptyStore).await;
}

/// The broker takes a child that is asked again for a duplicate and stores nothing, although the
/// child has ended and its message is gone.
#[tokio::test(start_paused = true)]
async fn the_store_may_be_emptied_while_the_broker_knows_who_was_asked_before() {
    let world = || {
        let world = World::new();
        world.broker.know_message_ids();
        world
    };
    at_every_joint_of(world, TURNS_WITHOUT_A_STORE, Mischief::EmptyStore).await;
}

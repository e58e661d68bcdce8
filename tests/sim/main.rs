//! The walk in a world moved by hand: real pipeline, twins of broker and store, and a fault at every
//! joint, before and after each effect.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "in a test a panic is the report"
)]

mod asking;
mod checker;
mod delegation;
mod events;
mod joints;
mod kin_joints;
mod letters;
mod mutants;
mod scenario;
mod told;
mod world;

use std::time::Duration;

use checker::check;
use joints::Mischief;
use puruto_fleet::{
    broker::{
        Broker as _, Headers, ResultMessage,
        twin::{FailAt, Operation},
    },
    store::twin::{Fault, Op},
};
use scenario::{SCENARIOS, Scenario};
use serde_json::{Value, json};
use world::World;

/// No walk of one delivery has so many joints; a bound for the enumerations.
const JOINTS_MAX: usize = 64;

/// Plays `scenario` again and again, with `mischief` at the first joint, the second, and so on,
/// until it has passed them all.
async fn at_every_joint(scenario: &Scenario, mischief: impl Fn(usize) -> Mischief) {
    for joint in 0..JOINTS_MAX {
        let world = World::new();
        let struck = scenario.play(&world, mischief(joint)).await;
        let told = format!("{}: {:?}", scenario.name, mischief(joint));
        check(&world, scenario, &told);
        if !struck {
            assert!(joint > 4, "{told}: a walk has more joints than that");
            return;
        }
    }
    panic!("{}: more than {JOINTS_MAX} joints", scenario.name);
}

#[tokio::test(start_paused = true)]
async fn a_walk_without_mischief_ends_in_one_result_and_one_execution() {
    for scenario in SCENARIOS {
        let world = World::new();
        let struck = scenario.play(&world, Mischief::None).await;
        assert!(!struck);
        check(&world, scenario, scenario.name);
        assert_eq!(world.executions(), scenario.executions, "{}", scenario.name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_may_die_at_any_joint() {
    for scenario in SCENARIOS {
        at_every_joint(scenario, Mischief::Die).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_may_time_out_before_or_after_its_effect_at_any_joint() {
    for scenario in SCENARIOS {
        at_every_joint(scenario, Mischief::TimeOut).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_may_sleep_at_any_joint_while_another_takes_over() {
    for scenario in SCENARIOS {
        at_every_joint(scenario, Mischief::Sleep).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_store_may_be_emptied_at_any_joint() {
    for scenario in SCENARIOS.iter().filter(|it| it.survives_an_emptied_store) {
        at_every_joint(scenario, Mischief::EmptyStore).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_worker_may_die_at_any_joint_after_the_first_did() {
    let scenario = &SCENARIOS[0];
    for first in 0..JOINTS_MAX {
        let mut struck_first = false;
        for second in 0..JOINTS_MAX {
            let world = World::new();
            let struck = scenario.play_twice(&world, first, second).await;
            check(
                &world,
                scenario,
                &format!("died at {first}, then at {second}"),
            );
            struck_first = struck.0;
            if !struck.1 {
                break;
            }
        }
        if !struck_first {
            return;
        }
    }
    panic!("more than {JOINTS_MAX} joints");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waited_for_its_claim_beyond_its_deadline_does_not_start() {
    let world = World::new();
    let mut body = scenario::body("pay", "pay_invoice");
    body["timeout_sec"] = json!(5);
    world.publish(&body);
    let worker = world.worker(Mischief::None).await;
    world.store.fail_next(Op::Claim, Fault::BeforeEffect);
    let clock = world.clock.clone();
    tokio::spawn(async move { clock.advance(Duration::from_secs(6)) });
    worker.process(world.delivery().await).await;

    assert_eq!(world.executions(), 0);
    let results = world.broker.results();
    let stored = results.values().next().expect("a result");
    let result: Value = serde_json::from_slice(&stored.body).expect("JSON");
    assert_eq!(result["error"]["code"], "TIMEOUT", "{result}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_made_without_our_knowing_is_given_back() {
    let scenario = &SCENARIOS[0];
    let world = World::new();
    let worker = scenario
        .begun_by_a_worker_whose_claims_go_unanswered(&world)
        .await;
    // The worker lives on, and with it its session: nobody will take the claim from it.
    while !world.broker.pending().is_empty() {
        worker.process(world.delivery().await).await;
    }
    check(&world, scenario, "claims unanswered");
}

#[tokio::test(start_paused = true)]
async fn who_takes_back_a_claim_made_in_an_emptied_store_looks_for_the_answer_as_well() {
    let world = World::new();
    world.publish(&scenario::body("pay", "pay_invoice"));
    let worker = world.worker(Mischief::None).await;
    for _ in 0..mutants::ACKS_LOST {
        world.broker.fail_next(Operation::Ack, FailAt::BeforeEffect);
    }
    worker.process(world.delivery().await).await;
    world.store.empty();
    let worker = world.worker(Mischief::None).await;
    for _ in 0..scenario::PATIENCE_IN_CALLS {
        world.store.fail_next(Op::Claim, Fault::AfterEffect);
    }
    worker.process(world.delivery().await).await;
    world.finish().await;

    assert_eq!(world.executions(), 1);
    assert_eq!(world.broker.results().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_stranger_put_in_a_results_place_is_not_taken_for_it_when_the_store_was_emptied() {
    let world = World::new();
    let _knows_the_store = world.worker(Mischief::None).await;
    world.store.empty();
    let forged = ResultMessage {
        subject: scenario::place(),
        headers: Headers::new(),
        body: "forged".into(),
    };
    world.broker.publish_result(&forged).await.expect("stored");
    world.publish(&scenario::body("pay", "pay_invoice"));
    world.finish().await;

    assert_eq!(world.executions(), 1);
    let results = world.broker.results();
    let own = results.iter().find(|(place, _)| **place != forged.subject);
    let (_, own) = own.expect("a result beside the forged one");
    let result: Value = serde_json::from_slice(&own.body).expect("JSON");
    assert_eq!(result["status"], "ok", "{result}");
}

#[tokio::test(start_paused = true)]
async fn an_id_that_was_used_for_another_payload_stays_used_when_the_store_was_emptied() {
    let world = World::new();
    let _knows_the_store = world.worker(Mischief::None).await;
    world.publish(&scenario::body("pay", "pay_invoice"));
    world.finish().await;
    world.store.empty();
    world.publish(&scenario::body("pay more", "pay_invoice"));
    world.finish().await;

    assert_eq!(world.executions(), 1);
    let results = world.broker.results();
    assert_eq!(results.len(), 2, "{results:?}");
    let aside = results
        .iter()
        .find(|(place, _)| **place != scenario::place());
    let (_, aside) = aside.expect("an answer beside the first one");
    let result: Value = serde_json::from_slice(&aside.body).expect("JSON");
    let kind = &result["error"]["details"]["kind"];
    assert_eq!(kind, "request_id_conflict", "{result}");
}

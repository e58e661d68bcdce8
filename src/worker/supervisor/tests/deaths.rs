//! Deaths and what looks like them.

use std::time::Duration;

use super::{
    super::verdict::STABLE_FOR,
    world::{World, target},
};
use crate::{
    broker::{Broker as _, Pull as _},
    contract::Lane,
    store::{
        ClaimAnswer, Claims as _, SESSION_TTL, Supervision as _,
        twin::{Fault, Op},
    },
};

#[tokio::test(start_paused = true)]
async fn a_dead_process_is_found_out_in_half_a_second_and_its_messages_come_again() {
    let world = World::new();
    let (leader, holder) = world.two().await;
    let mut messages = Vec::new();
    for n in 0..200 {
        messages.push(world.held_by(&holder, &n.to_string()).await);
    }

    holder.die();
    world.pass(Duration::from_millis(500)).await;

    assert!(!world.lives(&holder).await);
    let mut lane = world.broker.lane(&target(), Lane::Normal).await.unwrap();
    lane.demand(messages.len());
    for n in 0..messages.len() {
        let again = lane.next().await;
        assert_eq!(again.delivered, 2);
        let taken = world
            .store
            .claim(world.claim(&leader, &n.to_string(), &again))
            .await;
        assert!(matches!(taken, Ok(ClaimAnswer::Claimed(it)) if it.attempt.number() == 2));
    }
    assert!(leader.counts("puruto_takeover_naks_total 200"));
    assert!(leader.counts("puruto_sessions_evicted_total{reason=\"no_responders\"} 1"));
    let roster = world.store.roster().await.unwrap();
    assert_eq!(roster.len(), 1, "forgotten: {roster:?}");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_only_stopped_is_left_alone_until_its_time_is_up() {
    let world = World::new();
    let (leader, holder) = world.two().await;
    world.broker.stop_answering(&holder.session.id);
    holder.tasks[2].abort();

    world.pass(SESSION_TTL / 2).await;
    assert!(world.lives(&holder).await);
    world.pass(SESSION_TTL / 2).await;
    assert!(!world.lives(&holder).await);
    assert!(leader.counts("puruto_sessions_evicted_total{reason=\"expired\"} 1"));
    assert!(leader.counts("puruto_sessions_evicted_total{reason=\"no_responders\"} 0"));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_taken_for_dead_who_may_still_be_reconnecting() {
    let world = World::new();
    let (_leader, away) = world.two().await;
    world.broker.reconnect();
    away.tasks[1].abort();

    world.pass(STABLE_FOR - Duration::from_millis(200)).await;
    assert!(world.lives(&away).await);
    world.pass(Duration::from_secs(1)).await;
    assert!(!world.lives(&away).await);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_never_answered_lives_as_long_as_it_is_renewed() {
    let world = World::new();
    let (_leader, _other) = world.two().await;
    let deaf = world.process().await;
    deaf.tasks[1].abort();
    world.pass(SESSION_TTL * 2).await;
    assert!(world.lives(&deaf).await);
}

#[tokio::test(start_paused = true)]
async fn a_dead_supervisor_is_replaced_and_buried_within_three_seconds() {
    let world = World::new();
    let (leader, other) = world.two().await;
    assert!(leader.counts("puruto_supervisor 1") && other.counts("puruto_supervisor 0"));
    let message = world.held_by(&leader, "1").await;

    leader.die();
    world.pass(Duration::from_secs(3)).await;

    assert!(other.counts("puruto_supervisor 1"));
    assert!(!world.lives(&leader).await);
    let mut lane = world.broker.lane(&target(), Lane::Normal).await.unwrap();
    lane.demand(1);
    assert_eq!(lane.next().await.sequence, message.sequence);
}

#[tokio::test(start_paused = true)]
async fn a_supervisor_that_does_not_hear_itself_lets_another_lead_who_buries_the_dead() {
    let world = World::new();
    let (leader, other) = world.two().await;
    let holder = world.process().await;
    world.pass(Duration::from_secs(1)).await;
    let _message = world.held_by(&holder, "1").await;
    world.broker.stop_answering(&leader.session.id);
    world.pass(Duration::from_secs(4)).await;

    holder.die();
    world.pass(Duration::from_secs(1)).await;

    assert!(leader.counts("puruto_supervisor 0") && other.counts("puruto_supervisor 1"));
    assert!(!world.lives(&holder).await);
    assert!(other.counts("puruto_takeover_naks_total 1"));
}

#[tokio::test(start_paused = true)]
async fn a_supervisor_that_fails_half_way_finishes_the_next_time() {
    let world = World::new();
    let (leader, holder) = world.two().await;
    let _message = world.held_by(&holder, "1").await;
    world.store.fail_next(Op::Evict, Fault::AfterEffect);

    holder.die();
    world.pass(Duration::from_secs(1)).await;

    assert!(leader.counts("puruto_takeover_naks_total 1"));
    assert!(leader.counts("puruto_store_faults_total{kind=\"timed_out\"} 1"));
    assert_eq!(world.store.roster().await.unwrap().len(), 1);
}

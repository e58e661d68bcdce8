//! Consumers that do not deliver what lies in their lanes.

use std::time::Duration;

use super::world::{World, target};
use crate::{
    broker::{Broker as _, Headers, Pull as _},
    contract::Lane,
};

/// Two looks, and some more.
const TWO_LOOKS: Duration = Duration::from_secs(8);

#[tokio::test(start_paused = true)]
async fn what_was_delivered_too_often_is_delivered_again() {
    let world = World::new();
    let leader = world.process().await;
    world.broker.deliver_at_most(2);
    let mut lane = world.broker.lane(&target(), Lane::Normal).await.unwrap();
    lane.demand(3);
    world
        .broker
        .publish("puruto.invoke.echo", Headers::new(), "{}");
    for _ in 0..2 {
        let delivery = lane.next().await;
        world.broker.nak(&delivery.ack, Duration::ZERO).await;
    }
    world.pass(TWO_LOOKS).await;
    assert_eq!(lane.next().await.delivered, 1);
    assert!(leader.counts("puruto_lanes_renewed_total{reason=\"stranded\"} 1"));
}

#[tokio::test(start_paused = true)]
async fn a_consumer_beyond_the_end_of_its_stream_comes_back_to_it() {
    let world = World::new();
    let leader = world.process().await;
    let mut lane = world.broker.lane(&target(), Lane::High).await.unwrap();
    lane.demand(1);
    world.broker.put_ahead(&target(), Lane::High, 10);
    world
        .broker
        .publish("puruto.invoke.echo.high", Headers::new(), "{}");
    world.pass(TWO_LOOKS).await;
    assert_eq!(lane.next().await.sequence, 1);
    assert!(leader.counts("puruto_lanes_renewed_total{reason=\"ahead\"} 1"));
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_is_slow_is_left_alone() {
    let world = World::new();
    let leader = world.process().await;
    for id in ["1", "2"] {
        let _held = world.held_by(&leader, id).await;
    }
    world
        .broker
        .publish("puruto.invoke.echo", Headers::new(), "{}");
    world.pass(TWO_LOOKS * 2).await;
    assert!(leader.counts("puruto_lanes_renewed_total{reason=\"stranded\"} 0"));
    assert!(leader.counts("puruto_lanes_renewed_total{reason=\"ahead\"} 0"));
}

#[tokio::test(start_paused = true)]
async fn whoever_supervises_tells_what_lies_in_the_lanes_and_nobody_else() {
    let world = World::new();
    let (leader, other) = world.two().await;
    let _held = world.held_by(&leader, "1").await;
    for _ in 0..2 {
        world
            .broker
            .publish("puruto.invoke.echo", Headers::new(), "{}");
    }
    world
        .broker
        .publish("puruto.invoke.stranger", Headers::new(), "{}");
    world.pass(TWO_LOOKS).await;

    assert!(leader.counts("puruto_lane_queued{lane=\"normal\",target=\"echo\"} 2"));
    let age = leader.reads("puruto_lane_oldest_seconds{lane=\"normal\",target=\"echo\"}");
    assert!(age >= Some(4), "{age:?}");
    assert_eq!(
        leader.reads("puruto_lane_queued{lane=\"normal\",target=\"stranger\"}"),
        None
    );
    assert_eq!(
        other.reads("puruto_lane_queued{lane=\"normal\",target=\"echo\"}"),
        None
    );
}

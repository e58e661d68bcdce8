//! What a real broker does to a lane, and how the lane goes on.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use puruto_fleet::{
    broker::{
        Broker, Pull,
        nats::{Incident, NatsBroker, Observer},
    },
    contract::Lane,
};
use tokio::time::{Instant, timeout};

use super::harness::{Harness, Real, SOON, lane_of, next, nothing, other_client, subject};

async fn publish(world: &Real, body: &'static str) {
    let client = other_client(&world.server).await;
    let jetstream = async_nats::jetstream::new(client);
    let sent = jetstream.publish(subject(Lane::Normal), body.into()).await;
    sent.expect("sent").await.expect("stored");
}

#[tokio::test]
async fn pulling_recovers_from_restarts_without_over_delivery() {
    let mut world = Real::start().await;
    let mut lane = lane_of(&world.broker).await;
    lane.demand(1);
    nothing(&mut lane).await;
    for _ in 0..3 {
        world.server.kill().await.expect("killed");
        world.server.restart().await.expect("restarted");
        nothing(&mut lane).await;
    }
    for body in ["1", "2", "3", "4"] {
        publish(&world, body).await;
    }
    let back = Instant::now();
    let delivery = next(&mut lane).await;
    assert!(
        back.elapsed() < Duration::from_secs(10),
        "{:?}",
        back.elapsed()
    );
    nothing(&mut lane).await;
    let consumer = world.consumer("puruto-echo").await;
    assert_eq!(consumer.num_ack_pending, 1);
    assert_eq!(world.broker.ack(&delivery.ack).await, Ok(()));
}

#[tokio::test]
async fn a_silent_server_is_noticed_and_pulled_from_again() {
    let mut world = Real::start().await;
    let incidents = Arc::new(Mutex::new(Vec::new()));
    let mut options = world.options();
    let told = Arc::clone(&incidents);
    options.observer = Observer::new(move |_, incident| {
        told.lock().unwrap().push(incident.clone());
    });
    world.broker = NatsBroker::connect(options).await.expect("a broker");
    let mut lane = lane_of(&world.broker).await;
    lane.demand(1);
    nothing(&mut lane).await;
    world.server.pause().expect("paused");
    let silent = timeout(Duration::from_secs(8), lane.next()).await;
    assert!(silent.is_err());
    world.server.resume().expect("resumed");
    assert!(incidents.lock().unwrap().contains(&Incident::PullStalled));
    world.publish(Lane::Normal, "1").await;
    assert_eq!(next(&mut lane).await.delivered, 1);
    assert_eq!(world.consumer("puruto-echo").await.num_ack_pending, 1);
}

#[tokio::test]
async fn what_is_on_its_way_to_a_dropped_lane_is_given_back() {
    let world = Real::start().await;
    let mut lane = lane_of(&world.broker).await;
    lane.demand(3);
    nothing(&mut lane).await;
    for body in ["1", "2", "3"] {
        world.publish(Lane::Normal, body).await;
    }
    let taken = next(&mut lane).await;
    drop(lane);
    let mut other = lane_of(&world.broker).await;
    other.demand(2);
    let dropped = Instant::now();
    let (second, third) = (next(&mut other).await, next(&mut other).await);
    assert!(
        dropped.elapsed() < Duration::from_secs(5),
        "{:?}",
        dropped.elapsed()
    );
    let mut sequences = [taken.sequence, second.sequence, third.sequence];
    sequences.sort_unstable();
    assert_eq!(sequences, [1, 2, 3]);
}

#[tokio::test]
async fn a_pull_that_expired_is_asked_again() {
    let world = Real::start().await;
    let mut lane = lane_of(&world.broker).await;
    lane.demand(1);
    let waited = timeout(Duration::from_secs(32), lane.next()).await;
    assert!(waited.is_err());
    assert_eq!(world.consumer("puruto-echo").await.num_waiting, 1);
    world.publish(Lane::Normal, "1").await;
    assert_eq!(next(&mut lane).await.delivered, 1);
}

#[tokio::test]
async fn calls_made_while_the_server_is_away_end_in_time_or_when_it_is_back() {
    let mut world = Real::start().await;
    world.publish(Lane::Normal, "1").await;
    let mut lane = lane_of(&world.broker).await;
    lane.demand(1);
    let delivery = next(&mut lane).await;
    world.server.kill().await.expect("killed");
    let began = Instant::now();
    assert!(
        timeout(SOON, world.broker.ack(&delivery.ack))
            .await
            .expect("bounded")
            .is_err()
    );
    assert!(began.elapsed() < Duration::from_secs(7));
    world.server.restart().await.expect("restarted");
    lane.demand(1);
    let acked = async {
        let mut token = delivery.ack;
        // A server that was killed may have forgotten the delivery. Then it never answers an ack of
        // it, and delivers anew.
        while world.broker.ack(&token).await.is_err() {
            if let Ok(again) = timeout(SOON, lane.next()).await {
                token = again.ack;
            }
        }
    };
    timeout(4 * SOON, acked)
        .await
        .expect("acked once the server is back");
}

//! Requests that wait behind workers who have more than they can do.

use std::time::Duration;

use super::{
    unserved::{SOON, clerk, key},
    world::World,
};
use crate::{
    broker::{Broker as _, Headers, Pull as _},
    contract::{Header, Lane},
    store::Records as _,
};

/// A leader, and a worker of `clerk` that was given one of two requests and has no slot left.
async fn busy_clerk(world: &World) {
    let _leader = world.two().await;
    let _clerk = world.process_serving(&["clerk"]).await;
    let mut lane = world.broker.lane(&clerk(), Lane::Normal).await.unwrap();
    lane.demand(1);
    world.ask("given", Headers::new());
    let _given = lane.next().await;
    let mut headers = Headers::new();
    let in_ten_seconds = world.clock.now().saturating_add(Duration::from_secs(10));
    headers.push(Header::Deadline, &in_ten_seconds.to_string());
    world.ask("queued", headers);
}

#[tokio::test(start_paused = true)]
async fn a_request_behind_busy_workers_has_until_its_deadline_and_what_runs_is_left_alone() {
    let world = World::new();
    busy_clerk(&world).await;

    world.pass(Duration::from_secs(9)).await;
    assert_eq!(world.code_of("queued"), None);
    world.pass(SOON * 2).await;

    assert_eq!(world.code_of("queued").as_deref(), Some("TIMEOUT"));
    assert_eq!(world.code_of("given"), None);
    assert_eq!(world.broker.pending(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_request_behind_busy_workers_that_is_cancelled_ends_before_they_are_free() {
    let world = World::new();
    busy_clerk(&world).await;
    world.store.cancel(&key("queued")).await.unwrap();

    world.pass(Duration::from_secs(3)).await;

    assert_eq!(world.code_of("queued").as_deref(), Some("CANCELLED"));
    assert_eq!(world.broker.pending(), [1]);
}

#[tokio::test(start_paused = true)]
async fn forty_busy_targets_are_each_looked_after() {
    let world = World::new();
    let _leader = world.two().await;
    let names: Vec<_> = (10..50).map(|it| format!("clerk-{it}")).collect();
    let served: Vec<_> = names.iter().map(String::as_str).collect();
    let _clerks = world.process_serving(&served).await;
    for name in &names {
        let _lane = world
            .broker
            .lane(&name.parse().unwrap(), Lane::Normal)
            .await
            .unwrap();
        world.ask_target(name, "r", Headers::new());
    }

    world.pass(Duration::from_secs(63)).await;

    assert!(world.broker.pending().is_empty());
}

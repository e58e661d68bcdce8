//! The life of a session, on which all its claims hang.

use puruto_fleet::{
    clock::Clock,
    store::{
        Attempt, Carried, ClaimAnswer, Claims as _, CommitAnswer, RecordState, Records as _,
        Renewal, Sessions as _,
    },
};

use super::world::{World, request};

pub(super) async fn a_session_that_is_gone_is_fenced_and_stays_gone(world: &impl World) {
    let worker = world.worker().await;
    world.expire(&worker.session).await;
    assert_eq!(worker.ask(&request("1")).await.1, ClaimAnswer::Fenced);
    assert_eq!(worker.record(&request("1")).await, None);
    for _ in 0..2 {
        let renewed = worker.store.renew(&worker.session).await;
        assert_eq!(renewed, Ok(Renewal::Fenced));
    }
    assert_eq!(worker.ask(&request("1")).await.1, ClaimAnswer::Fenced);
}

pub(super) async fn a_closed_session_frees_its_claims_at_once(world: &impl World) {
    let (leaver, heir) = (world.worker().await, world.worker().await);
    let key = request("1");
    leaver.take(&key).await;
    for _ in 0..2 {
        leaver.store.close(&leaver.session).await.expect("closed");
    }
    let record = heir.record(&key).await.expect("a record");
    let abandoned = RecordState::Held {
        owner: leaver.session,
        owner_alive: false,
        cancelled: false,
    };
    assert_eq!(record.state, abandoned);
    assert_eq!(heir.take(&key).await.1.attempt, Attempt::new(2));
}

pub(super) async fn an_emptied_store_voids_all_claims_and_changes_its_epoch(world: &impl World) {
    let (worker, other) = (world.worker().await, world.worker().await);
    let store = &worker.store;
    let before = store.open(&other.session, "host-2", &[]).await;
    assert_eq!(store.open(&other.session, "host-2", &[]).await, before);
    let (nonce, _) = worker.take(&request("1")).await;
    world.empty().await;

    assert_eq!(
        worker.commit(&request("1"), nonce, b"void").await,
        CommitAnswer::Lost
    );
    assert_eq!(worker.ask(&request("2")).await.1, ClaimAnswer::Fenced);
    assert_eq!(store.renew(&worker.session).await, Ok(Renewal::Fenced));
    store.settle(&request("1")).await.expect("an answer");
    store
        .release(&request("1"), nonce, &Carried::default())
        .await
        .expect("an answer");
    assert_eq!(worker.record(&request("1")).await, None);
    let after = store.open(&other.session, "host-2", &[]).await;
    assert_ne!(after.expect("an epoch"), before.expect("an epoch"));
}

pub(super) async fn every_target_ever_served_is_known(world: &impl World) {
    let worker = world.worker().await;
    let names = ["echo", "puruto-financial"].map(|it| it.parse().expect("a name"));
    let opened = worker
        .store
        .open(&worker.session, "host-1", &names[1..])
        .await;
    opened.expect("an epoch");
    let mut targets = worker.store.targets().await.expect("an answer");
    targets.sort();
    assert_eq!(targets, names);
}

pub(super) async fn the_time_of_day_is_told(world: &impl World) {
    let before = Clock::system().now();
    let told = world.store().time().await.expect("a time");
    let after = Clock::system().now();
    // On one machine there is one clock.
    assert!(before <= told && told <= after, "{before} {told} {after}");
}

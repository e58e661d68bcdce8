//! What becomes of a request whose workers die with it.

use puruto_fleet::store::{
    Attempt, CancelAnswer, Carried, ClaimAnswer, Claims as _, CommitAnswer, Held, MAX_ATTEMPTS,
    RecordState, Records as _, RequestKey,
};

use super::world::{Worker, World, done_by, request};

/// As many workers die with `key` as may; the last of them.
async fn kill_all<W: World>(world: &W, key: &RequestKey) -> Worker<W::Store> {
    for _ in 1..MAX_ATTEMPTS.number() {
        world.die_with(key).await;
    }
    world.die_with(key).await
}

pub(super) async fn a_request_that_took_all_its_workers_down_is_granted_as_exhausted_and_counts_no_attempt(
    world: &impl World,
) {
    let key = request("1");
    let worker = world.worker().await;
    kill_all(world, &key).await;
    let (nonce, exhausted) = worker.exhaust(&key).await;
    assert_eq!(exhausted.claimed.attempt, MAX_ATTEMPTS);
    assert!(!exhausted.claimed.fresh && !exhausted.claimed.cancelled);
    assert_eq!(&*exhausted.last_worker, "host-1");

    let record = worker.record(&key).await.expect("a record");
    assert_eq!(record.attempts, MAX_ATTEMPTS.number());
    assert!(matches!(record.state, RecordState::Held { owner, .. } if owner == worker.session));

    // As after a lost answer.
    let ClaimAnswer::Exhausted(again) = worker.ask_with(&key, nonce).await else {
        panic!("the same nonce is answered alike");
    };
    assert_eq!(again.claimed.attempt, exhausted.claimed.attempt);
    assert_eq!(again.last_worker, exhausted.last_worker);
}

pub(super) async fn an_exhausted_claim_is_fenced_and_committed_like_any_other(world: &impl World) {
    let key = request("1");
    kill_all(world, &key).await;
    let (undertaker, other) = (world.worker().await, world.worker().await);
    let (nonce, _) = undertaker.exhaust(&key).await;
    let held = ClaimAnswer::Held(Held {
        owner: undertaker.session.clone(),
    });
    assert_eq!(other.ask(&key).await.1, held);
    let committed = undertaker.commit(&key, nonce, b"poisoned").await;
    assert_eq!(committed, CommitAnswer::Committed);
    let poisoned = done_by(MAX_ATTEMPTS.number(), Some(b"poisoned"));
    assert_eq!(other.ask(&key).await.1, poisoned);
    undertaker.store.settle(&key).await.expect("settled");
    assert_eq!(
        other.ask(&key).await.1,
        done_by(MAX_ATTEMPTS.number(), None)
    );
}

pub(super) async fn an_exhausted_request_stays_exhausted_when_its_undertaker_dies_or_gives_it_back(
    world: &impl World,
) {
    let key = request("1");
    kill_all(world, &key).await;
    let (dead, drained, last) = (
        world.worker().await,
        world.worker().await,
        world.worker().await,
    );
    let (old, _) = dead.exhaust(&key).await;
    world.expire(&dead.session).await;
    let (nonce, _) = drained.exhaust(&key).await;
    assert_eq!(dead.commit(&key, old, b"late").await, CommitAnswer::Lost);
    drained
        .store
        .release(&key, nonce, &Carried::default())
        .await
        .expect("released");
    let record = last.record(&key).await.expect("a record");
    assert_eq!(record.state, RecordState::Released);
    assert_eq!(record.attempts, MAX_ATTEMPTS.number());

    let (_, exhausted) = last.exhaust(&key).await;
    assert_eq!(exhausted.claimed.attempt, MAX_ATTEMPTS);
    assert_eq!(&*exhausted.last_worker, "host-1");
}

pub(super) async fn what_was_given_back_does_not_exhaust_a_request(world: &impl World) {
    let key = request("1");
    let worker = world.worker().await;
    for _ in 1..MAX_ATTEMPTS.number() {
        world.die_with(&key).await;
    }
    for _ in 0..3 {
        let (nonce, claimed) = worker.take(&key).await;
        assert_eq!(claimed.attempt, MAX_ATTEMPTS);
        worker
            .store
            .release(&key, nonce, &Carried::default())
            .await
            .expect("released");
    }
    // Whoever is asked twice holds it, and did not die.
    worker.take(&key).await;
    assert!(matches!(worker.ask(&key).await.1, ClaimAnswer::Held(_)));
}

pub(super) async fn an_exhausted_request_that_is_cancelled_says_so(world: &impl World) {
    let key = request("1");
    let worker = world.worker().await;
    kill_all(world, &key).await;
    let flagged = worker.store.cancel(&key).await.expect("an answer");
    assert_eq!(flagged, CancelAnswer::Flagged);
    let (nonce, exhausted) = worker.exhaust(&key).await;
    assert!(exhausted.claimed.cancelled);
    assert_eq!(exhausted.claimed.attempt, Attempt::new(5));
    let refused = worker.commit(&key, nonce, b"poisoned").await;
    assert_eq!(refused, CommitAnswer::Cancelled);
}

//! Who works on what.

use std::collections::HashMap;

use puruto_fleet::{
    clock::Chance,
    store::{
        Attempt, Carried, ClaimAnswer, Claims as _, CommitAnswer, Held, Nonce, RecordState,
        Records as _,
    },
};

use super::world::{World, done, done_by, request};

pub(super) async fn a_first_claim_is_granted(world: &impl World) {
    let worker = world.worker().await;
    let (_, claimed) = worker.take(&request("1")).await;
    assert_eq!(claimed.attempt, Attempt::new(1));
    assert_eq!(claimed.first_claimed, claimed.now);
    assert!(claimed.fresh && !claimed.cancelled);

    let record = worker.record(&request("1")).await.expect("a record");
    let held = RecordState::Held {
        owner: worker.session,
        owner_alive: true,
        cancelled: false,
    };
    assert_eq!(record.state, held);
    assert_eq!(record.attempts, 1);
    assert_eq!(record.first_claimed, Some(claimed.first_claimed));
    assert_eq!(record.correlation, "chain-1".parse().ok());
}

pub(super) async fn the_same_nonce_is_answered_alike_and_counts_no_attempt(world: &impl World) {
    let worker = world.worker().await;
    let (nonce, first) = worker.take(&request("1")).await;
    let ClaimAnswer::Claimed(again) = worker.ask_with(&request("1"), nonce).await else {
        panic!("the claim is ours");
    };
    assert_eq!(again.attempt, first.attempt);
    assert_eq!(again.first_claimed, first.first_claimed);
    assert!(again.fresh);
}

pub(super) async fn a_live_owner_keeps_its_claim_even_against_itself(world: &impl World) {
    let (owner, other) = (world.worker().await, world.worker().await);
    let (nonce, _) = owner.take(&request("1")).await;
    let held = ClaimAnswer::Held(Held {
        owner: owner.session.clone(),
    });
    assert_eq!(other.ask(&request("1")).await.1, held);
    // A message that was delivered twice to the same worker.
    assert_eq!(owner.ask(&request("1")).await.1, held);
    let committed = owner.commit(&request("1"), nonce, b"mine").await;
    assert_eq!(committed, CommitAnswer::Committed);
    assert_eq!(other.ask(&request("1")).await.1, done(Some(b"mine")));
}

pub(super) async fn another_payload_under_the_same_id_is_a_conflict_for_good(world: &impl World) {
    let worker = world.worker().await;
    let key = request("1");
    let conflict = ClaimAnswer::Conflict {
        correlation: "chain-1".parse().expect("an id"),
    };
    let (nonce, _) = worker.take(&key).await;
    let other = Nonce::fresh(&Chance::system());
    assert_eq!(worker.ask_about(&key, other, b"other").await, conflict);
    worker.commit(&key, nonce, b"done").await;
    assert_eq!(worker.ask_about(&key, other, b"other").await, conflict);
    worker.store.settle(&key).await.expect("settled");
    assert_eq!(worker.ask_about(&key, other, b"other").await, conflict);
}

pub(super) async fn an_expired_session_is_taken_over_and_its_commit_is_lost(world: &impl World) {
    let (dead, heir) = (world.worker().await, world.worker().await);
    let key = request("1");
    let (old, first) = dead.take(&key).await;
    world.expire(&dead.session).await;

    let (new, taken) = heir.take(&key).await;
    assert_eq!(taken.attempt, Attempt::new(2));
    assert_eq!(taken.first_claimed, first.first_claimed);
    assert!(!taken.fresh);
    assert_eq!(dead.commit(&key, old, b"late").await, CommitAnswer::Lost);
    assert_eq!(
        heir.commit(&key, new, b"mine").await,
        CommitAnswer::Committed
    );
    assert_eq!(dead.commit(&key, old, b"late").await, CommitAnswer::Lost);
    assert_eq!(heir.ask(&key).await.1, done_by(2, Some(b"mine")));
}

pub(super) async fn two_sessions_that_race_for_a_hundred_requests_share_them(world: &impl World) {
    let (one, two) = (world.worker().await, world.worker().await);
    let keys: Vec<_> = (0..100).map(|n| request(&n.to_string())).collect();
    let racers = keys.iter().flat_map(|key| [(&one, key), (&two, key)]);
    let asked = racers.map(|(worker, key)| async move {
        let (nonce, answer) = worker.ask(key).await;
        (worker, key, nonce, answer)
    });

    let mut owners = HashMap::new();
    for (worker, key, nonce, answer) in futures_util::future::join_all(asked).await {
        if let ClaimAnswer::Claimed(claimed) = answer {
            assert_eq!(claimed.attempt, Attempt::new(1));
            assert!(
                owners.insert(key, (worker, nonce)).is_none(),
                "{key:?} twice"
            );
        }
    }
    assert_eq!(owners.len(), 100);
    for (key, (worker, nonce)) in owners {
        let committed = worker.commit(key, nonce, b"once").await;
        assert_eq!(committed, CommitAnswer::Committed);
    }
}

pub(super) async fn a_released_claim_counts_no_attempt(world: &impl World) {
    let (first, second) = (world.worker().await, world.worker().await);
    let key = request("1");
    let (nonce, _) = first.take(&key).await;
    first
        .store
        .release(&key, nonce, &Carried::default())
        .await
        .expect("released");
    // Twice, as after a lost answer.
    first
        .store
        .release(&key, nonce, &Carried::default())
        .await
        .expect("released");
    let record = first.record(&key).await.expect("a record");
    assert_eq!((record.state, record.attempts), (RecordState::Released, 0));
    assert_eq!(first.commit(&key, nonce, b"late").await, CommitAnswer::Lost);

    let (_, claimed) = second.take(&key).await;
    assert_eq!(claimed.attempt, Attempt::new(1));
    assert!(!claimed.fresh);
}

pub(super) async fn what_a_release_leaves_is_told_to_every_later_claim(world: &impl World) {
    let worker = world.worker().await;
    let key = request("1");
    let (first, claimed) = worker.take(&key).await;
    assert_eq!(claimed.carried, Carried::default());
    let left = Carried::new("2,1");
    worker
        .store
        .release(&key, first, &left)
        .await
        .expect("released");
    let (second, claimed) = worker.take(&key).await;
    assert_eq!(claimed.carried, left);
    let nothing = Carried::default();
    worker
        .store
        .release(&key, second, &nothing)
        .await
        .expect("released");
    let (_, claimed) = worker.take(&key).await;
    assert_eq!(claimed.carried, left, "nothing leaves what stands there");
}

pub(super) async fn a_release_with_another_nonce_changes_nothing(world: &impl World) {
    let worker = world.worker().await;
    let key = request("1");
    let (nonce, _) = worker.take(&key).await;
    let other = Nonce::fresh(&Chance::system());
    worker
        .store
        .release(&key, other, &Carried::default())
        .await
        .expect("an answer");
    assert_eq!(
        worker.commit(&key, nonce, b"mine").await,
        CommitAnswer::Committed
    );
    worker
        .store
        .release(&key, nonce, &Carried::default())
        .await
        .expect("an answer");
    assert_eq!(worker.ask(&key).await.1, done(Some(b"mine")));
}

pub(super) async fn records_are_read_in_the_order_asked(world: &impl World) {
    let worker = world.worker().await;
    // More than one call reads, and every fourth is unknown.
    let keys: Vec<_> = (0..300).map(|n| request(&format!("r {n}"))).collect();
    let known = keys.iter().enumerate().filter(|(n, _)| n % 4 != 0);
    futures_util::future::join_all(known.map(|(_, key)| worker.take(key))).await;
    worker.answer(&request("last:one"), b"bytes").await;

    let mut asked = keys;
    asked.push(request("last:one"));
    let records = worker.store.read(&asked).await.expect("an answer");
    assert_eq!(records.len(), 301);
    for (n, record) in records.iter().take(300).enumerate() {
        assert_eq!(record.is_none(), n % 4 == 0, "{n}");
    }
    let last = records
        .last()
        .expect("one each")
        .as_ref()
        .expect("a record");
    assert!(matches!(&last.state, RecordState::Done { result: Some(it) } if it == "bytes"));
}

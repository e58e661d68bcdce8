//! Cancel against completion: one of them wins, for good.

use puruto_fleet::store::{
    CancelAnswer, Carried, ClaimAnswer, Claims as _, CommitAnswer, RecordState, Records as _,
    Renewal, Sessions as _,
};

use super::world::{World, done, request};

pub(super) async fn a_cancel_before_the_commit_lets_only_a_cancelled_result_in(world: &impl World) {
    let worker = world.worker().await;
    let key = request("1");
    let (nonce, _) = worker.take(&key).await;
    let owned = CancelAnswer::Owned(worker.session.clone());
    assert_eq!(worker.store.cancel(&key).await, Ok(owned.clone()));
    assert_eq!(worker.store.cancel(&key).await, Ok(owned));

    assert_eq!(
        worker.commit(&key, nonce, b"too late").await,
        CommitAnswer::Cancelled
    );
    assert_eq!(worker.stop(&key, nonce).await, CommitAnswer::Committed);
    assert_eq!(worker.ask(&key).await.1, done(Some(b"stopped")));
    assert_eq!(
        worker.store.cancel(&key).await,
        Ok(CancelAnswer::AlreadyDone)
    );
}

pub(super) async fn a_cancel_after_the_commit_is_too_late(world: &impl World) {
    let worker = world.worker().await;
    let key = request("1");
    worker.answer(&key, b"done").await;
    assert_eq!(
        worker.store.cancel(&key).await,
        Ok(CancelAnswer::AlreadyDone)
    );
    assert_eq!(worker.ask(&key).await.1, done(Some(b"done")));
    worker.store.settle(&key).await.expect("settled");
    assert_eq!(
        worker.store.cancel(&key).await,
        Ok(CancelAnswer::AlreadyDone)
    );
}

pub(super) async fn a_cancel_before_any_claim_reaches_whoever_claims(world: &impl World) {
    let worker = world.worker().await;
    let key = request("1");
    assert_eq!(worker.store.cancel(&key).await, Ok(CancelAnswer::Flagged));
    let record = worker.record(&key).await.expect("a record");
    assert_eq!(record.state, RecordState::Flagged);
    assert_eq!((record.attempts, record.first_claimed), (0, None));

    let (nonce, claimed) = worker.take(&key).await;
    assert!(claimed.cancelled && !claimed.fresh);
    let ClaimAnswer::Claimed(again) = worker.ask_with(&key, nonce).await else {
        panic!("the claim is ours");
    };
    assert!(again.cancelled);
    assert_eq!(
        worker.commit(&key, nonce, b"ran").await,
        CommitAnswer::Cancelled
    );
}

pub(super) async fn a_cancel_outlives_its_owner(world: &impl World) {
    let (dead, heir) = (world.worker().await, world.worker().await);
    let key = request("1");
    dead.take(&key).await;
    world.expire(&dead.session).await;
    // The owner cannot be told any more.
    assert_eq!(heir.store.cancel(&key).await, Ok(CancelAnswer::Flagged));

    let (nonce, claimed) = heir.take(&key).await;
    assert!(claimed.cancelled);
    let told = Renewal::Renewed {
        cancelled: vec![key.clone()],
    };
    assert_eq!(heir.store.renew(&heir.session).await, Ok(told));
    heir.store
        .release(&key, nonce, &Carried::default())
        .await
        .expect("released");
    assert!(heir.take(&key).await.1.cancelled);
}

pub(super) async fn every_renewal_names_the_cancelled_until_they_end(world: &impl World) {
    let worker = world.worker().await;
    let renew = || async {
        worker
            .store
            .renew(&worker.session)
            .await
            .expect("an answer")
    };
    let names = |keys: &[&str]| Renewal::Renewed {
        cancelled: keys.iter().map(|id| request(id)).collect(),
    };
    let (nonce, _) = worker.take(&request("a:1")).await;
    let (given_back, _) = worker.take(&request("2")).await;
    assert_eq!(renew().await, names(&[]));

    worker
        .store
        .cancel(&request("a:1"))
        .await
        .expect("an answer");
    // An answer that was lost is given again.
    assert_eq!(renew().await, names(&["a:1"]));
    assert_eq!(renew().await, names(&["a:1"]));
    let committed = worker.stop(&request("a:1"), nonce).await;
    assert_eq!(committed, CommitAnswer::Committed);
    assert_eq!(renew().await, names(&[]));

    worker.store.cancel(&request("2")).await.expect("an answer");
    assert_eq!(renew().await, names(&["2"]));
    let released = worker
        .store
        .release(&request("2"), given_back, &Carried::default())
        .await;
    released.expect("released");
    assert_eq!(renew().await, names(&[]));
}

//! Where a request comes from.

use puruto_fleet::{
    clock::Chance,
    store::{
        CancelAnswer, ClaimAnswer, Claims as _, Nonce, RecordState, Records as _,
        kin::{Intended, Kin},
    },
};

use super::{
    family::{child, lineage},
    world::{World, request},
};

pub(super) async fn a_child_knows_where_it_comes_from_whoever_claims_it_and_once_it_is_done(
    world: &impl World,
) {
    let (worker, parent) = (world.worker().await, request("1"));
    let child = child(&parent, 0, 0);
    for _ in 0..2 {
        let intended = worker.intend(&parent, &child).await;
        assert_eq!(intended, Intended::Expected);
    }
    let record = worker.record(&child.key).await.expect("a record");
    assert_eq!(record.state, RecordState::Intended);
    assert_eq!((record.attempts, record.first_claimed), (0, None));
    assert_eq!(record.lineage, Some(lineage(&parent, &child)));

    let kin = Some(Box::new(Kin {
        lineage: Some(lineage(&parent, &child)),
        ..Kin::default()
    }));
    let (nonce, claimed) = worker.take(&child.key).await;
    assert!(claimed.fresh && claimed.attempt.number() == 1);
    assert_eq!(claimed.kin, kin);
    let ClaimAnswer::Claimed(again) = worker.ask_with(&child.key, nonce).await else {
        panic!("the claim is ours");
    };
    assert!(again.fresh);
    assert_eq!(again.kin, kin);

    worker.commit(&child.key, nonce, b"done").await;
    for _ in 0..2 {
        let (_, ClaimAnswer::Done { kin: told, .. }) = worker.ask(&child.key).await else {
            panic!("it is done");
        };
        assert_eq!(told, kin);
        worker.store.settle(&child.key).await.expect("settled");
    }
    let intended = worker.intend(&parent, &child).await;
    assert_eq!(intended, Intended::Done);
}

pub(super) async fn a_child_that_is_there_already_keeps_its_state_and_learns_its_origin(
    world: &impl World,
) {
    let (worker, parent) = (world.worker().await, request("1"));
    let child = child(&parent, 0, 0);
    let (nonce, _) = worker.take(&child.key).await;
    let intended = worker.intend(&parent, &child).await;
    assert_eq!(intended, Intended::Expected);
    let ClaimAnswer::Claimed(claimed) = worker.ask_with(&child.key, nonce).await else {
        panic!("the claim is ours");
    };
    let lineage = lineage(&parent, &child);
    assert_eq!(claimed.kin.and_then(|kin| kin.lineage), Some(lineage));

    let other = Nonce::fresh(&Chance::system());
    let squatted = super::family::child(&parent, 0, 1);
    worker
        .ask_about(&squatted.key, other, b"another question")
        .await;
    let intended = worker.intend(&parent, &squatted).await;
    assert_eq!(intended, Intended::Conflict);
    assert_eq!(
        worker.record(&squatted.key).await.expect("one").lineage,
        None
    );
}

pub(super) async fn an_intended_child_that_is_cancelled_never_runs(world: &impl World) {
    let (worker, parent) = (world.worker().await, request("1"));
    let (first, second) = (child(&parent, 0, 0), child(&parent, 0, 1));
    worker.intend(&parent, &first).await;
    for key in [&first.key, &second.key] {
        assert_eq!(worker.store.cancel(key).await, Ok(CancelAnswer::Flagged));
    }
    // The cancel may come first.
    worker.intend(&parent, &second).await;
    for child in [first, second] {
        let record = worker.record(&child.key).await.expect("a record");
        assert_eq!(record.state, RecordState::Flagged);
        assert_eq!(record.lineage, Some(lineage(&parent, &child)));
        assert!(worker.take(&child.key).await.1.cancelled);
    }
}

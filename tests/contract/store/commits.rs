//! What came out.

use bytes::Bytes;
use puruto_fleet::store::{Claims as _, CommitAnswer, RecordState};

use super::world::{World, done, request};

pub(super) async fn any_bytes_are_stored_as_they_are(world: &impl World) {
    let worker = world.worker().await;
    let every_byte: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let every_byte: &'static [u8] = every_byte.leak();
    let large = br#"{"n":9007199254740993,"e":[],"f":1e400,"deep":{"a":[[[]]]}}"#;
    for (id, result) in [("all", every_byte), ("number", large), ("none", b"")] {
        let key = request(id);
        worker.answer(&key, result).await;
        assert_eq!(worker.ask(&key).await.1, done(Some(result)), "{id}");
    }
}

pub(super) async fn a_repeated_commit_changes_nothing(world: &impl World) {
    let worker = world.worker().await;
    let key = request("1");
    let nonce = worker.answer(&key, b"first").await;
    assert_eq!(
        worker.commit(&key, nonce, b"second").await,
        CommitAnswer::Committed
    );
    assert_eq!(worker.ask(&key).await.1, done(Some(b"first")));
}

pub(super) async fn a_settled_request_is_a_tombstone(world: &impl World) {
    let worker = world.worker().await;
    let key = request("1");
    let nonce = worker.answer(&key, b"published").await;
    let before = worker.record(&key).await.expect("a record");
    worker.store.settle(&key).await.expect("settled");
    worker.store.settle(&key).await.expect("settled again");

    assert_eq!(worker.ask(&key).await.1, done(None));
    assert_eq!(
        worker.commit(&key, nonce, b"again").await,
        CommitAnswer::Lost
    );
    let after = worker.record(&key).await.expect("a record");
    assert_eq!(after.state, RecordState::Done { result: None });
    assert_eq!(after.attempts, before.attempts);
    assert_eq!(after.first_claimed, before.first_claimed);
    assert_eq!(after.correlation, before.correlation);
    assert_eq!(after.age, before.age);
}

pub(super) async fn settling_what_is_not_done_changes_nothing(world: &impl World) {
    let worker = world.worker().await;
    worker
        .store
        .settle(&request("unknown"))
        .await
        .expect("an answer");
    assert_eq!(worker.record(&request("unknown")).await, None);

    let (nonce, _) = worker.take(&request("held")).await;
    worker
        .store
        .settle(&request("held"))
        .await
        .expect("an answer");
    let committed = worker.commit(&request("held"), nonce, b"mine").await;
    assert_eq!(committed, CommitAnswer::Committed);
}

pub(super) async fn a_correction_replaces_the_bytes_but_wakes_no_tombstone(world: &impl World) {
    let worker = world.worker().await;
    let key = request("1");
    let published = Bytes::from_static(b"published");
    let (nonce, _) = worker.take(&key).await;
    let corrected = worker.store.correct(&key, published.clone()).await;
    corrected.expect("an answer");
    assert_eq!(
        worker.commit(&key, nonce, b"mine").await,
        CommitAnswer::Committed
    );
    assert_eq!(worker.ask(&key).await.1, done(Some(b"mine")));

    let corrected = worker.store.correct(&key, published.clone()).await;
    corrected.expect("an answer");
    assert_eq!(worker.ask(&key).await.1, done(Some(b"published")));
    worker.store.settle(&key).await.expect("settled");
    let corrected = worker.store.correct(&key, published).await;
    corrected.expect("an answer");
    assert_eq!(worker.ask(&key).await.1, done(None));
}

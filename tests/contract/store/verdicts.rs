//! Requests that wait for somebody's verdict, and chains that are found by their id.

use std::time::Duration;

use puruto_fleet::{
    clock::Chance,
    contract::Fingerprint,
    store::{
        AckToken, CancelAnswer, ClaimAnswer, Claims, CommitAnswer, Nonce, RecordState, Records,
        RequestKey, Sessions, Waits,
        kin::{Due, DueFor, LetGo, Verdict, VerdictAnswer, WaitsOn},
    },
};

use super::{
    family::{owned, park, resting},
    world::{Worker, World, request},
};

const AGAIN: Duration = Duration::from_secs(600);

fn verdict(approved: bool) -> Verdict {
    Verdict {
        approved,
        by: "ana \"the boss\"".to_owned(),
        note: Some("within budget".to_owned()),
        fingerprint: Fingerprint::of_bytes(b"a question"),
    }
}

impl<S: Claims + Sessions + Records + Waits> Worker<S> {
    /// Claims a request and leaves it waiting for a verdict.
    async fn leave_asking(&self, key: &RequestKey) -> Nonce {
        let (nonce, _) = self.take(key).await;
        assert_eq!(self.ask_verdict(key, nonce).await, LetGo::Waiting);
        nonce
    }

    async fn ask_verdict(&self, key: &RequestKey, nonce: Nonce) -> LetGo {
        let owned = owned(key, nonce);
        let asked = self.store.ask_verdict(&owned, &resting("$JS.ACK.2")).await;
        asked.expect("an answer")
    }

    async fn decide(&self, key: &RequestKey, verdict: &Verdict) -> VerdictAnswer {
        let decided = self.store.decide(key, verdict).await;
        decided.expect("an answer")
    }
}

pub(super) async fn a_request_that_asks_for_a_verdict_waits_without_an_owner(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    let nonce = worker.leave_asking(&key).await;
    // As after a lost answer.
    assert_eq!(worker.ask_verdict(&key, nonce).await, LetGo::Waiting);
    let record = worker.record(&key).await.expect("a record");
    let (on, cancelled) = (WaitsOn::Verdict, false);
    assert_eq!(record.state, RecordState::Waiting { on, cancelled });
    assert_eq!((record.verdict, record.attempts), (None, 0));
    assert_eq!(worker.ask(&key).await.1, ClaimAnswer::Waiting);
    assert_eq!(
        worker.commit(&key, nonce, b"unasked").await,
        CommitAnswer::Lost
    );
}

pub(super) async fn a_verdict_lets_its_request_go_on_and_is_told_to_it(world: &impl World) {
    let worker = world.worker().await;
    for (id, approved) in [("approved", true), ("rejected", false)] {
        let (key, verdict) = (request(id), verdict(approved));
        worker.leave_asking(&key).await;
        assert_eq!(worker.decide(&key, &verdict).await, VerdictAnswer::Taken);
        let due = worker.store.due(9, AGAIN).await;
        let told = Due {
            key: key.clone(),
            ack: AckToken::new("$JS.ACK.2"),
            why: DueFor::Wake,
        };
        assert_eq!(due, Ok(vec![told]));
        let (nonce, claimed) = worker.take(&key).await;
        assert_eq!(claimed.attempt.number(), 1);
        let kin = claimed.kin.expect("kin");
        assert_eq!((kin.waits, kin.verdict.as_ref()), (false, Some(&verdict)));
        assert_eq!(worker.ask_verdict(&key, nonce).await, LetGo::Ready);
        worker.commit(&key, nonce, b"done").await;
        worker.store.settle(&key).await.expect("settled");
        let record = worker.record(&key).await.expect("a record");
        assert_eq!(record.verdict, Some(verdict));
    }
}

pub(super) async fn the_first_verdict_stands(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    worker.leave_asking(&key).await;
    let (yes, no) = (verdict(true), verdict(false));
    for _ in 0..2 {
        assert_eq!(worker.decide(&key, &yes).await, VerdictAnswer::Taken);
    }
    let decided = VerdictAnswer::Decided(yes.clone());
    assert_eq!(worker.decide(&key, &no).await, decided);
    worker.take(&key).await;
    assert_eq!(worker.decide(&key, &no).await, decided);
    assert_eq!(worker.decide(&key, &yes).await, VerdictAnswer::Taken);
}

pub(super) async fn a_verdict_is_about_this_request_and_asked_for(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    let verdict = verdict(true);
    assert_eq!(worker.decide(&key, &verdict).await, VerdictAnswer::NotAsked);
    let (nonce, _) = worker.take(&key).await;
    assert_eq!(worker.decide(&key, &verdict).await, VerdictAnswer::NotAsked);
    assert_eq!(worker.ask_verdict(&key, nonce).await, LetGo::Waiting);
    let other = Verdict {
        fingerprint: Fingerprint::of_bytes(b"another question"),
        ..verdict.clone()
    };
    assert_eq!(worker.decide(&key, &other).await, VerdictAnswer::Mismatch);
    assert_eq!(worker.ask(&key).await.1, ClaimAnswer::Waiting);

    let parent = request("parent");
    worker.leave_waiting(&parent, 1, 1).await;
    let answer = worker.decide(&parent, &verdict).await;
    assert_eq!(answer, VerdictAnswer::NotAsked);
}

pub(super) async fn a_cancel_ends_the_wait_for_a_verdict(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    worker.leave_asking(&key).await;
    let waiting = CancelAnswer::Waiting(Vec::new());
    assert_eq!(worker.store.cancel(&key).await, Ok(waiting));
    let due = worker.store.due(9, AGAIN).await.expect("an answer");
    assert_eq!(due.first().map(|it| it.why), Some(DueFor::End));
    let (nonce, claimed) = worker.take(&key).await;
    assert!(claimed.cancelled);
    assert_eq!(worker.ask_verdict(&key, nonce).await, LetGo::Ready);
    assert_eq!(worker.stop(&key, nonce).await, CommitAnswer::Committed);
    let late = worker.decide(&key, &verdict(true)).await;
    assert_eq!(late, VerdictAnswer::NotAsked);
}

pub(super) async fn what_was_approved_may_wait_for_children_of_its_own(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    worker.leave_asking(&key).await;
    worker.decide(&key, &verdict(true)).await;
    let (nonce, _) = worker.take(&key).await;
    worker.park(&key, nonce, &park(&key, 0, 1, 1)).await;
    assert_eq!(worker.let_go(&key, nonce).await, LetGo::Waiting);
    assert_eq!(
        worker.ask(&key).await.1,
        ClaimAnswer::Waiting,
        "a verdict is no child"
    );
    let stranger = owned(&key, Nonce::fresh(&Chance::system()));
    let resting = resting("$JS.ACK.3");
    let refused = worker.store.ask_verdict(&stranger, &resting).await;
    assert_eq!(refused, Ok(LetGo::Lost));
}

pub(super) async fn a_chain_is_found_by_its_id(world: &impl World) {
    let worker = world.worker().await;
    let chain = "chain:1 é".parse().expect("an id");
    assert_eq!(worker.store.roots(&chain).await, Ok(Vec::new()));
    let roots = [request("a:1"), request("b")];
    for root in roots.iter().rev().chain(&roots) {
        worker.store.note_root(&chain, root).await.expect("noted");
    }
    assert_eq!(worker.store.roots(&chain).await, Ok(roots.to_vec()));
    let other = "chain".parse().expect("an id");
    assert_eq!(worker.store.roots(&other).await, Ok(Vec::new()));
}

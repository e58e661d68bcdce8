//! Requests that wait for those that they asked.

use std::time::Duration;

use puruto_fleet::{
    clock::{Chance, WallTime},
    contract::{Deadline, Micros, Spent, Step},
    store::{
        AckToken, CancelAnswer, ClaimAnswer, Claims as _, Commit, CommitAnswer, Nonce, RecordState,
        Records as _, Waits as _,
        kin::{ChildEnd, Due, DueFor, LetGo, ParkAnswer, Resting, WaitsOn, Woken},
    },
};

use super::{
    family::{child, owned, park, resting, resting_for},
    world::{World, request},
};

const AGAIN: Duration = Duration::from_secs(600);

pub(super) async fn what_was_parked_is_owed_and_parking_it_again_changes_nothing(
    world: &impl World,
) {
    let (worker, key) = (world.worker().await, request("1"));
    assert_eq!(worker.store.wait(&key).await, Ok(None));
    let (nonce, claimed) = worker.take(&key).await;
    assert_eq!(claimed.kin, None);

    let delegation = park(&key, 0, 3, 2);
    for _ in 0..2 {
        worker.park(&key, nonce, &delegation).await;
        let outbox = worker.store.outbox(&key).await.expect("an answer");
        assert_eq!(outbox, delegation.children);
        let wait = worker.store.wait(&key).await.expect("an answer");
        let wait = wait.expect("a wait");
        assert_eq!((wait.step, wait.join, wait.sent), (Step::new(0), 2, false));
        assert_eq!(wait.running().count(), 3);
        let record = worker.record(&key).await.expect("a record");
        assert_eq!(record.spent.requests, 30);
        assert_eq!(record.spent.descendants, 3 + 3 * 4);
        assert!(matches!(record.state, RecordState::Held { .. }));
    }
    let children = worker.store.children(&key).await.expect("an answer");
    let parked: Vec<_> = delegation.children.into_iter().map(|(it, _)| it).collect();
    assert_eq!(children, parked);
}

pub(super) async fn a_request_that_waits_has_no_owner_and_lets_nobody_in(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    let nonce = worker.leave_waiting(&key, 1, 1).await;
    // As after a lost answer.
    assert_eq!(worker.let_go(&key, nonce).await, LetGo::Waiting);
    let record = worker.record(&key).await.expect("a record");
    let on = WaitsOn::Children;
    let cancelled = false;
    assert_eq!(record.state, RecordState::Waiting { on, cancelled });
    assert_eq!(worker.store.outbox(&key).await, Ok(Vec::new()));
    let wait = worker.store.wait(&key).await.expect("an answer");
    assert!(wait.is_some_and(|it| it.sent && !it.is_over()));

    for _ in 0..2 {
        assert_eq!(worker.ask(&key).await.1, ClaimAnswer::Waiting);
    }
    assert_eq!(
        worker.commit(&key, nonce, b"too early").await,
        CommitAnswer::Lost
    );
    // The delivery that came last is the one to settle.
    let woken = worker.tell(&key, &child(&key, 0, 0)).await;
    assert_eq!(woken, Woken::Wake(AckToken::new("$JS.ACK.1")));
}

pub(super) async fn the_child_that_ends_the_wait_wakes_its_parent_and_wakes_it_again_when_told_again(
    world: &impl World,
) {
    let (worker, key) = (world.worker().await, request("1"));
    worker.leave_waiting(&key, 3, 2).await;
    let wake = Woken::Wake(AckToken::new("$JS.ACK.2"));
    assert_eq!(worker.tell(&key, &child(&key, 0, 2)).await, Woken::Noted);
    assert_eq!(worker.tell(&key, &child(&key, 0, 2)).await, Woken::Noted);
    assert_eq!(worker.tell(&key, &child(&key, 0, 0)).await, wake);
    assert_eq!(worker.tell(&key, &child(&key, 0, 2)).await, wake);
    for stranger in [child(&key, 0, 3), child(&key, 1, 0)] {
        assert_eq!(worker.tell(&key, &stranger).await, Woken::Ignored);
    }
    let unknown = request("unknown");
    let orphan = child(&unknown, 0, 0);
    assert_eq!(worker.tell(&unknown, &orphan).await, Woken::Ignored);

    let (_, claimed) = worker.take(&key).await;
    assert!(
        claimed
            .kin
            .is_some_and(|kin| kin.waits && kin.steps.is_empty())
    );
    assert_eq!(worker.tell(&key, &child(&key, 0, 2)).await, Woken::Noted);
    let wait = worker.store.wait(&key).await.expect("an answer");
    let ends = wait
        .expect("a wait")
        .children
        .into_iter()
        .map(|(_, end)| end);
    let answered = Some(ChildEnd::Answered);
    assert_eq!(ends.collect::<Vec<_>>(), [answered, None, answered]);
}

pub(super) async fn whoever_was_answered_while_it_still_had_the_request_goes_on_at_once(
    world: &impl World,
) {
    let (worker, key) = (world.worker().await, request("1"));
    let (nonce, _) = worker.take(&key).await;
    assert_eq!(worker.let_go(&key, nonce).await, LetGo::Ready);
    worker.park(&key, nonce, &park(&key, 0, 1, 1)).await;
    assert_eq!(worker.tell(&key, &child(&key, 0, 0)).await, Woken::Noted);
    assert_eq!(worker.let_go(&key, nonce).await, LetGo::Ready);
    assert_eq!(worker.store.outbox(&key).await, Ok(Vec::new()));
    assert_eq!(
        worker.commit(&key, nonce, b"mine").await,
        CommitAnswer::Committed
    );
}

pub(super) async fn waiting_counts_no_attempt(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    worker.leave_waiting(&key, 1, 1).await;
    assert_eq!(worker.record(&key).await.expect("one").attempts, 0);
    worker.tell(&key, &child(&key, 0, 0)).await;
    let (nonce, claimed) = worker.take(&key).await;
    assert_eq!((claimed.attempt.number(), claimed.fresh), (1, false));
    worker
        .store
        .resume(&owned(&key, nonce), Step::new(0))
        .await
        .expect("resumed");
    worker.park(&key, nonce, &park(&key, 1, 1, 1)).await;
    assert_eq!(worker.let_go(&key, nonce).await, LetGo::Waiting);
    worker.tell(&key, &child(&key, 1, 0)).await;
    let (_, claimed) = worker.take(&key).await;
    assert_eq!(claimed.attempt.number(), 1);
    let kin = claimed.kin.expect("kin");
    assert!(kin.waits);
    assert_eq!(kin.steps, [Step::new(0)]);
}

pub(super) async fn a_resumed_request_drops_the_children_that_have_not_ended(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    worker.leave_waiting(&key, 3, 1).await;
    worker.tell(&key, &child(&key, 0, 1)).await;
    let (nonce, _) = worker.take(&key).await;
    let (us, step) = (owned(&key, nonce), Step::new(0));
    for _ in 0..2 {
        let dropped = worker.store.resume(&us, step).await.expect("an answer");
        assert_eq!(dropped, [child(&key, 0, 0), child(&key, 0, 2)]);
    }
    assert_eq!(worker.tell(&key, &child(&key, 0, 0)).await, Woken::Ignored);
    let nothing = worker.store.resume(&us, Step::new(1)).await;
    assert_eq!(nothing, Ok(Vec::new()));
    let ClaimAnswer::Claimed(again) = worker.ask_with(&key, nonce).await else {
        panic!("the claim is ours");
    };
    let kin = again.kin.expect("kin");
    assert!(!kin.waits);
    assert_eq!(kin.steps, [step]);
    // It waits for nothing now.
    assert_eq!(worker.let_go(&key, nonce).await, LetGo::Ready);
}

pub(super) async fn a_slice_is_charged_until_its_child_ends_and_what_it_spent_from_then_on(
    world: &impl World,
) {
    let (worker, key) = (world.worker().await, request("1"));
    let nonce = worker.leave_waiting(&key, 2, 1).await;
    let spent = Spent {
        requests: 3,
        tokens: 70,
        cost: Micros(9),
        descendants: 1,
    };
    for _ in 0..2 {
        worker.tell_spent(&key, &child(&key, 0, 0), spent).await;
        let record = worker.record(&key).await.expect("a record");
        assert_eq!(record.spent.requests, 10 + 3);
        assert_eq!(record.spent.tokens, 1_000 + 70);
        assert_eq!(record.spent.cost, Micros(500 + 9));
        assert_eq!(record.spent.descendants, 2 + 4 + 1);
    }
    let (second, _) = worker.take(&key).await;
    assert_ne!(nonce, second);
    worker
        .store
        .resume(&owned(&key, second), Step::new(0))
        .await
        .expect("resumed");
    // Nobody waits for it, and it was paid for.
    let late = worker.tell_spent(&key, &child(&key, 0, 1), spent).await;
    assert_eq!(late, Woken::Ignored);
    let commit = Commit {
        spent: Spent {
            requests: 1,
            ..Spent::default()
        },
        ..Commit::default()
    };
    for _ in 0..2 {
        let committed = worker.store.commit(&key, second, commit.clone()).await;
        assert_eq!(committed, Ok(CommitAnswer::Committed));
        let record = worker.record(&key).await.expect("a record");
        assert_eq!(record.spent.requests, 3 + 3 + 1);
        assert_eq!(record.spent.descendants, 2 + 1 + 1);
    }
}

pub(super) async fn a_cancel_tells_the_children_that_run_and_lets_the_next_claim_in(
    world: &impl World,
) {
    let (worker, key) = (world.worker().await, request("1"));
    worker.leave_waiting(&key, 3, 3).await;
    worker.tell(&key, &child(&key, 0, 1)).await;
    let running = CancelAnswer::Waiting(vec![child(&key, 0, 0), child(&key, 0, 2)]);
    for _ in 0..2 {
        assert_eq!(worker.store.cancel(&key).await, Ok(running.clone()));
    }
    let due = worker.store.due(9, AGAIN).await.expect("an answer");
    assert_eq!(due.first().map(|it| it.why), Some(DueFor::End));
    let (nonce, claimed) = worker.take(&key).await;
    assert!(claimed.cancelled && claimed.kin.is_some_and(|kin| kin.waits));
    let (us, more) = (owned(&key, nonce), park(&key, 1, 1, 1));
    let refused = worker.store.park(&us, &more).await;
    assert_eq!(refused, Ok(ParkAnswer::Cancelled));
    assert_eq!(worker.let_go(&key, nonce).await, LetGo::Ready);
    assert_eq!(worker.stop(&key, nonce).await, CommitAnswer::Committed);
}

pub(super) async fn a_deadline_that_has_passed_lets_the_next_claim_in(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    worker.leave_waiting(&key, 1, 1).await;
    let nonce = Nonce::fresh(&Chance::system());
    let mut claim = worker.claim_of(&key, nonce, b"a question");
    claim.deadline = Deadline::of(WallTime::from_unix_millis(1), Duration::ZERO, None);
    let answer = worker.store.claim(claim).await;
    assert!(matches!(answer, Ok(ClaimAnswer::Claimed(_))), "{answer:?}");
}

pub(super) async fn what_is_due_is_told_with_the_reason_and_not_again_for_a_while(
    world: &impl World,
) {
    let worker = world.worker().await;
    let due = || async { worker.store.due(9, AGAIN).await.expect("an answer") };
    let told = |id: &str, why| Due {
        key: request(id),
        ack: AckToken::new("$JS.ACK.2"),
        why,
    };
    assert_eq!(due().await, []);
    worker.leave_waiting(&request("asleep"), 1, 1).await;
    assert_eq!(due().await, []);

    let woken = request("woken:1");
    worker.leave_waiting(&woken, 1, 1).await;
    worker.tell(&woken, &child(&woken, 0, 0)).await;
    assert_eq!(due().await, [told("woken:1", DueFor::Wake)]);
    assert_eq!(due().await, []);
    worker.tell(&woken, &child(&woken, 0, 0)).await;
    worker.take(&woken).await;
    assert_eq!(due().await, [], "it is claimed");

    let silent = request("silent");
    let (nonce, _) = worker.take(&silent).await;
    worker.park(&silent, nonce, &park(&silent, 0, 1, 1)).await;
    let at_once = resting_for("$JS.ACK.2", Duration::ZERO);
    let let_go = worker.store.let_go(&owned(&silent, nonce), &at_once).await;
    assert_eq!(let_go, Ok(LetGo::Waiting));
    assert_eq!(due().await, [told("silent", DueFor::Look)]);

    let late = request("late");
    let (nonce, _) = worker.take(&late).await;
    worker.park(&late, nonce, &park(&late, 0, 1, 1)).await;
    let passed = Resting {
        deadline: Deadline::of(WallTime::from_unix_millis(1), Duration::ZERO, None),
        ..resting("$JS.ACK.2")
    };
    let let_go = worker.store.let_go(&owned(&late, nonce), &passed).await;
    assert_eq!(let_go, Ok(LetGo::Waiting));
    assert_eq!(worker.store.due(0, AGAIN).await, Ok(Vec::new()));
    assert_eq!(due().await, [told("late", DueFor::End)]);
    assert_eq!(due().await, []);
}

pub(super) async fn however_many_are_due_what_is_cancelled_is_told_at_once(world: &impl World) {
    let worker = world.worker().await;
    let silent: Vec<_> = (0..200)
        .map(|it| request(&format!("silent-{it}")))
        .collect();
    for key in &silent {
        let (nonce, _) = worker.take(key).await;
        worker.park(key, nonce, &park(key, 0, 1, 1)).await;
        let at_once = resting_for("$JS.ACK.2", Duration::ZERO);
        let let_go = worker.store.let_go(&owned(key, nonce), &at_once).await;
        assert_eq!(let_go, Ok(LetGo::Waiting));
    }
    let cancelled = silent.iter().step_by(40);
    for key in cancelled.clone() {
        let answer = worker.store.cancel(key).await;
        assert!(matches!(answer, Ok(CancelAnswer::Waiting(_))), "{answer:?}");
    }
    let due = worker.store.due(100, AGAIN).await.expect("an answer");
    assert!(due.len() <= 100);
    let ends = due.iter().filter(|it| it.why == DueFor::End);
    let ends: std::collections::HashSet<_> = ends.map(|it| &it.key).collect();
    assert_eq!(ends, cancelled.collect());
}

pub(super) async fn only_the_owner_parks_lets_go_and_resumes(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    let stranger = owned(&key, Nonce::fresh(&Chance::system()));
    let delegation = park(&key, 0, 1, 1);
    let refused = worker.store.park(&stranger, &delegation).await;
    assert_eq!(refused, Ok(ParkAnswer::Lost));
    let (nonce, _) = worker.take(&key).await;
    let refused = worker.store.park(&stranger, &delegation).await;
    assert_eq!(refused, Ok(ParkAnswer::Lost));
    assert_eq!(worker.store.children(&key).await, Ok(Vec::new()));
    worker.park(&key, nonce, &delegation).await;
    let refused = worker.store.let_go(&stranger, &resting("$JS.ACK.3")).await;
    assert_eq!(refused, Ok(LetGo::Lost));
    let refused = worker.store.resume(&stranger, Step::new(0)).await;
    assert_eq!(refused, Ok(Vec::new()));
    let wait = worker.store.wait(&key).await.expect("an answer");
    assert_eq!(wait.expect("a wait").running().count(), 1);
}

pub(super) async fn a_request_whose_result_is_there_waits_for_nothing_and_still_knows_its_children(
    world: &impl World,
) {
    let (worker, key) = (world.worker().await, request("1"));
    worker.leave_waiting(&key, 2, 1).await;
    let kids = [child(&key, 0, 0), child(&key, 0, 1)];
    worker.tell(&key, &kids[0]).await;
    let (nonce, _) = worker.take(&key).await;
    let committed = worker.commit(&key, nonce, b"done").await;
    assert_eq!(committed, CommitAnswer::Committed);
    worker.store.settle(&key).await.expect("settled");
    assert_eq!(worker.store.wait(&key).await, Ok(None));
    assert_eq!(worker.tell(&key, &kids[1]).await, Woken::Ignored);
    assert_eq!(worker.store.children(&key).await, Ok(kids.to_vec()));
    let record = worker.record(&key).await.expect("a record");
    assert_eq!(record.spent.descendants, 2);
}

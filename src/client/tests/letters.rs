//! Dead letters, as their reader finds, replays and removes them.

use std::num::NonZeroUsize;

use super::*;
use crate::{
    broker::{DeadLetter, DeadReason, StoredMessage},
    contract::IpcKind,
    store::Attempt,
};

const BODY: &str = r#"{"request_id":"r-1","correlation_id":"c-1","caller":"puruto-reservations","target":"puruto-financial","action":"pay_invoice","prompt":"pay #123","mood":{"a":1.50}}"#;

const SUBJECT: &str = "puruto.invoke.puruto-financial.high";

/// The letter of [`key`]'s request, dead for this reason, with this body.
fn letter(reason: DeadReason, body: &str) -> DeadLetter {
    let mut headers = Headers::new();
    for (name, value) in [
        ("Nats-Msg-Id", "r-1.c-1"),
        ("Nats-Expected-Stream", "S"),
        ("Puruto-Deadline", "2020-01-01T00:00:00Z"),
        ("Puruto-Priority", "high"),
    ] {
        headers.push_named(name, value);
    }
    DeadLetter {
        reason,
        detail: "its workers died".into(),
        target: Some(key().target),
        attempts: Some(Attempt::new(5)),
        last_worker: Some("w-1".into()),
        request: Some(request()),
        correlation: Some(correlation()),
        message: StoredMessage {
            sequence: 70,
            subject: SUBJECT.into(),
            headers: Ok(headers),
            body: body.to_owned().into(),
            stored_at: WallTime::from_unix_millis(1_600_000_000_000),
        },
    }
}

fn poisoned() -> InvocationResult {
    InvocationResult {
        outcome: Outcome::Error(ResultError::ipc(IpcKind::Poisoned, "dead")),
        ..done("")
    }
}

impl World {
    /// What replaying letter `sequence` came to: the request as it is published, or the refusal.
    async fn replay(&self, sequence: u64, demand: Demand) -> Result<Replay, Refusal> {
        let buried = self.client.letter(sequence).await.unwrap().expect("there");
        let replay = self.client.replay_of(&buried, demand).await.unwrap()?;
        self.client.replay(&replay).await.unwrap();
        Ok(replay)
    }

    async fn found(&self, filter: &LetterFilter) -> Vec<u64> {
        let most = NonZeroUsize::new(100).unwrap();
        let found = self.client.letters(filter, most).await.unwrap();
        assert_eq!((found.older, found.strangers.len()), (0, 0));
        found.letters.iter().map(|it| it.sequence).collect()
    }
}

#[tokio::test]
async fn a_poisoned_request_runs_again_under_an_id_of_its_own_in_its_chain() {
    let world = World::new().await;
    world
        .exchange
        .bury(&letter(DeadReason::Poisoned, BODY))
        .await;
    world.work(Some(&poisoned())).await;

    let replay = world.replay(1, Demand::Usual).await.unwrap();

    assert_eq!(replay.request.as_str(), "r-1-replay-1");
    assert_eq!(
        (replay.original, replay.correlation),
        (request(), correlation())
    );
    let published = world.exchange.published();
    assert_eq!(published.len(), 1);
    assert_eq!(published[0].subject, SUBJECT);
    let body = String::from_utf8(published[0].body.to_vec()).unwrap();
    let draft = Draft::parse(body.as_bytes()).unwrap();
    assert_eq!(draft.request_id, Some(replay.request));
    assert_eq!(draft.correlation_id, Some(correlation()));
    assert!(body.contains(r#""mood":{"a":1.5}"#), "{body}");
    let headers: Vec<_> = published[0].headers.iter().map(|it| it.0).collect();
    assert_eq!(headers, ["Nats-Msg-Id", "Puruto-Priority"]);
    assert_eq!(world.exchange.letters(), Vec::<u64>::new());
}

#[tokio::test]
async fn what_nobody_answered_is_published_as_it_was_under_a_message_id_of_its_own() {
    let world = World::new().await;
    world
        .exchange
        .bury(&letter(DeadReason::Malformed, BODY))
        .await;

    let replay = world.replay(1, Demand::Usual).await.unwrap();

    assert_eq!(replay.request, request());
    let published = &world.exchange.published()[0];
    assert_eq!(published.body, BODY);
    let message_id = published.headers.get(Header::MessageId);
    assert_eq!(message_id, Some("replay.PURUTO_DLQ.1.1700000000000"));
}

#[tokio::test]
async fn a_replay_that_is_sent_twice_is_the_same_message() {
    let world = World::new().await;
    world
        .exchange
        .bury(&letter(DeadReason::Poisoned, BODY))
        .await;
    world.work(Some(&poisoned())).await;
    let buried = world.client.letter(1).await.unwrap().unwrap();
    let first = world.client.replay_of(&buried, Demand::Usual).await;
    // Its confirmation is lost, and so is whoever sent it: the letter is still there.
    world.exchange.answer_publish(Err(timed_out()));
    let replay = world.replay(1, Demand::Usual).await.unwrap();

    assert_eq!(first.unwrap().unwrap(), replay);
    let published = world.exchange.published();
    assert_eq!(published.len(), 2);
    assert_eq!(published[0].headers, published[1].headers);
    assert_eq!(published[0].body, published[1].body);
    assert_eq!(world.client.letter(1).await, Ok(None));
}

#[tokio::test]
async fn a_request_that_was_answered_otherwise_runs_again_only_on_demand() {
    let world = World::new().await;
    world
        .exchange
        .bury(&letter(DeadReason::Malformed, BODY))
        .await;
    world.work(Some(&done("paid"))).await;

    let refused = world.replay(1, Demand::Usual).await.unwrap_err();
    assert!(matches!(&refused, Refusal::Answered { how, .. } if how == "ok"));
    assert!(world.exchange.published().is_empty());
    assert_eq!(world.exchange.letters(), [1]);

    let forced = world.replay(1, Demand::Forced).await.unwrap();
    assert_eq!(forced.request.as_str(), "r-1-replay-1");
}

#[tokio::test]
async fn a_request_that_is_still_at_work_is_not_run_beside_itself() {
    let world = World::new().await;
    for reason in [DeadReason::Poisoned, DeadReason::Malformed] {
        world.exchange.bury(&letter(reason, BODY)).await;
    }
    world.work(None).await;
    let refused = world.replay(1, Demand::Usual).await.unwrap_err();
    assert!(matches!(refused, Refusal::UnderWay { .. }), "{refused:?}");

    // Its worker dies. What was malformed has no message any more: it waits for nobody else.
    let mut malformed = letter(DeadReason::Malformed, BODY);
    malformed.message.sequence += 1;
    world.exchange.bury(&malformed).await;
    world.store.expire_session(&world.session);
    let refused = world.replay(1, Demand::Usual).await.unwrap_err();
    assert!(matches!(refused, Refusal::UnderWay { .. }), "{refused:?}");
    let again = world.replay(2, Demand::Usual).await.unwrap();
    assert_eq!(again.request, request());
}

#[tokio::test]
async fn what_no_worker_could_read_is_not_replayed_by_any_demand() {
    let world = World::new().await;
    let mut foreign = letter(DeadReason::Malformed, BODY);
    foreign.message.subject = "$JS.API.STREAM.DELETE.PURUTO_INVOKE".into();
    let too_large = letter(DeadReason::Malformed, &"x".repeat(2 * 1024 * 1024));
    let letters = [letter(DeadReason::Malformed, "[]"), foreign, too_large];
    for (mut letter, sequence) in letters.into_iter().zip(70..) {
        letter.message.sequence = sequence;
        world.exchange.bury(&letter).await;
    }

    let refusals = [
        world.replay(1, Demand::Forced).await.unwrap_err(),
        world.replay(2, Demand::Forced).await.unwrap_err(),
        world.replay(3, Demand::Forced).await.unwrap_err(),
    ];
    assert!(matches!(refusals[0], Refusal::NoRequest(_)), "{refusals:?}");
    assert!(matches!(refusals[1], Refusal::ForeignSubject(_)));
    assert_eq!(refusals[2], Refusal::Incomplete);
    assert!(world.exchange.published().is_empty());
    assert_eq!(world.exchange.letters(), [1, 2, 3]);
}

#[tokio::test]
async fn a_request_whose_author_named_no_ids_keeps_those_that_it_was_given() {
    let world = World::new().await;
    let body = r#"{"target":"puruto-financial","action":"pay_invoice","prompt":"pay #123"}"#;
    world
        .exchange
        .bury(&letter(DeadReason::Malformed, body))
        .await;

    let replay = world.replay(1, Demand::Usual).await.unwrap();

    let draft = Draft::parse(&world.exchange.published()[0].body).unwrap();
    assert_eq!(draft.request_id, Some(replay.request.clone()));
    assert_eq!(draft.correlation_id, Some(replay.correlation));
    assert_eq!(replay.original, replay.request);
}

#[tokio::test]
async fn a_replay_of_a_replay_is_named_after_the_first_request() {
    let world = World::new().await;
    let body = BODY.replace("r-1", "r-1-replay-3");
    world
        .exchange
        .bury(&letter(DeadReason::Malformed, BODY))
        .await;
    let mut again = letter(DeadReason::Malformed, &body);
    again.message.sequence += 1;
    world.exchange.bury(&again).await;
    let result = InvocationResult {
        request_id: "r-1-replay-3".parse().unwrap(),
        ..poisoned()
    };
    let place = Subjects::default().result(&correlation(), &result.request_id);
    world.exchange.store(message(place, fingerprint(), &result));

    let replay = world.replay(2, Demand::Usual).await.unwrap();
    assert_eq!(replay.request.as_str(), "r-1-replay-2");
}

/// A poisoned letter, and one minute later a malformed one of another target, in the same chain.
async fn two_letters() -> World {
    let world = World::new().await;
    let mut other = letter(DeadReason::Malformed, "[]");
    other.message.sequence += 1;
    other.target = Some("puruto-data".parse().unwrap());
    other.request = None;
    world
        .exchange
        .bury(&letter(DeadReason::Poisoned, BODY))
        .await;
    world.clock.advance(Duration::from_secs(60));
    world.exchange.bury(&other).await;
    world
}

#[tokio::test]
async fn letters_are_found_by_all_that_is_said_of_them() {
    let world = two_letters().await;
    let in_between = Some(WallTime::from_unix_millis(1_700_000_030_000));
    let mut any = LetterFilter::default();
    assert_eq!(world.found(&any).await, [1, 2]);
    any.correlation = Some(correlation());
    assert_eq!(world.client.letter_sequences(&any).await, Ok(vec![1, 2]));
    assert_eq!(world.found(&LetterFilter::of_request(request())).await, [1]);

    let (mut target, mut reason) = (any.clone(), any.clone());
    target.target = Some("puruto-data".parse().unwrap());
    reason.reason = Some(DeadReason::Poisoned);
    assert_eq!(world.found(&target).await, [2]);
    assert_eq!(world.found(&reason).await, [1]);
    let (mut since, mut before) = (any.clone(), any);
    since.since = in_between;
    before.before = in_between;
    assert_eq!(world.found(&since).await, [2]);
    assert_eq!(world.found(&before).await, [1]);
}

#[tokio::test]
async fn the_newest_letters_are_found_first() {
    let world = two_letters().await;
    let any = LetterFilter::default();
    let newest = world.client.letters(&any, NonZeroUsize::MIN).await.unwrap();
    assert_eq!((newest.letters[0].sequence, newest.older), (2, 1));
}

#[tokio::test]
async fn a_letter_is_removed_once() {
    let world = World::new().await;
    world
        .exchange
        .bury(&letter(DeadReason::Poisoned, BODY))
        .await;
    assert_eq!(world.client.remove_letter(1).await, Ok(true));
    assert_eq!(world.client.remove_letter(1).await, Ok(false));
    assert_eq!(world.client.letter(1).await, Ok(None));
}

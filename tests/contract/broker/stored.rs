//! What lies in the stream of requests is seen, read and removed without a consumer, and what is
//! dead is kept once.

use std::time::Duration;

use puruto_fleet::{
    broker::{
        Broker, DeadLetter, DeadLetters, DeadReason, HeaderFault, Headers, Missing, Pull, Stored,
        StoredMessage,
    },
    contract::Lane,
    store::Attempt,
};

use super::harness::{self, Harness, lane_of, next, nothing, subject};

const LONE_RETURN: &[u8] = b"NATS/1.0\r\nX: a\rb\r\n\r\n";
const ALL: &str = "puruto.invoke.>";

promises!(
    subjects_without_a_consumer_are_counted,
    a_stored_message_is_read_as_it_was_published,
    what_a_client_cannot_read_is_read_and_removed,
    a_subject_that_is_no_text_is_found_by_a_wildcard,
    a_message_is_found_from_a_sequence_on_under_a_filter,
    a_message_that_a_worker_has_is_removed_all_the_same,
    a_stored_message_is_settled_like_a_delivery,
    a_message_has_one_dead_letter_however_often_it_is_buried,
    a_dead_letter_as_large_as_a_message_can_be_is_kept,
);

/// The first message that is stored, which has to be there.
async fn first<H: Harness>(world: &H) -> StoredMessage {
    let first = world.broker().next(0, ALL).await.expect("an answer");
    first.expect("a message")
}

async fn subjects_without_a_consumer_are_counted<H: Harness>() {
    let world = H::start().await;
    assert_eq!(world.broker().subjects().await, Ok(Vec::new()));
    for to in ["nobody", "nobody", "nobody.else.knows", "\u{e9}"] {
        let to = format!("puruto.invoke.{to}");
        world.publish_raw(to.as_bytes(), b"", b"{}").await;
    }
    let mut found = world.broker().subjects().await.expect("an answer");
    found.sort_by(|one, other| one.subject.cmp(&other.subject));
    let found: Vec<_> = found.iter().map(|it| (&*it.subject, it.messages)).collect();
    let expected = [
        ("puruto.invoke.nobody", 2),
        ("puruto.invoke.nobody.else.knows", 1),
        ("puruto.invoke.\u{e9}", 1),
    ];
    assert_eq!(found, expected);
}

async fn a_stored_message_is_read_as_it_was_published<H: Harness>() {
    let world = H::start().await;
    let block = b"NATS/1.0\r\ntraceparent: 00-a\r\nPuruto-Priority: high\r\n\r\n";
    let body = [&b"\x00\xff\r\n"[..], &vec![b'x'; 1_000_000]].concat();
    world
        .publish_raw(b"puruto.invoke.nobody", block, &body)
        .await;
    let stored = world.broker().read(1).await.expect("an answer");
    let stored = stored.expect("a message");
    assert_eq!(
        (stored.sequence, &*stored.subject),
        (1, "puruto.invoke.nobody")
    );
    assert!(stored.body == body);
    let headers = stored.headers.expect("readable");
    assert_eq!(headers.get_named("Puruto-Priority"), Some("high"));
    assert!(stored.stored_at.unix_millis() > 1_700_000_000_000);
    assert_eq!(world.broker().read(2).await, Ok(None));
}

async fn what_a_client_cannot_read_is_read_and_removed<H: Harness>() {
    let world = H::start().await;
    for block in [LONE_RETURN, b"NATS/1.0\r\nX: \xff\r\n\r\n", b"no"] {
        world
            .publish_raw(subject(Lane::Normal).as_bytes(), block, b"{}")
            .await;
        let found = first(&world).await;
        let unreadable = found.headers.clone().expect_err("unreadable");
        assert_eq!(&*unreadable.raw, block);
        assert_eq!(
            (&*found.subject, &*found.body),
            (&*subject(Lane::Normal), &b"{}"[..])
        );
        assert!(found.clone().into_delivery(Lane::Normal).is_err());
        assert_eq!(world.broker().remove(found.sequence).await, Ok(true));
        assert_eq!(world.broker().remove(found.sequence).await, Ok(false));
        assert_eq!(world.broker().read(found.sequence).await, Ok(None));
    }
}

async fn a_subject_that_is_no_text_is_found_by_a_wildcard<H: Harness>() {
    let world = H::start().await;
    for bytes in [&b"puruto.invoke.\xff"[..], b"puruto.invoke.\xfe"] {
        world.publish_raw(bytes, b"", b"{}").await;
    }
    let counted = world.broker().subjects().await.expect("an answer");
    let unreadable = counted.iter().filter(|it| it.subject.contains('\u{fffd}'));
    assert_eq!(unreadable.map(|it| it.messages).sum::<u64>(), 2);
    let found = first(&world).await;
    assert_eq!(&*found.subject, "puruto.invoke.\u{fffd}");
    assert_eq!(world.broker().remove(found.sequence).await, Ok(true));
    assert_eq!(first(&world).await.sequence, 2);
}

async fn a_message_is_found_from_a_sequence_on_under_a_filter<H: Harness>() {
    let world = H::start().await;
    for to in ["a", "b", "a", "a.high"] {
        let to = format!("puruto.invoke.{to}");
        world.publish_raw(to.as_bytes(), b"", b"{}").await;
    }
    let found = async |from, filter| {
        let found = world.broker().next(from, filter).await.expect("an answer");
        found.map(|it| it.sequence)
    };
    assert_eq!(found(1, "puruto.invoke.a").await, Some(1));
    assert_eq!(found(2, "puruto.invoke.a").await, Some(3));
    assert_eq!(found(4, "puruto.invoke.a").await, None);
    assert_eq!(found(2, "puruto.invoke.a.*").await, Some(4));
    assert_eq!(found(0, ALL).await, Some(1));
    assert_eq!(found(5, ALL).await, None);
}

async fn a_message_that_a_worker_has_is_removed_all_the_same<H: Harness>() {
    let world = H::start().await;
    world.publish(Lane::Normal, "1").await;
    let mut lane = lane_of(world.broker()).await;
    lane.demand(2);
    let delivery = next(&mut lane).await;
    assert_eq!(world.broker().remove(delivery.sequence).await, Ok(true));
    assert_eq!(world.stored().await, 0);
    world.broker().nak(&delivery.ack, Duration::ZERO).await;
    nothing(&mut lane).await;
    assert_eq!(world.broker().ack(&delivery.ack).await, Ok(()));
}

async fn a_stored_message_is_settled_like_a_delivery<H: Harness>() {
    let world = H::start().await;
    world.publish_raw(b"puruto.invoke.nobody", b"", b"{}").await;
    let delivery = first(&world).await.into_delivery(Lane::Normal);
    let delivery = delivery.expect("readable");
    assert_eq!((delivery.sequence, delivery.delivered), (1, 1));
    world.broker().nak(&delivery.ack, Duration::ZERO).await;
    world.broker().in_progress(&delivery.ack).await;
    assert_eq!(world.stored().await, 1);
    assert_eq!(world.broker().ack(&delivery.ack).await, Ok(()));
    assert_eq!(world.stored().await, 0);
    assert_eq!(world.broker().ack(&delivery.ack).await, Ok(()));
}

fn letter(message: StoredMessage) -> DeadLetter {
    DeadLetter {
        reason: DeadReason::Unreadable,
        detail: "a header value holds a carriage return".into(),
        target: Some(harness::target()),
        attempts: Some(Attempt::new(2)),
        last_worker: Some("host-1".into()),
        request: Some("r-1".parse().expect("an id")),
        correlation: None,
        message,
    }
}

async fn a_message_has_one_dead_letter_however_often_it_is_buried<H: Harness>() {
    let world = H::start().await;
    for block in [LONE_RETURN, b"NATS/1.0\r\nNats-Msg-Id: r-1\r\n\r\n"] {
        world
            .publish_raw(subject(Lane::Normal).as_bytes(), block, b"\x00\xff")
            .await;
    }
    let hostile = letter(first(&world).await);
    let plain = world.broker().read(2).await.expect("an answer");
    let mut plain = letter(plain.expect("a message"));
    plain.target = None;
    for letter in [&hostile, &plain, &hostile] {
        assert_eq!(world.broker().bury(letter).await, Ok(()));
    }
    let buried = world.dead_letters().await;
    let letters: Vec<_> = buried.iter().map(|it| &it.letter).collect();
    assert_eq!(letters, [&hostile, &plain]);
    let fault = hostile.message.headers.expect_err("unreadable").fault;
    assert_eq!(fault, HeaderFault::LineBreak);
}

async fn a_dead_letter_as_large_as_a_message_can_be_is_kept<H: Harness>() {
    let world = H::start().await;
    let limit = world.broker().payload_max();
    let message = |sequence, headers: Headers, bytes: usize| StoredMessage {
        sequence,
        subject: subject(Lane::Normal).into(),
        headers: Ok(headers),
        body: vec![b'x'; bytes].into(),
        stored_at: puruto_fleet::clock::WallTime::from_unix_millis(1_700_000_000_000),
    };
    let mut large = Headers::new();
    large.push_named("X", &"y".repeat(limit / 2));
    for message in [
        message(1, Headers::new(), limit),
        message(2, large, limit / 2),
    ] {
        assert_eq!(world.broker().bury(&letter(message)).await, Ok(()));
    }
    let buried = world.dead_letters().await;
    let missing: Vec<_> = buried.iter().map(|it| it.missing).collect();
    assert_eq!(missing, [Missing::Body, Missing::Headers]);
    assert!(
        buried
            .iter()
            .all(|it| it.letter.reason == DeadReason::Unreadable)
    );
}

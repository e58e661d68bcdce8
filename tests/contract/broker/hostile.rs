//! Messages that no client library would send.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use puruto_fleet::{
    broker::{
        Broker, BuriedLetter, DeadReason, HeaderFault, Headers, Publishing, Pull, ResultMessage,
        nats::{Incident, NatsBroker, Observer},
    },
    contract::Lane,
    store::AckToken,
};
use tokio::time::{Instant, sleep, timeout};

use super::harness::{Harness, Real, SOON, lane_of, next, nothing, result, subject, target};

/// Header blocks that no client library should be handed, and what is wrong with each.
const HOSTILE: [(&[u8], HeaderFault); 5] = [
    (b"NATS/1.0\r\nX: a\rb\r\n\r\n", HeaderFault::LineBreak),
    (b"NATS/1.0\r\nX: \xff\xfe\r\n\r\n", HeaderFault::NotUtf8),
    (b"NATS/1.0\r\nno colon\r\n\r\n", HeaderFault::NoColon),
    (b"NATS/1.0\r\na name: b\r\n\r\n", HeaderFault::Name),
    (b"NATS/9.9\r\nA: b\r\n\r\n", HeaderFault::Version),
];

/// Sooner than a message comes again that nobody settled.
const AT_ONCE: Duration = Duration::from_secs(10);

async fn publish_hostile(world: &Real, header_block: &[u8]) {
    let to = subject(Lane::Normal);
    let body = br#"{"request_id":"r-1","prompt":"hello"}"#;
    world.publish_raw(to.as_bytes(), header_block, body).await;
}

/// The dead letters, once there are so many.
async fn dead_letters(world: &Real, many: usize) -> Vec<BuriedLetter> {
    let buried = async {
        loop {
            let letters = world.dead_letters().await;
            if letters.len() >= many && world.stored().await == 0 {
                return letters;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, buried).await.expect("dead letters")
}

#[tokio::test]
async fn a_message_that_breaks_the_pull_connection_is_buried_and_breaks_nothing_else() {
    for (header_block, fault) in HOSTILE {
        let world = Real::start().await;
        let mut poisoned = lane_of(&world.broker).await;
        let mut other = world
            .broker
            .lane(&target(), Lane::High)
            .await
            .expect("a lane");
        publish_hostile(&world, header_block).await;
        poisoned.demand(1);
        other.demand(1);
        nothing(&mut poisoned).await;
        let letters = tokio::select! {
            letters = dead_letters(&world, 1) => letters,
            never = poisoned.next() => panic!("it cannot be delivered: {never:?}"),
        };
        let [BuriedLetter { letter, .. }] = &*letters else {
            panic!("one letter: {letters:?}");
        };
        assert_eq!(letter.reason, DeadReason::Unreadable);
        let unreadable = letter.message.headers.as_ref().expect_err("unreadable");
        assert_eq!((&*unreadable.raw, unreadable.fault), (header_block, fault));
        assert_eq!(letter.request, Some("r-1".parse().expect("an id")));
        for (lane, body, pulled) in [
            (Lane::High, "urgent", &mut other),
            (Lane::Normal, "plain", &mut poisoned),
        ] {
            world.publish(lane, body).await;
            let delivery = next(pulled).await;
            assert_eq!(&*delivery.body, body.as_bytes());
            assert_eq!(world.broker.ack(&delivery.ack).await, Ok(()));
        }
        let published = world.broker.publish_result(&result("one")).await;
        assert_eq!(published, Ok(Publishing::Stored));
    }
}

#[tokio::test]
async fn what_was_lost_behind_a_message_that_cannot_be_read_comes_at_once() {
    for (header_block, _) in HOSTILE {
        let world = Real::start().await;
        let mut lane = lane_of(&world.broker).await;
        world.publish(Lane::Normal, "before").await;
        publish_hostile(&world, header_block).await;
        publish_hostile(&world, header_block).await;
        world.publish(Lane::Normal, "behind").await;
        world.publish(Lane::Normal, "last").await;
        let began = Instant::now();
        lane.demand(5);
        let mut bodies = Vec::new();
        for _ in 0..3 {
            let delivery = next(&mut lane).await;
            assert_eq!(world.broker.ack(&delivery.ack).await, Ok(()));
            bodies.push(String::from_utf8_lossy(&delivery.body).into_owned());
        }
        assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
        bodies.sort();
        assert_eq!(
            bodies,
            ["before", "behind", "last"],
            "{}",
            header_block.escape_ascii()
        );
        assert_eq!(dead_letters(&world, 2).await.len(), 2);
        nothing(&mut lane).await;
    }
}

#[tokio::test]
async fn what_no_client_can_read_is_read_where_a_result_was_to_stand() {
    for (header_block, fault) in HOSTILE {
        let mut world = Real::start().await;
        let incidents = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&incidents);
        let mut options = world.options();
        options.observer = Observer::new(move |_, incident| {
            told.lock().expect("whole").push(incident.clone());
        });
        world.broker = NatsBroker::connect(options).await.expect("a broker");
        let ours = result("ours");
        world
            .publish_raw(ours.subject.as_bytes(), header_block, b"theirs")
            .await;
        let published = world.broker.publish_result(&ours).await;
        assert_eq!(published, Ok(Publishing::AlreadyThere));
        let there = world.broker.read_result(&ours.subject).await;
        let there = there.expect("an answer").expect("a message");
        assert_eq!(
            (&*there.body, there.headers),
            (&b"theirs"[..], Headers::new())
        );
        let sequence = 1;
        let unreadable = Incident::UnreadableResult { sequence, fault };
        assert_eq!(*incidents.lock().expect("whole"), [unreadable]);
    }
}

#[tokio::test]
async fn what_is_no_subject_never_reaches_the_wire() {
    let world = Real::start().await;
    let long = format!("puruto.result.{}.r", "x".repeat(10_000));
    for bad in [
        "",
        "a b",
        "a\r\nPUB x 0",
        "puruto.result.*",
        "puruto.result.>",
        "a..b",
        &long,
    ] {
        world.broker.read_result(bad).await.expect_err(bad);
        let mut message = result("one");
        message.subject = bad.into();
        world.broker.publish_result(&message).await.expect_err(bad);
        world.broker.reply(bad, &message).await;
        world.broker.ack(&AckToken::new(bad)).await.expect_err(bad);
        world.broker.nak(&AckToken::new(bad), Duration::ZERO).await;
    }
    let published = world.broker.publish_result(&result("one")).await;
    assert_eq!(published, Ok(Publishing::Stored));
}

#[tokio::test]
async fn a_header_cannot_add_a_line() {
    let world = Real::start().await;
    let mut message = result("one");
    message.headers = Headers::new();
    message
        .headers
        .push_named("Puruto-Status", "ok\r\nX-Other: yes");
    message.headers.push_named("a bad: name", "dropped");
    let published = world.broker.publish_result(&message).await;
    assert_eq!(published, Ok(Publishing::Stored));
    let read = world.broker.read_result(&message.subject).await;
    let headers = read.expect("an answer").expect("a result").headers;
    assert_eq!(headers.get_named("Puruto-Status"), Some("okX-Other: yes"));
    assert_eq!(headers.get_named("X-Other"), None);
}

#[tokio::test]
async fn a_message_larger_than_the_server_takes_is_not_sent() {
    let world = Real::start().await;
    let message = ResultMessage {
        body: vec![b'x'; 1024 * 1024 - 10].into(),
        ..result("")
    };
    let published = timeout(SOON, world.broker.publish_result(&message)).await;
    let fault = published.expect("bounded").unwrap_err();
    assert_eq!(fault.kind(), "too_large", "{fault}");
    let next = world.broker.publish_result(&result("one")).await;
    assert_eq!(next, Ok(Publishing::Stored));
}

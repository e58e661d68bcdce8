//! Messages that no client library would send.

use std::time::Duration;

use puruto_fleet::{
    broker::{Broker, Headers, Publishing, Pull, ResultMessage},
    contract::Lane,
    store::AckToken,
};
use tokio::time::timeout;

use super::harness::{Harness, Real, SOON, lane_of, next, result, subject, target};

#[tokio::test]
async fn a_message_that_kills_the_pull_connection_kills_nothing_else() {
    for headers in [
        &b"NATS/1.0\r\nX: a\rb\r\n\r\n"[..],
        &b"NATS/1.0\r\nX: \xff\xfe\r\n\r\n"[..],
        &b"NATS/1.0\r\nno colon\r\n\r\n"[..],
    ] {
        let world = Real::start().await;
        let mut poisoned = lane_of(&world.broker).await;
        let mut other = world
            .broker
            .lane(&target(), Lane::High)
            .await
            .expect("a lane");
        let to = subject(Lane::Normal);
        world.publish_raw(to.as_bytes(), headers, b"{}").await;
        poisoned.demand(1);
        let none = timeout(Duration::from_millis(500), poisoned.next()).await;
        assert!(none.is_err(), "{none:?}");
        // The poison is out until its ack wait has passed; what comes behind it flows.
        other.demand(1);
        world.publish(Lane::High, "urgent").await;
        let urgent = next(&mut other).await;
        assert_eq!(world.broker.ack(&urgent.ack).await, Ok(()));
        world.publish(Lane::Normal, "plain").await;
        assert_eq!(&*next(&mut poisoned).await.body, b"plain");
        let published = world.broker.publish_result(&result("one")).await;
        assert_eq!(published, Ok(Publishing::Stored));
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

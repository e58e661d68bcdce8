//! What a caller does with a real broker.

use std::time::Duration;

use puruto_fleet::{
    broker::{
        Asking as _, Broker, Headers, Pull, ResultMessage,
        nats::{NatsBroker, NatsClient},
    },
    contract::{Header, Lane},
    store::RequestKey,
};
use tokio::time::timeout;

use super::harness::{
    Harness, Real, SOON, lane_of, next, options, result, server, subject, target,
};

async fn client(world: &Real) -> NatsClient {
    NatsClient::connect(world.options())
        .await
        .expect("a client")
}

fn result_of(chain: &str, request: &str) -> ResultMessage {
    ResultMessage {
        subject: format!("puruto.result.{chain}.{request}"),
        ..result("one")
    }
}

#[tokio::test]
async fn a_published_request_is_stored_once_a_message_id() {
    let world = Real::start().await;
    let client = client(&world).await;
    let mut headers = Headers::new();
    headers.push(Header::MessageId, "req 1");
    let publish = || client.publish_request("puruto.invoke.puruto-echo", &headers, "{}".into());
    let (first, again) = (publish().await.unwrap(), publish().await.unwrap());
    assert_eq!((first.sequence, first.duplicate), (1, false));
    assert_eq!((again.sequence, again.duplicate), (1, true));
    let mut lane = lane_of(&world.broker).await;
    lane.demand(1);
    let delivery = next(&mut lane).await;
    assert_eq!(delivery.headers.get(Header::MessageId), Some("req 1"));
}

#[tokio::test]
async fn a_target_exists_once_a_worker_has_served_it() {
    let world = Real::start().await;
    let client = client(&world).await;
    assert_eq!(client.target_exists(&target()).await, Ok(false));
    lane_of(&world.broker).await;
    assert_eq!(client.target_exists(&target()).await, Ok(true));
}

#[tokio::test]
async fn without_a_fleet_the_refusal_says_so() {
    let (server, _folder) = server().await;
    let client = NatsClient::connect(options(&server))
        .await
        .expect("a client");
    let (subject, headers) = (subject(Lane::Normal), Headers::new());
    let published = client.publish_request(&subject, &headers, "{}".into());
    let refused = published.await.unwrap_err().to_string();
    assert!(
        refused.contains("there is no stream PURUTO_INVOKE"),
        "{refused}"
    );
    client.target_exists(&target()).await.unwrap_err();
}

#[tokio::test]
async fn a_full_backlog_refuses_its_own_target_only() {
    let world = Real::start().await;
    let mut options = world.options();
    options.topology.backlog_cap = 2;
    NatsBroker::connect(options)
        .await
        .expect("a smaller backlog");
    let client = client(&world).await;
    let publish = |subject: &'static str| async {
        client
            .publish_request(subject, &Headers::new(), "{}".into())
            .await
    };
    publish("puruto.invoke.full").await.unwrap();
    publish("puruto.invoke.full").await.unwrap();
    let refused = publish("puruto.invoke.full").await.unwrap_err().to_string();
    assert!(
        refused.contains("the backlog of puruto.invoke.full is full"),
        "{refused}"
    );
    publish("puruto.invoke.other").await.unwrap();
}

#[tokio::test]
async fn results_are_heard_and_read_back() {
    let world = Real::start().await;
    let client = client(&world).await;
    let chain = "corr-1".parse().unwrap();
    let mut heard = client.results(&chain).await.expect("a subscription");
    assert_eq!(client.stored_results(&chain).await, Ok(Vec::new()));
    for (chain, request) in [("corr-1", "a"), ("other", "x"), ("corr-1", "b")] {
        let published = world
            .broker
            .publish_result(&result_of(chain, request))
            .await;
        published.expect("published");
    }
    for request in ["a", "b"] {
        let (subject, stored) = timeout(SOON, heard.next())
            .await
            .unwrap()
            .expect("a result");
        assert_eq!(subject, format!("puruto.result.corr-1.{request}"));
        assert_eq!(&*stored.body, b"one");
    }
    let stored = client.stored_results(&chain).await.expect("an answer");
    let subjects: Vec<&str> = stored.iter().map(|(subject, _)| subject.as_str()).collect();
    assert_eq!(
        subjects,
        ["puruto.result.corr-1.a", "puruto.result.corr-1.b"]
    );
    let found = client
        .find_result(&"x".parse().unwrap())
        .await
        .expect("an answer");
    assert_eq!(found.expect("a result").0, "puruto.result.other.x");
    assert_eq!(client.find_result(&"y".parse().unwrap()).await, Ok(None));
}

#[tokio::test]
async fn a_subscription_says_when_it_may_have_missed_something() {
    let mut world = Real::start().await;
    let client = client(&world).await;
    let mut heard = client.all_results().await.expect("a subscription");
    world.server.kill().await.expect("killed");
    world.server.restart().await.expect("restarted");
    assert!(timeout(SOON, heard.next()).await.expect("told").is_none());
    let missed = client.read_result(&result("one").subject).await;
    assert_eq!(missed, Ok(None));
    let published = async {
        while world.broker.publish_result(&result("one")).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(SOON, published).await.expect("published");
    assert!(timeout(SOON, heard.next()).await.expect("heard").is_some());
}

#[tokio::test]
async fn every_worker_hears_an_announced_cancel() {
    let world = Real::start().await;
    let other = NatsBroker::connect(world.options())
        .await
        .expect("another worker");
    let request = RequestKey {
        target: target(),
        request: "req 1.*".parse().unwrap(),
    };
    let client = client(&world).await;
    client.announce_cancel(&request).await.expect("announced");
    for worker in [&world.broker, &other] {
        let heard = timeout(SOON, worker.next_cancel()).await;
        assert_eq!(heard.expect("heard"), request);
    }
}

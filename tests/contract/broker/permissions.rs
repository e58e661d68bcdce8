//! A permission that is missing is named at the start, by a server that tells it nobody.

use std::fs;

use async_nats::{ConnectOptions, Subscriber};
use futures_util::StreamExt as _;
use puruto_fleet::{
    broker::{
        Asking as _, Broker as _, BrokerFault, Durability, Headers, SyncInterval,
        nats::{NatsAuth, NatsBroker, NatsClient, NatsOptions},
    },
    contract::Lane,
    dev::{server::Server, tool::Tool},
};
use tempfile::TempDir;
use tokio::time::{Instant, timeout};

use super::harness::{SOON, lane_of, options, result, server, subject, target};
use crate::support::{self, users};

async fn server_with(users: &str) -> (Server, TempDir) {
    let folder = TempDir::new().expect("a temporary folder");
    let settings = folder.path().join("nats.conf");
    fs::write(&settings, users).expect("a file");
    let server = support::start_with(Tool::Nats, folder.path(), Some(settings)).await;
    (server, folder)
}

fn as_worker(server: &Server) -> NatsOptions {
    let mut options = options(server);
    options.auth = NatsAuth::UserPassword {
        user: "worker".into(),
        password: "worker".into(),
    };
    options.inbox = Some("worker".into());
    options
}

async fn tried(server: &Server) -> Result<(), BrokerFault> {
    let broker = NatsBroker::open(as_worker(server)).await?;
    broker.try_permissions(&[target()]).await
}

#[tokio::test]
async fn each_missing_permission_is_named_at_the_start_and_not_waited_for() {
    for (missing, named) in [
        (
            "$JS.ACK.PURUTO_INVOKE.>",
            "$JS.ACK.PURUTO_INVOKE.puruto-echo.",
        ),
        (
            "$JS.API.CONSUMER.MSG.NEXT.PURUTO_INVOKE.*",
            "$JS.API.CONSUMER.MSG.NEXT.PURUTO_INVOKE.puruto-echo-high",
        ),
        (
            "$JS.API.STREAM.INFO.PURUTO_DLQ",
            "$JS.API.STREAM.INFO.PURUTO_DLQ",
        ),
        ("puruto.result.>", "publish to puruto.result."),
        ("puruto.event.>", "publish to puruto.event."),
        ("puruto.dlq.*", "publish to puruto.dlq.puruto-echo"),
        ("puruto.control.>", "subscribe to puruto.control.cancel"),
        ("_INBOX.>", "publish to _INBOX."),
    ] {
        let (server, _folder) = server_with(&users::shipped_without(missing)).await;
        let began = Instant::now();
        let refused = tried(&server).await.expect_err(missing);
        assert!(
            began.elapsed() < SOON / 2,
            "{missing}: {:?}",
            began.elapsed()
        );
        let BrokerFault::Unsuitable(words) = &refused else {
            panic!("{missing}: {refused:?}");
        };
        assert!(words.contains(named), "{missing}: {words}");
    }
}

#[tokio::test]
async fn whoever_waits_for_results_before_there_is_a_stream_keeps_no_worker_from_starting() {
    let one_for_all = "authorization { user: worker, password: worker }";
    let (server, _folder) = server_with(one_for_all).await;
    let named = ConnectOptions::with_user_and_password("worker".into(), "worker".into());
    let _results = watch(named, &server).await;
    assert_eq!(tried(&server).await, Ok(()));
}

#[tokio::test]
async fn where_nobody_is_asked_for_a_name_nothing_is_tried_that_a_watcher_would_hear() {
    let (server, _folder) = server_with("").await;
    let mut results = watch(ConnectOptions::new(), &server).await;
    let broker = NatsBroker::connect(options(&server))
        .await
        .expect("a broker");
    let tried = broker.try_permissions(&[target()]).await;
    assert_eq!(tried, Ok(()));
    broker.publish_result(&result("one")).await.expect("stored");
    let first = timeout(SOON, results.next()).await.expect("heard");
    assert_eq!(&*first.expect("a message").payload, b"one");
}

async fn watch(by: ConnectOptions, server: &Server) -> Subscriber {
    let client = by.connect(server.url()).await.expect("connected");
    let results = client.subscribe("puruto.result.>").await.expect("heard");
    client.flush().await.expect("the server knows of it");
    results
}

#[tokio::test]
async fn a_user_that_hears_no_answers_is_told_so() {
    let (server, _folder) = server_with(&users::shipped_without("_INBOX.worker.>")).await;
    let refused = tried(&server).await.expect_err("deaf");
    assert_eq!(refused.kind(), "denied", "{refused}");
    assert!(refused.to_string().contains("_INBOX.worker"), "{refused}");
}

#[tokio::test]
async fn the_shipped_worker_may_all_that_a_worker_does_and_sees_when_its_server_syncs() {
    let (server, _folder) = server_with(&users::shipped()).await;
    assert_eq!(tried(&server).await, Ok(()));
    let broker = NatsBroker::connect(as_worker(&server))
        .await
        .expect("a broker");
    lane_of(&broker).await;
    broker.publish_result(&result("one")).await.expect("stored");
    let Durability { sync, .. } = broker.durability().await;
    assert!(matches!(sync, SyncInterval::Every(_)), "{sync:?}");
}

#[tokio::test]
async fn a_login_may_stand_in_the_address() {
    let (server, _folder) = server_with(&users::shipped()).await;
    let mut login = as_worker(&server);
    login.auth = NatsAuth::None;
    login.urls = vec![server.url().replace("://", "://worker:worker@")];
    NatsBroker::open(login.clone()).await.expect("logged in");
    login.urls = vec![server.url()];
    NatsBroker::open(login).await.expect_err("a stranger");
}

#[tokio::test]
async fn trying_permissions_stores_nothing_and_takes_nothing() {
    let (server, _folder) = server().await;
    let broker = NatsBroker::connect(options(&server))
        .await
        .expect("a broker");
    lane_of(&broker).await;
    let client = NatsClient::connect(options(&server))
        .await
        .expect("a client");
    let (subject, headers) = (subject(Lane::Normal), Headers::new());
    let published = client.publish_request(&subject, &headers, "{}".into());
    published.await.expect("stored");
    assert_eq!(broker.try_permissions(&[target()]).await, Ok(()));
    let lanes = client.backlog().await.expect("the lanes");
    let (queued, running) = lanes.iter().fold((0, 0), |(queued, running), lane| {
        (queued + lane.queued, running + lane.running)
    });
    assert_eq!((queued, running), (1, 0));
    assert_eq!(
        client.find_result(&"canary".parse().expect("an id")).await,
        Ok(None)
    );
    assert_eq!(broker.durability().await.sync, SyncInterval::Unknown);
}

//! Streams and consumers are made what the fleet needs, or refused with the reason.

use std::{num::NonZeroU8, time::Duration};

use async_nats::jetstream::{
    consumer::pull,
    stream::{Config, DiscardPolicy, RetentionPolicy, StorageType},
};
use puruto_fleet::{
    broker::{
        Broker, BrokerFault,
        nats::{EpochVerdict, NatsBroker},
        topology::RESULTS_MAX_AGE,
    },
    clock::WallTime,
    contract::Lane,
    store::Epoch,
};

use super::harness::{Harness, Real, lane_of, options, other_client, server, target};

#[tokio::test]
async fn a_fresh_server_gets_every_stream_and_consumer_as_designed() {
    let world = Real::start().await;
    let requests = world.requests().await.cached_info().config.clone();
    assert_eq!(requests.subjects, ["puruto.invoke.>"]);
    assert_eq!(requests.retention, RetentionPolicy::WorkQueue);
    assert_eq!(requests.max_messages_per_subject, 1_000_000);
    let results = world
        .jetstream
        .get_stream("PURUTO_RESULTS")
        .await
        .expect("results");
    let results = results.cached_info().config.clone();
    assert_eq!(results.max_age, Duration::from_secs(72 * 3600));
    assert_eq!(results.max_messages_per_subject, 1);
    assert!(results.allow_direct);
    world
        .jetstream
        .get_stream("PURUTO_DLQ")
        .await
        .expect("dead letters");
    let events = world.jetstream.get_stream("PURUTO_EVENTS").await;
    let events = events.expect("events").cached_info().config.clone();
    assert_eq!(events.max_age, Duration::from_secs(24 * 3600));
    assert_eq!(
        (events.max_bytes, events.discard),
        (256 << 20, DiscardPolicy::Old)
    );
    world
        .jetstream
        .get_key_value("PURUTO_FLEET")
        .await
        .expect("a bucket");
    lane_of(&world.broker).await;
    let consumer = world.consumer("puruto-echo").await.config;
    assert_eq!(consumer.ack_wait, Duration::from_secs(15));
    assert_eq!(
        (consumer.max_ack_pending, consumer.max_deliver),
        (-1, 1_000)
    );
}

#[tokio::test]
async fn a_prefix_has_streams_of_its_own_beside_another_fleet() {
    let world = Real::start().await;
    let mut acme = world.options();
    acme.subjects = "acme.fleet".parse().expect("a prefix");
    NatsBroker::connect(acme).await.expect("a second fleet");
    let stream = world
        .jetstream
        .get_stream("ACME_FLEET_INVOKE")
        .await
        .expect("its stream");
    assert_eq!(
        stream.cached_info().config.subjects,
        ["acme.fleet.invoke.>"]
    );
}

#[tokio::test]
async fn drift_is_updated_and_what_nobody_asked_for_stays() {
    let world = Real::start().await;
    let mut config = world.requests().await.cached_info().config.clone();
    config.max_messages_per_subject = 7;
    config.max_bytes = 1 << 30;
    world
        .jetstream
        .update_stream(&config)
        .await
        .expect("changed by hand");
    lane_of(&world.broker).await;
    let mut consumer = pull::Config {
        durable_name: Some("puruto-echo".into()),
        filter_subject: "puruto.invoke.puruto-echo".into(),
        max_ack_pending: -1,
        max_deliver: 1_000,
        max_waiting: 4_096,
        ..pull::Config::default()
    };
    consumer.ack_wait = Duration::from_secs(60);
    let changed = world.requests().await.update_consumer(consumer).await;
    changed.expect("changed by hand");

    let broker = NatsBroker::connect(world.options())
        .await
        .expect("reconciled");
    lane_of(&broker).await;
    let config = world.requests().await.cached_info().config.clone();
    assert_eq!(
        (config.max_messages_per_subject, config.max_bytes),
        (1_000_000, 1 << 30)
    );
    let consumer = world.consumer("puruto-echo").await.config;
    assert_eq!(consumer.ack_wait, Duration::from_secs(15));
}

#[tokio::test]
async fn what_the_server_cannot_change_is_refused_with_the_reason() {
    let (server, _folder) = server().await;
    let jetstream = async_nats::jetstream::new(other_client(&server).await);
    let by_hand = Config {
        name: "PURUTO_INVOKE".into(),
        subjects: vec!["puruto.invoke.>".into()],
        storage: StorageType::Memory,
        ..Config::default()
    };
    jetstream
        .create_stream(by_hand)
        .await
        .expect("made by hand");
    let refused = NatsBroker::connect(options(&server)).await.unwrap_err();
    let BrokerFault::Unsuitable(words) = &refused else {
        panic!("{refused:?}");
    };
    for part in [
        "stream PURUTO_INVOKE",
        r#"storage is "memory", wanted "file""#,
        "refuses",
    ] {
        assert!(words.contains(part), "{words}");
    }
}

#[tokio::test]
async fn more_replicas_than_servers_is_refused_in_the_servers_words() {
    let (server, _folder) = server().await;
    let mut options = options(&server);
    options.topology.replicas = NonZeroU8::new(3).expect("three");
    let refused = NatsBroker::connect(options).await.unwrap_err();
    assert!(
        matches!(refused, BrokerFault::Refused { code: Some(_), .. }),
        "{refused:?}"
    );
    assert!(refused.to_string().contains("replicas"), "{refused}");
}

#[tokio::test]
async fn the_first_to_see_a_new_epoch_decides_for_all() {
    let world = Real::start().await;
    let now = WallTime::from_unix_millis(1_000_000);
    let later = now.saturating_add(Duration::from_secs(60));
    let ask = |epoch: &'static str, at| {
        let broker = &world.broker;
        async move {
            let epoch = Epoch::recorded(epoch);
            broker.epoch_verdict(&epoch, at).await.expect("a verdict")
        }
    };
    assert_eq!(ask("one", now).await, EpochVerdict::Same);
    assert_eq!(ask("one", later).await, EpochVerdict::Same);
    let until = now.saturating_add(RESULTS_MAX_AGE);
    assert_eq!(ask("two", now).await, EpochVerdict::Differs { until });
    assert_eq!(ask("two", later).await, EpochVerdict::Differs { until });
    assert_eq!(ask("two", until).await, EpochVerdict::Same);
}

#[tokio::test]
async fn lanes_of_one_target_do_not_overlap() {
    let world = Real::start().await;
    for lane in Lane::ALL {
        world.broker.lane(&target(), lane).await.expect("a lane");
    }
    let high = world.consumer("puruto-echo-high").await.config;
    assert_eq!(high.filter_subject, "puruto.invoke.puruto-echo.high");
}

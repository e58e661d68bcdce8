//! The desk on a broker and a store in memory.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    client::{
        Client, Patience, Settings,
        fake::{FakeExchange, SERVED},
    },
    clock::{Chance, Clock},
    contract::{ErrorCode, Subjects},
    policy::{LivePolicies, PolicySet},
    store::twin::{Fault, Op, StoreTwin},
};

const KEPT: Duration = Duration::from_secs(3_600);

struct World {
    exchange: FakeExchange,
    store: StoreTwin,
    desk: Desk,
}

impl World {
    fn new() -> Self {
        let clock = Clock::system();
        let (exchange, store) = (
            FakeExchange::new(clock.clone()),
            StoreTwin::new(clock.clone()),
        );
        let policies = tempfile::tempdir().unwrap();
        let folder = policies.path().join("puruto-gateway");
        std::fs::create_dir(&folder).unwrap();
        let policy =
            format!("{{\"owner\": \"puruto-gateway\", \"allowed_targets\": [\"{SERVED}\"]}}");
        std::fs::write(folder.join(".puruto-ipc.json"), policy).unwrap();
        let settings = Settings {
            subjects: Subjects::default(),
            policies: LivePolicies::fixed(PolicySet::load(policies.path()).0),
            patience: Patience {
                grace: Duration::from_secs(1),
                read_back: Duration::from_secs(1),
            },
            clock,
            chance: Chance::seeded(1),
        };
        let client = Client::new(exchange.clone(), store.clone(), settings);
        let fleet: Arc<dyn Fleet> = Arc::new(client);
        let hub = Hub::new(Arc::clone(&fleet), KEPT, CancellationToken::new());
        Self {
            exchange,
            store,
            desk: Desk::new(fleet, hub, KEPT),
        }
    }
}

fn key(name: &str) -> Principal {
    Principal::Key(name.into())
}

fn order(who: &Principal, target: &str, prompt: &str, idempotency: Option<&str>) -> Order {
    Order {
        who: who.clone(),
        caller: "ann".into(),
        skill: "com.example.pay-v1".into(),
        invocation: Invocation::new(
            "puruto-gateway".parse().unwrap(),
            target.parse().unwrap(),
            "pay".parse().unwrap(),
            prompt,
        ),
        idempotency: idempotency.and_then(IdempotencyKey::new),
    }
}

#[tokio::test]
async fn nothing_is_published_that_is_not_written_down() {
    let world = World::new();
    world
        .store
        .fail_next(Op::ExecutionBegin, Fault::BeforeEffect);
    let started = world
        .desk
        .start(order(&key("ann"), SERVED, "#1", None))
        .await;
    assert!(matches!(started, Err(Unstarted::Fault(_))), "{started:?}");
    assert!(world.exchange.published().is_empty());
}

#[tokio::test]
async fn nothing_is_written_down_that_the_fleet_would_refuse() {
    let world = World::new();
    let started = world
        .desk
        .start(order(&key("ann"), "puruto-data", "#1", None))
        .await;
    let Err(Unstarted::Refused(error)) = started else {
        panic!("{started:?}");
    };
    assert_eq!(error.code, ErrorCode::Denied);
    let listed = world.desk.list(&key("ann"), None, 10).await.unwrap();
    assert!(listed.is_empty());
}

#[tokio::test]
async fn whoever_died_between_writing_and_publishing_is_made_up_for() {
    let world = World::new();
    world.exchange.go_away_for_publishes(3);
    let first = world
        .desk
        .start(order(&key("ann"), SERVED, "#1", Some("k")))
        .await;
    assert!(matches!(first, Err(Unstarted::Fault(_))), "{first:?}");
    let before = world.exchange.published().len();
    let again = world
        .desk
        .start(order(&key("ann"), SERVED, "#1", Some("k")))
        .await;
    let again = again.unwrap();
    assert!(again.repeated);
    let published = world.exchange.published();
    assert_eq!(published.len(), before + 1);
    let id = again.execution.key.request.as_str();
    let body = String::from_utf8_lossy(&published[before].body).into_owned();
    assert!(body.contains(id), "{body}");
}

#[tokio::test]
async fn a_key_used_for_another_order_is_a_conflict() {
    let world = World::new();
    world
        .desk
        .start(order(&key("ann"), SERVED, "#1", Some("k")))
        .await
        .unwrap();
    let other = world
        .desk
        .start(order(&key("ann"), SERVED, "#2", Some("k")))
        .await;
    assert!(matches!(other, Err(Unstarted::Conflict)), "{other:?}");
    // Another caller's key is another key.
    let theirs = world
        .desk
        .start(order(&key("bob"), SERVED, "#2", Some("k")))
        .await;
    assert!(!theirs.unwrap().repeated);
}

#[tokio::test]
async fn nobody_finds_what_is_anothers_and_everybody_what_is_nobodys() {
    let world = World::new();
    let (ann, bob) = (key("ann"), key("bob"));
    let hers = world
        .desk
        .start(order(&ann, SERVED, "#1", None))
        .await
        .unwrap();
    let hers = hers.execution.key.request.to_string();
    assert!(world.desk.find(&ann, &hers).await.is_ok());
    for other in [&bob, &Principal::Anonymous] {
        let found = world.desk.find(other, &hers).await;
        assert!(matches!(found, Err(Unfound::Unknown)), "{found:?}");
    }
    let nobodys = world
        .desk
        .start(order(&Principal::Anonymous, SERVED, "#1", None))
        .await;
    let nobodys = nobodys.unwrap().execution.key.request.to_string();
    for who in [&ann, &bob, &Principal::Anonymous] {
        assert!(world.desk.find(who, &nobodys).await.is_ok());
    }
}

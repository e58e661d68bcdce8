//! The hub on a broker and a store in memory, on a paused clock.

use super::*;
use crate::{
    broker::Headers,
    client::{
        Client, Patience, Settings,
        fake::{FakeExchange, SERVED},
    },
    clock::{Chance, Clock, WallTime},
    contract::{
        Deadline, Event, EventKind, Fingerprint, Header, InvocationResult, Outcome, Subjects,
    },
    gateway::executions::ExecutionStatus,
    policy::{LivePolicies, PolicySet},
    store::{RequestKey, twin::StoreTwin},
};

const KEPT: Duration = Duration::from_secs(3_600);

struct World {
    exchange: FakeExchange,
    hub: Hub,
    stop: CancellationToken,
    clock: Clock,
}

impl World {
    /// A hub that hears.
    async fn new() -> Self {
        let clock = Clock::system();
        let exchange = FakeExchange::new(clock.clone());
        let settings = Settings {
            subjects: Subjects::default(),
            policies: LivePolicies::fixed(PolicySet::default()),
            patience: Patience {
                grace: Duration::from_secs(1),
                read_back: Duration::from_secs(1),
            },
            clock: clock.clone(),
            chance: Chance::seeded(1),
        };
        let client = Client::new(exchange.clone(), StoreTwin::new(clock.clone()), settings);
        let stop = CancellationToken::new();
        let hub = Hub::new(Arc::new(client), KEPT, stop.clone());
        tokio::spawn(hub.clone().run());
        tokio::task::yield_now().await;
        let world = Self {
            exchange,
            hub,
            stop,
            clock,
        };
        world.until_it_hears().await;
        world
    }

    async fn until_it_hears(&self) {
        while self.exchange.subscriptions() < 2 {
            sleep(Duration::from_millis(1)).await;
        }
    }

    fn execution(&self) -> Execution {
        let created = self.clock.now();
        Execution {
            key: RequestKey {
                target: SERVED.parse().unwrap(),
                request: "r".parse().unwrap(),
            },
            correlation: "c".parse().unwrap(),
            skill: "a.b".into(),
            fingerprint: Fingerprint::of_bytes(b"ours"),
            created,
            deadline: Deadline::of(created, Duration::from_secs(30), None),
        }
    }
}

fn answer(to: &[u8], subject: &str) -> ResultMessage {
    let result = InvocationResult {
        request_id: "r".parse().unwrap(),
        correlation_id: "c".parse().unwrap(),
        duration: Duration::from_millis(5),
        outcome: Outcome::Ok(serde_json::json!({"summary": "done"})),
    };
    let mut headers = Headers::new();
    headers.push(Header::Fingerprint, &Fingerprint::of_bytes(to).to_string());
    ResultMessage {
        subject: subject.to_owned(),
        headers,
        body: result.to_json().into(),
    }
}

async fn status_soon(watched: &Watched) -> ExecutionStatus {
    let until = Instant::now() + Duration::from_secs(20);
    watched.end(until).await.unwrap().status()
}

#[tokio::test(start_paused = true)]
async fn a_result_is_heard_at_once() {
    let world = World::new().await;
    let watched = world.hub.watch(&world.execution()).await.unwrap();
    assert_eq!(watched.state().unwrap().status(), ExecutionStatus::Accepted);
    let began = Instant::now();
    let end = tokio::spawn({
        let watched = Arc::clone(&watched);
        async move { status_soon(&watched).await }
    });
    tokio::task::yield_now().await;
    world
        .exchange
        .publish(&answer(b"ours", "puruto.result.c.r"));
    assert_eq!(end.await.unwrap(), ExecutionStatus::Completed);
    assert!(began.elapsed() < TICK, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_an_end_is_told_how_it_stands_when_the_gateway_stops() {
    let world = World::new().await;
    let watched = world.hub.watch(&world.execution()).await.unwrap();
    let began = Instant::now();
    let end = tokio::spawn(async move { status_soon(&watched).await });
    tokio::task::yield_now().await;
    world.stop.cancel();
    assert_eq!(end.await.unwrap(), ExecutionStatus::Accepted);
    assert!(began.elapsed() < TICK, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_was_there_before_is_seen_when_it_is_watched() {
    let world = World::new().await;
    world.exchange.store(answer(b"ours", "puruto.result.c.r"));
    let watched = world.hub.watch(&world.execution()).await.unwrap();
    assert_eq!(
        watched.state().unwrap().status(),
        ExecutionStatus::Completed
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_missed_is_looked_for_after_a_break() {
    let world = World::new().await;
    let watched = world.hub.watch(&world.execution()).await.unwrap();
    world.exchange.store(answer(b"ours", "puruto.result.c.r"));
    world.exchange.reconnect();
    assert_eq!(status_soon(&watched).await, ExecutionStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_result_of_another_request_in_its_place_is_not_taken() {
    let world = World::new().await;
    let watched = world.hub.watch(&world.execution()).await.unwrap();
    world
        .exchange
        .publish(&answer(b"theirs", "puruto.result.c.r"));
    assert_eq!(status_soon(&watched).await, ExecutionStatus::Accepted);
    let aside = format!("puruto.result.c.r.{}", Fingerprint::of_bytes(b"ours"));
    world.exchange.publish(&answer(b"ours", &aside));
    assert_eq!(status_soon(&watched).await, ExecutionStatus::Completed);
}

#[tokio::test(start_paused = true)]
async fn an_event_is_told_once_however_often_it_comes() {
    let world = World::new().await;
    let execution = world.execution();
    let watched = world.hub.watch(&execution).await.unwrap();
    let event = Event {
        kind: EventKind::Started,
        at: world.clock.now(),
        target: execution.key.target.clone(),
        request_id: execution.key.request.clone(),
        correlation_id: execution.correlation.clone(),
        attempt: Some(1),
        details: serde_json::Map::new(),
    };
    let message = ResultMessage {
        subject: "puruto.event.c.r.started".to_owned(),
        headers: Headers::new(),
        body: event.to_json().into(),
    };
    for _ in 0..2 {
        let changed = watched.changed();
        world.exchange.publish(&message);
        // Nothing changes the second time.
        drop(tokio::time::timeout(Duration::from_secs(1), changed).await);
    }
    assert_eq!(watched.event(0).map(|it| it.kind), Some(EventKind::Started));
    assert_eq!(watched.event(1), None);
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_while_another_watches_sees_the_same_and_nothing_is_left_behind() {
    let world = World::new().await;
    let execution = world.execution();
    let first = world.hub.watch(&execution).await.unwrap();
    let second = world.hub.watch(&execution).await.unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    drop(first);
    assert_eq!(world.hub.0.watched().len(), 1);
    drop(second);
    assert!(world.hub.0.watched().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_no_longer_cannot_be_watched() {
    let world = World::new().await;
    let mut execution = world.execution();
    let long_ago = WallTime::from_unix_millis(1_000);
    execution.created = long_ago;
    execution.deadline = Deadline::of(long_ago, Duration::from_secs(30), None);
    let watched = world.hub.watch(&execution).await;
    assert!(matches!(watched, Err(Unfound::Gone)), "{watched:?}");
}

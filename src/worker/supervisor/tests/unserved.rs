//! Requests that no worker pulls.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::world::{Process, STREAM, World};
use crate::{
    broker::{
        Broker as _, DeadReason, Headers,
        twin::{FailAt, Operation},
    },
    contract::{Header, Lane, MintedIds, PurutoName, Subjects},
    store::{Claims as _, Commit, CommitAnswer, RecordState, Records as _, RequestKey},
};

/// An answer has to be there after so long.
pub(super) const SOON: Duration = Duration::from_secs(1);

pub(super) fn clerk() -> PurutoName {
    "clerk".parse().unwrap()
}

pub(super) fn key(id: &str) -> RequestKey {
    RequestKey {
        target: clerk(),
        request: id.parse().unwrap(),
    }
}

impl World {
    /// Asks `clerk`, whose caller waits for a minute.
    pub(super) fn ask(&self, id: &str, headers: Headers) -> u64 {
        self.ask_target("clerk", id, headers)
    }

    /// The same, of another target.
    pub(super) fn ask_target(&self, target: &str, id: &str, headers: Headers) -> u64 {
        let body = json!({
            "request_id": id, "correlation_id": "c", "caller": "cli", "target": target,
            "action": "file", "prompt": "this", "timeout_sec": 60,
        });
        let body = body.to_string();
        let subject = format!("puruto.invoke.{target}");
        self.broker.publish(&subject, headers, body)
    }

    /// The result under a subject.
    fn result_at(&self, subject: &str) -> Option<Value> {
        let stored = self.broker.results().remove(subject)?;
        serde_json::from_slice(&stored.body).ok()
    }

    /// The error code of the result of a request to `clerk`.
    pub(super) fn code_of(&self, id: &str) -> Option<String> {
        let result = self.result_at(&format!("puruto.result.c.{id}"))?;
        Some(result["error"]["code"].as_str()?.to_owned())
    }

    /// A leader, and a worker that served `clerk` and has died.
    async fn clerk_is_away(&self) -> Process {
        let (leader, _) = self.two().await;
        let clerk = self.process_serving(&["clerk"]).await;
        self.pass(SOON).await;
        clerk.die();
        self.pass(SOON).await;
        leader
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_a_target_that_never_had_a_worker_is_told_so_whatever_the_lane() {
    let world = World::new();
    let leader = world.process().await;
    world.pass(SOON).await;
    let stored_at = world.clock.now();
    let subjects = [
        "puruto.invoke.bogus",
        "puruto.invoke.bogus.high",
        "puruto.invoke.bogus.low",
        "puruto.invoke.echo.urgent",
    ];
    let sequences = subjects.map(|it| world.broker.publish(it, Headers::new(), "{}"));

    world.pass(SOON).await;

    for sequence in sequences {
        let ids = MintedIds::of_message(STREAM, sequence, stored_at.unix_millis());
        let place = Subjects::default().result(&ids.correlation_id, &ids.request_id);
        let result = world.result_at(&place).expect("a result");
        assert_eq!(result["error"]["code"], "TARGET_NOT_FOUND", "{result}");
    }
    assert!(world.broker.pending().is_empty());
    assert!(leader.counts("puruto_unserved_ended_total{reason=\"not_found\"} 4"));
}

#[tokio::test(start_paused = true)]
async fn what_stands_in_a_folder_or_left_a_consumer_behind_is_waited_for() {
    let world = World::new();
    let _leader = world.process().await;
    let left_behind = "left-behind".parse().unwrap();
    drop(world.broker.lane(&left_behind, Lane::Low).await.unwrap());
    for subject in ["puruto.invoke.in-a-folder", "puruto.invoke.left-behind.low"] {
        world.broker.publish(subject, Headers::new(), "{}");
    }
    world.pass(SOON * 3).await;
    assert_eq!(world.broker.pending().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_emptied_store_makes_nobody_unknown() {
    let world = World::new();
    let leader = world.process().await;
    world.pass(SOON).await;
    world.store.empty();
    world
        .broker
        .publish("puruto.invoke.echo", Headers::new(), "{}");
    world.pass(SOON * 3).await;
    assert_eq!(world.broker.pending(), [1]);
    assert!(leader.counts("puruto_unserved_ended_total{reason=\"not_found\"} 0"));
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_workers_are_away_has_until_its_deadline() {
    let world = World::new();
    let leader = world.clerk_is_away().await;
    world.ask("long", Headers::new());
    let mut cut = Headers::new();
    let at = world.clock.now().saturating_add(Duration::from_secs(20));
    cut.push(Header::Deadline, &at.to_string());
    world.ask("cut", cut);

    world.pass(Duration::from_secs(19)).await;
    assert_eq!(world.broker.pending().len(), 2);
    assert!(leader.counts("puruto_unserved_watched 2"));
    world.pass(SOON * 2).await;
    assert_eq!(world.code_of("cut").as_deref(), Some("TIMEOUT"));
    assert_eq!(world.code_of("long"), None);
    world.pass(Duration::from_secs(40)).await;
    assert_eq!(world.code_of("long").as_deref(), Some("TIMEOUT"));
    assert!(world.broker.pending().is_empty());
    assert!(leader.counts("puruto_unserved_ended_total{reason=\"late\"} 2"));
    assert!(leader.counts("puruto_unserved_watched 0"));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_a_dead_worker_had_begun_has_until_its_deadline_too() {
    let world = World::new();
    let (_leader, _) = world.two().await;
    let holder = world.process_serving(&["clerk"]).await;
    world.pass(SOON).await;
    world.ask("1", Headers::new());
    let _held = world.clerk_holds(&holder, "1").await;

    holder.die();
    world.pass(Duration::from_secs(30)).await;
    assert_eq!(world.code_of("1"), None);
    world.pass(Duration::from_secs(31)).await;
    assert_eq!(world.code_of("1").as_deref(), Some("TIMEOUT"));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_comes_back_finds_what_is_left() {
    let world = World::new();
    let leader = world.clerk_is_away().await;
    world.ask("1", Headers::new());
    world.pass(SOON * 10).await;
    assert!(leader.counts("puruto_unserved_watched 1"));

    let back = world.process_serving(&["clerk"]).await;
    let _held = world.clerk_holds(&back, "1").await;
    world.pass(SOON * 90).await;

    assert_eq!(world.code_of("1"), None, "its worker has it");
    assert_eq!(world.broker.pending().len(), 1);
    assert!(leader.counts("puruto_unserved_watched 0"));
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_worker_had_committed_is_published_though_none_is_there() {
    let world = World::new();
    let (leader, _) = world.two().await;
    let holder = world.process_serving(&["clerk"]).await;
    world.pass(SOON).await;
    world.ask("1", Headers::new());
    let nonce = world.clerk_holds(&holder, "1").await;
    let result = Bytes::from_static(b"{\"error\":{\"code\":\"as committed\"}}");
    let commit = Commit {
        result,
        ..Commit::default()
    };
    let committed = world.store.commit(&key("1"), nonce, commit).await;
    assert_eq!(committed, Ok(CommitAnswer::Committed));

    holder.die();
    world.pass(SOON * 3).await;

    assert_eq!(world.code_of("1").as_deref(), Some("as committed"));
    assert!(world.broker.pending().is_empty());
    assert!(leader.counts("puruto_unserved_ended_total{reason=\"settled\"} 1"));
    let record = world.store.record(&key("1")).unwrap();
    assert_eq!(record.state, RecordState::Done { result: None });
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_cancelled_while_its_workers_are_away_waits_no_longer() {
    let world = World::new();
    let _leader = world.clerk_is_away().await;
    world.store.cancel(&key("before")).await.unwrap();
    world.ask("before", Headers::new());
    world.ask("after", Headers::new());
    world.pass(SOON).await;
    assert_eq!(world.code_of("before").as_deref(), Some("CANCELLED"));

    world.store.cancel(&key("after")).await.unwrap();
    world.pass(SOON * 32).await;
    assert_eq!(world.code_of("after").as_deref(), Some("CANCELLED"));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_can_be_asked_for_is_buried() {
    let world = World::new();
    let _leader = world.clerk_is_away().await;
    let subjects = [
        "puruto.invoke.a+b",
        "puruto.invoke.caf\u{e9}",
        "puruto.invoke.*",
    ];
    for subject in subjects {
        world.broker.publish(subject, Headers::new(), "{}");
    }
    let kept = world.ask("1", Headers::new());
    let hostile = b"NATS/1.0\r\nA: b\rc\r\n\r\n";
    for subject in ["puruto.invoke.bogus", "puruto.invoke.clerk"] {
        world.broker.publish_raw(subject, hostile.as_slice(), "{}");
    }
    world.pass(SOON * 2).await;

    assert_eq!(world.broker.pending(), [kept]);
    let letters = world.broker.dead_letters();
    assert_eq!(letters.len(), 5, "{letters:?}");
    for buried in letters {
        assert_eq!(buried.letter.reason, DeadReason::Unreadable);
    }
}

#[tokio::test(start_paused = true)]
async fn a_broker_or_a_store_that_fails_for_a_while_loses_nothing() {
    use crate::store::twin::{Fault, Op};
    let world = World::new();
    let leader = world.clerk_is_away().await;
    for op in [
        Op::Roster,
        Op::EverServed,
        Op::Serving,
        Op::Claim,
        Op::Commit,
    ] {
        world.store.fail_next(op, Fault::AfterEffect);
    }
    for operation in [Operation::Stored, Operation::PublishResult, Operation::Ack] {
        world.broker.fail_next(operation, FailAt::AfterEffect);
    }
    world
        .broker
        .publish("puruto.invoke.bogus", Headers::new(), "{}");
    world.ask("1", Headers::new());
    world.pass(SOON * 75).await;
    assert!(world.broker.pending().is_empty());
    assert_eq!(world.broker.results().len(), 2);
    assert!(leader.counts("puruto_unserved_watched 0"));
}

#[tokio::test(start_paused = true)]
async fn unknown_targets_however_many_are_answered_and_leave_no_trace() {
    let world = World::new();
    let leader = world.process().await;
    world.pass(SOON).await;
    let series = || leader.metrics.render().lines().count();
    let before = series();
    for n in 0..500 {
        let subject = format!("puruto.invoke.bogus-{n}");
        world.broker.publish(&subject, Headers::new(), "{}");
    }
    world.pass(SOON * 2).await;
    assert_eq!(world.broker.results().len(), 500);
    assert!(world.broker.pending().is_empty());
    assert_eq!(series(), before);
}

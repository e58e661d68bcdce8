//! A parent that waits outlives the worker that asked for it, and servers that die or are emptied.
//!
//! Seen elsewhere: hatchet #552, atomic #2604, pi-subagents #1263, LibreChat #14975, zeph #5944.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{answer, asking, let_all_ask, until_it_waits};
use crate::{
    fleet::Fleet,
    patience::{until, until_within},
    records::Records,
    support::asking::{ask, asker, child, leaves::Leaves},
    wire::{RESULTS, Wire},
    worker::Worker,
};

/// What a waiting request takes to come back where nothing remembers that it waits, and then some.
const FORGOTTEN_WITHIN: Duration = Duration::from_secs(120);

/// A parent that waits for a model, each served by a worker of its own.
struct Pair {
    model: Leaves,
    fleet: Fleet,
    parents: Worker,
    children: Worker,
    wire: Wire,
    parent: Value,
}

impl Pair {
    async fn waiting() -> Self {
        let model = Leaves::held_back().await;
        let purutos = [("clerk", asker(1)), ("leaf", model.puruto(1))];
        let fleet = Fleet::of(&purutos.each_ref().map(|it| (it.0, it.1.as_str())))
            .await
            .with_quick_take_over();
        let_all_ask(&fleet, &["clerk", "leaf"]);
        let children = fleet.worker_for("children", "leaf").await;
        let parents = fleet.worker_for("parents", "clerk").await;
        let wire = fleet.wire().await;
        let parent = asking("r-1", "clerk", &ask(&[child("leaf", "one leaf")]));
        wire.ask(&parent).await;
        until_it_waits(&fleet, &parent).await;
        until("the model is called", async || {
            (model.open() == 1).then_some(())
        })
        .await;
        Self {
            model,
            fleet,
            parents,
            children,
            wire,
            parent,
        }
    }

    /// The parent and its child have one result each, and nothing is left.
    async fn assert_answered(&self) {
        let subject = crate::wire::place_of(&self.parent);
        until_within(FORGOTTEN_WITHIN, "the parent's result", async || {
            self.wire.stored(&subject).await
        })
        .await;
        let result = answer(&self.wire, &self.parent).await;
        assert_eq!(result["result"]["said"], json!(["one leaf"]), "{result}");
        self.wire.until_all_is_done().await;
        assert_eq!(self.wire.messages(RESULTS).await, 2);
    }
}

#[tokio::test]
async fn a_worker_whose_parents_wait_ends_at_once_and_they_go_on_elsewhere() {
    let mut pair = Pair::waiting().await;

    let told = Instant::now();
    pair.parents.drain().await;
    // Nothing of it is running: far less than a drain may take.
    assert!(told.elapsed() < Duration::from_secs(10));
    let others = pair.fleet.worker_for("others", "clerk").await;
    pair.model.answer_all();

    pair.assert_answered().await;
    assert_eq!(others.executions("clerk").await, 1);
    assert_eq!(pair.model.made(), 1);
}

#[tokio::test]
async fn a_parent_waits_on_while_redis_is_killed_and_restarted() {
    let mut pair = Pair::waiting().await;
    let mut heard = pair.wire.listen("puruto.result.>").await;

    pair.fleet.servers.redis.kill().await.expect("killed");
    pair.fleet.servers.redis.restart().await.expect("up again");
    pair.model.answer_all();

    pair.assert_answered().await;
    heard.next().await;
    heard.next().await;
    assert!(heard.nothing_more(&pair.wire).await, "more than one each");
}

#[tokio::test]
async fn a_parent_waits_on_while_nats_is_killed_and_restarted() {
    let mut pair = Pair::waiting().await;

    pair.fleet.servers.nats.kill().await.expect("killed");
    pair.fleet.servers.nats.restart().await.expect("up again");
    pair.model.answer_all();

    pair.assert_answered().await;
    assert_eq!(pair.model.made(), 1);
    assert_eq!(pair.parents.executions("clerk").await, 2);
}

#[tokio::test]
async fn a_parent_that_waits_while_redis_is_emptied_asks_for_the_same_child_again() {
    let pair = Pair::waiting().await;
    let mut heard = pair.wire.listen("puruto.result.>").await;

    let mut records = Records::connect(&pair.fleet.servers.redis.url()).await;
    records.flush().await;
    pair.model.answer_all();

    pair.assert_answered().await;
    heard.next().await;
    heard.next().await;
    assert!(heard.nothing_more(&pair.wire).await, "more than one each");
    assert!(pair.model.made() <= 2, "{} calls", pair.model.made());
    assert!(pair.children.executions("leaf").await <= 2);
}

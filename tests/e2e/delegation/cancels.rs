//! A cancel reaches everything below what it cancels.
//!
//! Seen elsewhere: hatchet #1147, dust #4272, syntara #348.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{answer, asking, child_of, let_all_ask, until_at_rest, until_it_waits};
use crate::{
    fleet::Fleet,
    patience::until,
    support::asking::{ask, asker, child, leaves::Leaves},
    wire::{RESULTS, Wire},
    worker::Worker,
};

/// How many children the root has, each with one model call below.
const BRANCHES: u16 = 3;

/// Three levels that run: a head that waits for clerks that wait for a model.
struct Tree {
    model: Leaves,
    fleet: Fleet,
    worker: Worker,
    wire: Wire,
    root: Value,
}

impl Tree {
    async fn grow() -> Self {
        let model = Leaves::held_back().await;
        let purutos = [
            ("head", asker(1)),
            ("clerk", asker(1)),
            ("leaf", model.puruto(BRANCHES.into())),
        ];
        let fleet = Fleet::of(&purutos.each_ref().map(|it| (it.0, it.1.as_str()))).await;
        let_all_ask(&fleet, &["head", "clerk", "leaf"]);
        let worker = fleet.worker("w1").await;
        let wire = fleet.wire().await;
        let branches: Vec<_> = (0..BRANCHES)
            .map(|it| child("clerk", ask(&[child("leaf", format!("leaf {it}"))])))
            .collect();
        let root = asking("r-1", "head", &ask(&branches));
        wire.ask(&root).await;
        let tree = Self {
            model,
            fleet,
            worker,
            wire,
            root,
        };
        until("every model call runs", async || {
            (tree.model.open() == usize::from(BRANCHES)).then_some(())
        })
        .await;
        until_it_waits(&tree.fleet, &tree.root).await;
        for branch in tree.branches() {
            until_it_waits(&tree.fleet, &branch).await;
        }
        tree
    }

    fn branches(&self) -> Vec<Value> {
        let branches = (0..BRANCHES).map(|it| child_of(&self.root, it, "clerk"));
        branches.collect()
    }

    /// Cancels by this command, and holds what comes of it to what was promised.
    async fn assert_cancelled_by(&self, command: &[&str]) {
        let cancelled = self.fleet.puruto(command).await;
        let announced = Instant::now();
        assert_eq!(cancelled.code, 0, "{cancelled:?}");
        until("every model call is aborted", async || {
            (self.model.open() == 0).then_some(())
        })
        .await;
        let last = self.model.hung_up().into_iter().max().expect("hung up");
        let took = last.saturating_duration_since(announced);
        assert!(took < Duration::from_secs(1), "{took:?}");

        let mut all = vec![self.root.clone()];
        for branch in self.branches() {
            all.push(child_of(&branch, 0, "leaf"));
            all.push(branch);
        }
        for request in &all {
            let result = answer(&self.wire, request).await;
            assert_eq!(result["error"]["code"], "CANCELLED", "{result}");
        }
        assert_eq!(self.wire.messages(RESULTS).await, all.len() as u64);
        assert_eq!(self.model.made(), usize::from(BRANCHES));
        until_at_rest(&self.worker, "leaf", BRANCHES.into()).await;
    }
}

#[tokio::test]
async fn a_cancelled_root_ends_three_levels_and_every_model_call_within_a_second() {
    let tree = Tree::grow().await;

    tree.assert_cancelled_by(&["cancel", "r-1", "--target", "head"])
        .await;

    tree.wire.until_all_is_done().await;
    until_at_rest(&tree.worker, "head", 1).await;
    until_at_rest(&tree.worker, "clerk", 1).await;
}

#[tokio::test]
async fn a_cancelled_root_ends_all_the_same_where_every_slot_is_busy() {
    let tree = Tree::grow().await;
    for (id, target) in [("busy-1", "head"), ("busy-2", "clerk")] {
        let busy = asking(id, target, &json!({"hang": true}));
        tree.wire.ask(&busy).await;
        tree.worker.until_running(target, 1).await;
    }

    tree.assert_cancelled_by(&["cancel", "r-1", "--target", "head"])
        .await;

    tree.worker.until_running("head", 1).await;
    tree.worker.until_running("clerk", 1).await;
}

#[tokio::test]
async fn a_cancelled_chain_ends_with_all_that_belongs_to_it_and_nothing_else() {
    let tree = Tree::grow().await;
    let other = asking("r-2", "head", &json!({"hang": true}));
    tree.wire.ask(&other).await;
    tree.worker.until_running("head", 1).await;

    tree.assert_cancelled_by(&["cancel", "--correlation", "chain-r-1"])
        .await;

    tree.worker.until_running("head", 1).await;
    until_at_rest(&tree.worker, "clerk", 1).await;
}

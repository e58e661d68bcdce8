//! Who waits for others holds no slot: one slot is enough for any depth and any number of parents.
//!
//! Seen elsewhere: celery #3498 and #3031, deis #359, huey #618, dagster #29660.

use serde_json::{Value, json};

use super::{answer, asking, let_all_ask, until_at_rest};
use crate::{
    fleet::Fleet,
    support::asking::{ask, asker, child},
    wire::{INVOKE, RESULTS},
};

const LEVELS: usize = 5;
const PARENTS: usize = 8;

/// The prompt of somebody with so many levels of itself below.
fn deep(levels: usize) -> Value {
    match levels {
        0 => json!({"say": "bottom"}),
        _ => ask(&[child("clerk", deep(levels - 1))]),
    }
}

#[tokio::test]
async fn one_slot_is_enough_for_a_puruto_that_asks_itself_five_levels_deep() {
    let fleet = Fleet::of(&[("clerk", &asker(1))]).await;
    let_all_ask(&fleet, &["clerk"]);
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked = asking("r-1", "clerk", &deep(LEVELS));
    wire.ask(&asked).await;

    let mut result = answer(&wire, &asked).await;
    for level in 0..LEVELS {
        assert_eq!(result["status"], "ok", "level {level}: {result}");
        result = result["result"]["children"][0].clone();
    }
    assert_eq!(result["result"]["summary"], "bottom", "{result}");
    assert_eq!(wire.messages(RESULTS).await, LEVELS as u64 + 1);
    wire.until_all_is_done().await;
    until_at_rest(&worker, "clerk", 1).await;
    // Each parent once to ask and once to answer, and the last child.
    assert_eq!(worker.executions("clerk").await, 2 * LEVELS as u64 + 1);
}

#[tokio::test]
async fn one_slot_is_enough_for_eight_parents_at_once_and_their_children() {
    let fleet = Fleet::of(&[("clerk", &asker(1))]).await;
    let_all_ask(&fleet, &["clerk"]);
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let parents: Vec<_> = (0..PARENTS)
        .map(|it| asking(&format!("r-{it}"), "clerk", &deep(1)))
        .collect();
    for parent in &parents {
        wire.ask(parent).await;
    }

    for parent in &parents {
        let result = answer(&wire, parent).await;
        assert_eq!(result["result"]["said"], json!(["bottom"]), "{result}");
    }
    assert_eq!(wire.messages(RESULTS).await, 2 * PARENTS as u64);
    wire.until_all_is_done().await;
    until_at_rest(&worker, "clerk", 1).await;
    assert_eq!(wire.messages(INVOKE).await, 0);
}

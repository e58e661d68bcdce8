//! What lies beside the records of requests that ask others and of agents, and for how long.

use std::{collections::HashMap, time::Duration};

use puruto_fleet::{
    contract::Spent,
    store::{
        Claims as _, Records as _, Runs as _, Waits as _,
        run::{Checkpoint, NewRun, Operation, Revision, RunLimits},
    },
};

use crate::store::{
    family::{child, message, owned, park},
    world::{RedisWorld, World as _, request},
};

const HOUR_MS: i64 = 60 * 60 * 1000;

/// The hours that each key of these kinds has left, by its kind.
async fn hours_left(world: &RedisWorld, id: &str, kinds: &[&str]) -> Vec<i64> {
    let mut hours = Vec::new();
    for kind in kinds {
        let pattern = format!("puruto:{{p*}}:{kind}:*{id}");
        let keys: Vec<String> = world.command(&["KEYS", &pattern]).await;
        let [key] = &*keys else {
            panic!("one key of {pattern}: {keys:?}");
        };
        let left: i64 = world.command(&["PTTL", key]).await;
        hours.push((left + HOUR_MS / 2) / HOUR_MS);
    }
    hours
}

#[tokio::test]
async fn what_lies_beside_a_record_outlives_it_and_does_not_stay_for_ever() {
    let world = RedisWorld::start().await;
    let (worker, key) = (world.worker().await, request("parent"));
    let new = NewRun {
        model: "simulated".to_owned(),
        goal: "a goal".to_owned(),
    };
    worker.store.create(&key, &new).await.expect("a run");
    assert_eq!(hours_left(&world, "parent", &["req"]).await, [72 + 25]);
    let (nonce, _) = worker.take(&key).await;
    assert_eq!(hours_left(&world, "parent", &["req"]).await, [72]);

    let us = owned(&key, nonce);
    let limits = RunLimits {
        steps: 8,
        requests: 12,
        tree: Default::default(),
    };
    let (decision, result) = ("{}".to_owned(), "{}".to_owned());
    for checkpoint in [
        Checkpoint::Reserve { limits },
        Checkpoint::Accept {
            revision: Revision::new(1),
            decision: decision.clone(),
            spent: Spent::default(),
        },
        Checkpoint::Execute {
            revision: Revision::new(2),
            operation: Operation { decision, result },
            report: None,
        },
    ] {
        let written = worker.store.checkpoint(&us, &checkpoint).await;
        written.expect("written");
    }
    worker.park(&key, nonce, &park(&key, 0, 2, 1)).await;
    let beside = ["run", "ops", "runevents", "wait", "kids", "slices"];
    let hours = hours_left(&world, "parent", &beside).await;
    assert_eq!(hours, [72 + 25; 6]);

    let chain = "a-chain".parse().expect("an id");
    worker.store.note_root(&chain, &key).await.expect("noted");
    assert_eq!(hours_left(&world, "a-chain", &["chain"]).await, [72 + 25]);
    let kid = child(&key, 0, 0);
    worker.intend(&key, &kid).await;
    // Its deadline is far away.
    let id = kid.key.request.as_str();
    assert!(hours_left(&world, id, &["req"]).await > vec![72 + 24]);
}

#[tokio::test]
async fn the_messages_of_children_are_kept_only_until_they_are_published() {
    let world = RedisWorld::start().await;
    let (worker, key) = (world.worker().await, request("parent"));
    let (nonce, _) = worker.take(&key).await;
    worker.park(&key, nonce, &park(&key, 0, 2, 1)).await;
    let keys: Vec<String> = world.command(&["KEYS", "*:wait:*"]).await;
    let [wait] = &*keys else {
        panic!("one wait: {keys:?}");
    };
    let before: HashMap<String, String> = world.command(&["HGETALL", wait]).await;
    assert_eq!(before["m1"].as_bytes(), message(1));
    worker.let_go(&key, nonce).await;
    let after: HashMap<String, String> = world.command(&["HGETALL", wait]).await;
    assert!(after.keys().all(|name| !name.starts_with('m')), "{after:?}");

    worker.tell(&key, &child(&key, 0, 0)).await;
    let (nonce, _) = worker.take(&key).await;
    worker.commit(&key, nonce, b"done").await;
    worker.store.settle(&key).await.expect("settled");
    let left: Vec<String> = world.command(&["KEYS", "*:wait*"]).await;
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn looking_for_what_is_due_is_one_call_and_strikes_out_what_is_gone() {
    let world = RedisWorld::start().await;
    let worker = world.worker().await;
    let gone = request("gone");
    worker.leave_waiting(&gone, 1, 1).await;
    worker.store.cancel(&gone).await.expect("flagged");
    let records: Vec<String> = world.command(&["KEYS", "*:req:*gone"]).await;
    world.command::<()>(&["DEL", &records[0]]).await;
    world.command::<()>(&["CONFIG", "RESETSTAT"]).await;
    let due = worker.store.due(9, Duration::from_secs(1)).await;
    assert_eq!(due, Ok(Vec::new()));
    let stats: String = world.command(&["INFO", "commandstats"]).await;
    let calls = |command: &str| {
        let named = format!("cmdstat_{command}:calls=");
        let line = stats.lines().find_map(|it| it.strip_prefix(&*named))?;
        line.split_once(',')?.0.parse::<u32>().ok()
    };
    assert_eq!(calls("evalsha"), Some(1), "{stats}");
    assert_eq!(calls("zrangebyscore"), Some(16), "{stats}");
    let left: Vec<String> = world.command(&["KEYS", "*:waits"]).await;
    assert!(left.is_empty(), "{left:?}");
}

//! As many parents as you like wait at once in a fleet of two workers: they hold no slot and hardly
//! any memory, and all of them go on.
//!
//! `PURUTO_PARENTS` says how many, for a larger run than that of every day; what was measured is
//! printed.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::until_at_rest;
use crate::{
    fleet::Fleet,
    patience::{as_often_as, until_within},
    records::Records,
    support::{asking::leaves::Leaves, say},
    wire::{INVOKE, RESULTS, json_of, request},
};

/// Asks one child and answers when it has: a shell that starts no other program.
const CLERK: &str = r#"
kind = "command"
concurrency = 4
[command]
argv = ["sh", "-c", '''
read -r request
id=${request#*'"request_id":"'} chain=${request#*'"correlation_id":"'}
id=${id%%'"'*} chain=${chain%%'"'*}
case $request in
*'"delegated":'*)
    echo '{"request_id": "'$id'", "correlation_id": "'$chain'", "status": "ok",
           "duration_ms": 0, "result": {"summary": "heard"}}' ;;
*)
    echo '{"delegate": {"children": [
           {"target": "leaf", "action": "do", "prompt": "leaf of '$id'"}]}}' ;;
esac
''']
"#;

const SLOTS: u64 = 4;
/// Model calls of one worker at once: most children wait for a slot, as their parents wait for them.
const CALLS: usize = 16;
/// A worker occupies less than this, however many wait.
const MEMORY_MAX: u64 = 150 * 1024 * 1024;

fn patience(parents: u64) -> Duration {
    Duration::from_secs(60) + Duration::from_millis(60) * u32::try_from(parents).expect("fewer")
}

fn parent(number: u64) -> Value {
    let mut parent = request(&format!("r-{number}"), "clerk", "Ask the leaf");
    parent["timeout_sec"] = 3600.into();
    parent
}

#[tokio::test]
async fn parents_that_wait_hold_no_slot_and_hardly_any_memory_and_all_of_them_go_on() {
    let parents = as_often_as("PURUTO_PARENTS", 100);
    let model = Leaves::held_back().await;
    let leaf = model.puruto(CALLS) + "request_timeout = \"1h\"\n";
    let fleet = Fleet::of(&[("clerk", CLERK), ("leaf", &leaf)]).await;
    let policy =
        json!({"owner": "clerk", "allowed_targets": ["leaf"], "default_timeout_sec": 3600});
    fleet.write_policy("clerk", &policy.to_string());
    let workers = [fleet.worker("w1").await, fleet.worker("w2").await];
    let wire = fleet.wire().await;
    let mut records = Records::connect(&fleet.servers.redis.url()).await;

    let began = Instant::now();
    for number in 0..parents {
        wire.ask(&parent(number)).await;
    }
    until_within(patience(parents), "every parent waits", async || {
        (records.waiting().await == parents).then_some(())
    })
    .await;
    let parked = began.elapsed();
    let mut memory = Vec::new();
    for worker in &workers {
        // Now and then one of them is delivered, and goes back to waiting.
        until_at_rest(worker, "clerk", SLOTS).await;
        memory.extend(worker.memory());
    }
    assert_eq!(wire.messages(RESULTS).await, 0);

    let told = Instant::now();
    model.answer_all();
    until_within(patience(parents), "every parent goes on", async || {
        let answered = wire.messages(RESULTS).await == 2 * parents;
        (answered && wire.messages(INVOKE).await == 0).then_some(())
    })
    .await;

    let mebibytes: Vec<_> = memory.iter().map(|it| it / 1024 / 1024).collect();
    say(&format!(
        "{parents} parents waited after {parked:?} in workers of {mebibytes:?} MiB, and all of them \
         had answered {:?} after their children could",
        told.elapsed()
    ));
    assert!(
        memory.iter().all(|it| *it < MEMORY_MAX),
        "{mebibytes:?} MiB"
    );
    assert_eq!(model.made() as u64, parents);
    for result in wire.all(RESULTS).await {
        let result = json_of(&result.payload);
        assert_eq!(result["status"], "ok", "{result}");
    }
}

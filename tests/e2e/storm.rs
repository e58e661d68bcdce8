//! A thousand requests while workers are killed one after another: nothing is lost, nothing comes
//! twice, and no more work is repeated than was interrupted.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use bytes::Bytes;
use puruto_fleet::clock::Chance;
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval},
};

use crate::{
    fleet::Fleet,
    records::Records,
    support::say,
    wire::{Heard, RESULTS, Wire, header, json_of, place_of, request},
    worker::Worker,
};

const REQUESTS: usize = 1_000;
const WORKERS: usize = 3;
const KILL_EVERY: Duration = Duration::from_secs(2);
/// Spreads the requests over five kills and more.
const PUBLISH_EVERY: Duration = Duration::from_millis(11);
const CLERK: (&str, &str) = (
    "clerk",
    r#"
        concurrency = 8
        [model]
        provider = "simulated"
        latency = { min = "50ms", max = "150ms" }
    "#,
);

/// What the kills came to.
#[derive(Debug, Default)]
struct Losses {
    kills: u64,
    /// Requests that the killed workers held.
    interrupted: u64,
}

fn id_of(number: usize) -> String {
    format!("r-{number}")
}

async fn publish_all(wire: &Wire) {
    let mut pace = interval(PUBLISH_EVERY);
    // A late publisher catches up, so that the run does not get longer with the machine's load.
    pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for number in 0..REQUESTS {
        pace.tick().await;
        let id = id_of(number);
        wire.ask(&request(&id, "clerk", &format!("Prompt of {id}")))
            .await;
    }
}

/// Hears until each request has a result; then says so.
async fn hear_all(
    mut heard: Heard,
    done: watch::Sender<bool>,
    wire: &Wire,
) -> BTreeMap<String, Bytes> {
    let mut results = BTreeMap::new();
    while results.len() < REQUESTS {
        let message = heard.next().await;
        let subject = message.subject.to_string();
        let before = results.insert(subject, message.payload);
        assert_eq!(before, None, "{} was heard twice", message.subject);
    }
    done.send_replace(true);
    wire.until_all_is_done().await;
    assert!(heard.nothing_more(wire).await);
    results
}

/// Kills one worker or another every two seconds and starts a new one in its place, until `done`.
/// Those that are left go on.
async fn kill_again_and_again(
    fleet: &Fleet,
    mut done: watch::Receiver<bool>,
    workers: &mut Vec<Worker>,
) -> Losses {
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    let chance = Chance::seeded(7);
    let mut losses = Losses::default();
    let mut pace = interval(KILL_EVERY);
    pace.tick().await;
    loop {
        tokio::select! {
            _ = done.wait_for(|done| *done) => return losses,
            _ = pace.tick() => {}
        }
        // Not by turns: the broker prefers whoever has waited longest, who would then be the next.
        let drawn = usize::try_from(chance.bits128() % WORKERS as u128);
        let victim = workers.remove(drawn.expect("a small number"));
        let name = victim.name().to_owned();
        victim.kill().await;
        losses.kills += 1;
        losses.interrupted += records.held_by(&name).await;
        let next = format!("w{}", WORKERS as u64 + losses.kills);
        workers.push(fleet.launch(&next).await);
    }
}

/// Executions of all requests, by their records; the headers of their results say the same.
async fn executions(fleet: &Fleet, wire: &Wire) -> u64 {
    let mut records = Records::connect(&fleet.servers.redis.url()).await;
    let mut executions = 0;
    for number in 0..REQUESTS {
        let id = id_of(number);
        let attempts = records.attempts("clerk", &id).await;
        let stored = wire.result(&request(&id, "clerk", "")).await;
        // Who publishes for a worker that died after its commit does not say how often it ran.
        if let Some(told) = header(&stored.headers, "Puruto-Attempt") {
            assert_eq!(told, attempts.to_string(), "{id}");
        }
        executions += attempts;
    }
    executions
}

#[tokio::test]
async fn a_thousand_requests_survive_a_worker_killed_every_two_seconds_each_with_one_result() {
    let fleet = Fleet::of(&[CLERK]).await.with_quick_take_over();
    let mut workers = Vec::new();
    for number in 1..=WORKERS {
        workers.push(fleet.worker(&format!("w{number}")).await);
    }
    let wire = fleet.wire().await;
    let heard = wire.listen("puruto.result.>").await;
    let (done, is_done) = watch::channel(false);
    let began = Instant::now();

    let ((), results, losses) = tokio::join!(
        publish_all(&wire),
        hear_all(heard, done, &wire),
        kill_again_and_again(&fleet, is_done, &mut workers),
    );
    let took = began.elapsed();

    let expected: BTreeSet<_> = (0..REQUESTS)
        .map(|number| place_of(&request(&id_of(number), "clerk", "")))
        .collect();
    assert!(
        results.keys().eq(&expected),
        "each request under its own subject"
    );
    assert_eq!(wire.messages(RESULTS).await, REQUESTS as u64);
    for (subject, body) in &results {
        assert_eq!(json_of(body)["status"], "ok", "{subject}");
        let stored = wire.stored(subject).await.expect("what was heard");
        assert_eq!(stored.payload, body, "{subject}");
    }
    let executions = executions(&fleet, &wire).await;
    let repeated = executions - REQUESTS as u64;
    say(&format!(
        "{REQUESTS} requests, {} kills, {took:?}: {executions} executions, {repeated} repeated, {} interrupted",
        losses.kills, losses.interrupted,
    ));
    // One every two seconds, and fewer where a machine is slow to start the next one.
    assert!(losses.kills >= 2, "{losses:?}");
    assert!(
        repeated <= losses.interrupted,
        "{repeated} repeated, {losses:?}"
    );
}

//! How soon a dead worker's requests run elsewhere with the ordinary times, and who is not taken
//! for dead.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use crate::{
    fleet::Fleet,
    patience::until,
    support::say,
    wire::{RESULTS, Wire, header, json_of, request},
    worker::Worker,
};

/// Takes six seconds for anything, four requests at a time.
const CLERK: (&str, &str) = (
    "clerk",
    "concurrency = 4\n[model]\nprovider = \"simulated\"\nlatency = \"6s\"",
);
const RUNNING: &str = "puruto_in_flight{target=\"clerk\"}";
const NOBODY_THERE: &str = "puruto_sessions_evicted_total{reason=\"no_responders\"}";
const EXPIRED: &str = "puruto_sessions_evicted_total{reason=\"expired\"}";

/// A supervisor believes "nobody is there" only when its own connection has been up for eight
/// seconds.
const UNTIL_STEADY: Duration = Duration::from_secs(9);

/// Session and ack wait end after fifteen seconds; a machine that runs all the tests is slow.
const SOON: Duration = Duration::from_secs(5);

/// Three workers, the supervisor first, who could notice a death.
async fn steady_three(fleet: &Fleet) -> Vec<Worker> {
    let leader = fleet.worker("w1").await;
    until("the first one supervises", async || {
        (leader.count("puruto_supervisor").await == 1).then_some(())
    })
    .await;
    let workers = vec![leader, fleet.worker("w2").await, fleet.worker("w3").await];
    sleep(UNTIL_STEADY).await;
    workers
}

/// Asks for one thing after the other until `workers[holder]` runs one; how many were asked for.
async fn ask_until_held_by(wire: &Wire, workers: &[Worker], holder: usize) -> u64 {
    // The two others have eight slots.
    for asked in 1..=9 {
        let id = format!("r-{asked}");
        wire.ask(&request(&id, "clerk", "Hello")).await;
        until("it runs", async || {
            (sum(workers, RUNNING).await == asked).then_some(())
        })
        .await;
        if workers[holder].count(RUNNING).await > 0 {
            return asked;
        }
    }
    panic!("nine requests run in eight slots");
}

async fn sum(workers: &[Worker], series: &str) -> u64 {
    let mut sum = 0;
    for worker in workers {
        sum += worker.count(series).await;
    }
    sum
}

/// Kills `victim` and waits until the others run everything that was asked for.
async fn kill(victim: Worker, others: &[Worker], asked: u64) -> Duration {
    let killed = Instant::now();
    victim.kill().await;
    until("the others run what it held", async || {
        (sum(others, RUNNING).await == asked).then_some(())
    })
    .await;
    killed.elapsed()
}

/// Each request has one result; what the victim held was run a second time and no more.
async fn assert_answered_once(wire: &Wire, asked: u64, held: u64) {
    let mut again = 0;
    for number in 1..=asked {
        let stored = wire
            .result(&request(&format!("r-{number}"), "clerk", "Hello"))
            .await;
        assert_eq!(json_of(&stored.payload)["status"], "ok");
        match header(&stored.headers, "Puruto-Attempt") {
            Some("1") => {}
            Some("2") => again += 1,
            other => panic!("attempt {other:?} of r-{number}"),
        }
    }
    wire.until_all_is_done().await;
    assert_eq!(again, held);
    assert_eq!(wire.messages(RESULTS).await, asked);
}

#[tokio::test]
async fn what_a_killed_worker_held_runs_elsewhere_long_before_its_session_ends() {
    let fleet = Fleet::of(&[CLERK]).await;
    let mut workers = steady_three(&fleet).await;
    let wire = fleet.wire().await;
    let asked = ask_until_held_by(&wire, &workers, 1).await;
    let victim = workers.remove(1);
    let held = victim.count(RUNNING).await;

    let took = kill(victim, &workers, asked).await;
    say(&format!("killed worker: running elsewhere after {took:?}"));

    assert!(took < SOON, "{took:?}");
    assert_eq!(workers[0].count(NOBODY_THERE).await, 1);
    assert_answered_once(&wire, asked, held).await;
}

#[tokio::test]
async fn what_a_killed_supervisor_held_runs_elsewhere_long_before_its_session_ends() {
    let fleet = Fleet::of(&[CLERK]).await;
    let mut workers = steady_three(&fleet).await;
    let wire = fleet.wire().await;
    let asked = ask_until_held_by(&wire, &workers, 0).await;
    let victim = workers.remove(0);
    let held = victim.count(RUNNING).await;

    let took = kill(victim, &workers, asked).await;
    say(&format!(
        "killed supervisor: running elsewhere after {took:?}"
    ));

    assert!(took < SOON, "{took:?}");
    assert_eq!(sum(&workers, "puruto_supervisor").await, 1);
    assert_eq!(sum(&workers, NOBODY_THERE).await, 1);
    assert_answered_once(&wire, asked, held).await;
}

#[tokio::test]
async fn a_worker_that_is_stopped_for_a_while_is_not_taken_for_dead() {
    let fleet = Fleet::of(&[CLERK]).await;
    let workers = steady_three(&fleet).await;
    let wire = fleet.wire().await;
    let asked = ask_until_held_by(&wire, &workers, 1).await;

    workers[1].signal(Signal::STOP);
    // More than ten pings, and well within its session.
    sleep(Duration::from_secs(3)).await;
    let evicted = workers[0].count(NOBODY_THERE).await + workers[0].count(EXPIRED).await;
    workers[1].signal(Signal::CONT);

    assert_eq!(evicted, 0);
    assert_answered_once(&wire, asked, 0).await;
    assert_eq!(workers[1].count("puruto_fenced_total").await, 0);
}

#[tokio::test]
async fn a_restart_of_nats_is_nobodys_death() {
    let mut fleet = Fleet::of(&[CLERK]).await;
    let mut workers = steady_three(&fleet).await;

    for _ in 0..2 {
        fleet.servers.nats.kill().await.expect("killed");
        fleet.servers.nats.restart().await.expect("up again");
        sleep(Duration::from_secs(1)).await;
    }
    sleep(UNTIL_STEADY).await;

    assert_eq!(sum(&workers, NOBODY_THERE).await, 0);
    assert_eq!(sum(&workers, EXPIRED).await, 0);
    assert_eq!(sum(&workers, "puruto_fenced_total").await, 0);
    // And a real death is noticed again.
    workers.remove(2).kill().await;
    until("the dead one is evicted", async || {
        (sum(&workers, NOBODY_THERE).await == 1).then_some(())
    })
    .await;
}

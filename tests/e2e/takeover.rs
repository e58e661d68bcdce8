//! How soon a dead worker's requests run elsewhere with the ordinary times, and who is not taken
//! for dead.
//!
//! `PURUTO_KILLS` and `PURUTO_RESTARTS` say how often, for a longer run than that of every day; the
//! times of all kills are told at its end.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use crate::{
    fleet::Fleet,
    patience::{as_often_as, until},
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

/// What the workers run, and what was asked of them in all.
#[derive(Debug)]
struct Load {
    wire: Wire,
    asked: u64,
}

impl Load {
    /// Asks for one thing after the other until `workers[holder]` runs one; those that run.
    async fn until_held_by(&mut self, workers: &[Worker], holder: usize) -> u64 {
        // The two others have eight slots.
        for running in 1..=9 {
            self.asked += 1;
            let id = format!("r-{}", self.asked);
            self.wire.ask(&request(&id, "clerk", "Hello")).await;
            until("it runs", async || {
                (sum(workers, RUNNING).await == running).then_some(())
            })
            .await;
            if workers[holder].count(RUNNING).await > 0 {
                return running;
            }
        }
        panic!("nine requests run in eight slots");
    }

    /// Each request has one result; what dead workers held was run a second time and no more.
    async fn assert_answered_once(&self, held: u64) {
        let mut again = 0;
        for number in 1..=self.asked {
            let stored = self
                .wire
                .result(&request(&format!("r-{number}"), "clerk", "Hello"))
                .await;
            assert_eq!(json_of(&stored.payload)["status"], "ok");
            match header(&stored.headers, "Puruto-Attempt") {
                Some("1") => {}
                Some("2") => again += 1,
                other => panic!("attempt {other:?} of r-{number}"),
            }
        }
        self.wire.until_all_is_done().await;
        assert_eq!(again, held);
        assert_eq!(self.wire.messages(RESULTS).await, self.asked);
    }
}

async fn sum(workers: &[Worker], series: &str) -> u64 {
    let mut sum = 0;
    for worker in workers {
        sum += worker.count(series).await;
    }
    sum
}

/// Kills `victim` and waits until the others run everything that ran.
async fn kill(victim: Worker, others: &[Worker], running: u64) -> Duration {
    let killed = Instant::now();
    victim.kill().await;
    until("the others run what it held", async || {
        (sum(others, RUNNING).await == running).then_some(())
    })
    .await;
    killed.elapsed()
}

/// Kills whoever is at `position` in `workers` while it holds a request, and puts a new one last,
/// as often as was asked for.
async fn kill_again_and_again(position: usize) -> Vec<Worker> {
    let fleet = Fleet::of(&[CLERK]).await;
    let mut workers = steady_three(&fleet).await;
    let mut load = Load {
        wire: fleet.wire().await,
        asked: 0,
    };
    let (mut took, mut held) = (Vec::new(), 0);
    for kill_number in 1..=as_often_as("PURUTO_KILLS", 1) {
        if kill_number > 1 {
            sleep(UNTIL_STEADY).await;
        }
        let running = load.until_held_by(&workers, position).await;
        let victim = workers.remove(position);
        held += victim.count(RUNNING).await;
        took.push(kill(victim, &workers, running).await);
        load.wire.until_all_is_done().await;
        workers.push(fleet.worker(&format!("w{}", kill_number + 3)).await);
        lead_by_the_first(&mut workers).await;
    }
    tell(took);
    load.assert_answered_once(held).await;
    workers
}

async fn lead_by_the_first(workers: &mut [Worker]) {
    let leader = until("one of them supervises", async || {
        for (position, worker) in workers.iter().enumerate() {
            if worker.count("puruto_supervisor").await == 1 {
                return Some(position);
            }
        }
        None
    })
    .await;
    workers.swap(0, leader);
}

/// Says how long it took, and holds it to what a machine that runs all the tests can keep.
fn tell(mut took: Vec<Duration>) {
    took.sort();
    let at = |share: usize| took[(took.len() * share / 100).min(took.len() - 1)];
    let kills = took.len();
    let (half, most, longest) = (at(50), at(99), at(100));
    say(&format!(
        "{kills} kills, running elsewhere after: p50 {half:?}, p99 {most:?}, longest {longest:?}"
    ));
    assert!(half < SOON, "{took:?}");
}

#[tokio::test]
async fn what_a_killed_worker_held_runs_elsewhere_long_before_its_session_ends() {
    let workers = kill_again_and_again(1).await;

    let kills = as_often_as("PURUTO_KILLS", 1);
    assert_eq!(workers[0].count(NOBODY_THERE).await, kills);
}

#[tokio::test]
async fn what_a_killed_supervisor_held_runs_elsewhere_long_before_its_session_ends() {
    let workers = kill_again_and_again(0).await;

    assert_eq!(sum(&workers, "puruto_supervisor").await, 1);
}

#[tokio::test]
async fn a_worker_that_is_stopped_for_a_while_is_not_taken_for_dead() {
    let fleet = Fleet::of(&[CLERK]).await;
    let workers = steady_three(&fleet).await;
    let mut load = Load {
        wire: fleet.wire().await,
        asked: 0,
    };
    load.until_held_by(&workers, 1).await;

    workers[1].signal(Signal::STOP);
    // More than ten pings, and well within its session.
    sleep(Duration::from_secs(3)).await;
    let evicted = workers[0].count(NOBODY_THERE).await + workers[0].count(EXPIRED).await;
    workers[1].signal(Signal::CONT);

    assert_eq!(evicted, 0);
    load.assert_answered_once(0).await;
    assert_eq!(workers[1].count("puruto_fenced_total").await, 0);
}

#[tokio::test]
async fn a_restart_of_nats_is_nobodys_death() {
    let mut fleet = Fleet::of(&[CLERK]).await;
    let mut workers = steady_three(&fleet).await;

    for _ in 0..as_often_as("PURUTO_RESTARTS", 2) {
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

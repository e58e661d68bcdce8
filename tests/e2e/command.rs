//! Purutos whose requests run a local program: what it answers, and that it ends with its request.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use rustix::process::Signal;
use tokio::time::Instant;

use crate::{
    fleet::Fleet,
    patience::until,
    wire::{json_of, request},
};

/// Starts a process of its own, heeds no request to end, and would take ten minutes.
const CLERK: (&str, &str) = (
    "clerk",
    r#"
        kind = "command"
        [command]
        argv = ["sh", "-c", """
            trap '' TERM
            sleep 600 &
            echo $! > incoming
            echo $$ >> incoming
            mv incoming pids
            wait
        """]
    "#,
);

/// The processes of the clerk, as soon as there are both.
async fn processes(fleet: &Fleet) -> Vec<String> {
    let file: PathBuf = fleet.servers.folder().join("workers/clerk/pids");
    let told = until("the program runs", async || fs::read_to_string(&file).ok()).await;
    told.lines().map(str::to_owned).collect()
}

/// Waits until none of them runs; one that nobody has reaped yet runs no more.
async fn until_gone(pids: &[String]) {
    until("the whole group is gone", async || {
        let list = ["-o", "stat=", "-p", &pids.join(",")];
        let states = Command::new("ps").args(list).output().expect("ps");
        let states = String::from_utf8_lossy(&states.stdout);
        states
            .split_whitespace()
            .all(|state| state.starts_with('Z'))
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_shipped_program_reads_its_register_for_a_person_at_a_terminal() {
    let fleet = Fleet::shipped().await;
    let worker = fleet.worker("w1").await;

    let read = fleet
        .puruto(&["invoke", "puruto-data", "read", "Lee el registro R-102"])
        .await;

    assert_eq!(read.code, 0, "{read:?}");
    let result = &read.json()["result"];
    assert_eq!(result["summary"], "Registro leído: R-102");
    assert_eq!(result["records"][0]["customer"], "Luis");
    assert_eq!(worker.executions("puruto-data").await, 1);
}

#[tokio::test]
async fn a_cancel_ends_the_program_and_its_child_within_a_second() {
    let fleet = Fleet::of(&[CLERK]).await;
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked = request("r-1", "clerk", "Hello");
    wire.ask(&asked).await;
    let pids = processes(&fleet).await;

    let cancelled = fleet.puruto(&["cancel", "r-1", "--target", "clerk"]).await;
    let announced = Instant::now();
    until_gone(&pids).await;
    let took = announced.elapsed();
    let result = json_of(&wire.result(&asked).await.payload);

    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(result["error"]["code"], "CANCELLED");
}

#[tokio::test]
async fn a_deadline_ends_the_program_and_its_child() {
    let fleet = Fleet::of(&[CLERK]).await;
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut asked = request("r-1", "clerk", "Hello");
    asked["timeout_sec"] = 2.into();
    wire.ask(&asked).await;
    let pids = processes(&fleet).await;

    let result = json_of(&wire.result(&asked).await.payload);
    until_gone(&pids).await;

    assert_eq!(result["error"]["code"], "TIMEOUT");
}

#[tokio::test]
async fn a_worker_that_hands_over_leaves_no_program_behind() {
    let fleet = Fleet::of(&[CLERK]).await;
    let mut worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    wire.ask(&request("r-1", "clerk", "Hello")).await;
    let pids = processes(&fleet).await;

    worker.signal(Signal::TERM);
    until("the first signal was heard", async || {
        worker.log().contains("draining").then_some(())
    })
    .await;
    worker.signal(Signal::TERM);
    let status = worker.ended().await;
    until_gone(&pids).await;

    assert!(status.success(), "{status}");
}

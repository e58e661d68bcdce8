//! `puruto demo`: ends well only if every outcome was right.

use std::{fs, net::TcpStream, path::Path};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::{
    processes::{children_of, runs},
    program::{Program, WORKERS},
};

/// Where the demo said that one of its servers was.
fn address<'s>(said: &'s str, scheme: &str) -> &'s str {
    let (_, rest) = said.split_once(scheme).expect("an address");
    rest.lines().next().expect("a line")
}

#[tokio::test]
async fn every_outcome_of_the_demo_is_right_and_nothing_is_left_running() {
    let ended = Program::run(&["demo", "--workers-dir", WORKERS]).await;

    assert_eq!(ended.code, Some(0), "{}", ended.said);
    for words in [
        "Factura #123 pagada",
        "DENIED",
        "TIMEOUT",
        "kill -9",
        "another one took over",
        "Payment: Entered in the ledger",
        "[incident] After the last deployment",
        "[network] Inside the network",
        "one result each: puruto-financial in execution",
        "└─ puruto-reservations book_room  done ok",
        "nats pub puruto.invoke.puruto-financial",
        "R-101",
        "all 9 outcomes are right",
    ] {
        assert!(
            ended.said.contains(words),
            "{words} is not in\n{}",
            ended.said
        );
    }
    for scheme in ["nats://", "redis://"] {
        let address = address(&ended.said, scheme);
        assert!(
            TcpStream::connect(address).is_err(),
            "{address} still answers"
        );
    }
}

/// A copy of the Purutos that ship, in which one gives another answer than the demo expects.
fn with_a_changed_answer() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let of = |root: &Path, file: &str| root.join("puruto-echo").join(file);
    fs::create_dir(folder.path().join("puruto-echo")).expect("a folder");
    let shipped = of(Path::new(WORKERS), "worker.toml");
    let worker = fs::read_to_string(shipped).expect("a file");
    let changed = worker.replace("{prompt}", "nobody");
    assert_ne!(changed, worker);
    fs::write(of(folder.path(), "worker.toml"), changed).expect("written");
    for name in [
        "puruto-cli",
        "puruto-data",
        "puruto-financial",
        "puruto-reservations",
        "puruto-research",
    ] {
        let shipped = Path::new(WORKERS).join(name);
        std::os::unix::fs::symlink(shipped, folder.path().join(name)).expect("a link");
    }
    folder
}

#[tokio::test]
async fn a_wrong_outcome_is_shown_and_the_rest_still_plays() {
    let workers = with_a_changed_answer();
    let workers = workers.path().to_str().expect("text");

    let ended = Program::run(&["demo", "--workers-dir", workers]).await;

    assert_eq!(ended.code, Some(1), "{}", ended.said);
    for words in [
        "WRONG puruto-echo echo",
        "expected an answer with \"Is anybody there?\"",
        "another one took over",
        "1 of 9 outcomes are WRONG",
    ] {
        assert!(
            ended.said.contains(words),
            "{words} is not in\n{}",
            ended.said
        );
    }
    let (_, logs) = ended.said.split_once("the logs are in ").expect("a folder");
    fs::remove_dir_all(logs.lines().next().expect("a line")).expect("kept for us");
}

#[tokio::test]
async fn a_demo_that_is_interrupted_leaves_nothing_behind() {
    let temporary = TempDir::new().expect("a folder");
    let variables = [("TMPDIR", temporary.path())];
    let demo = Program::start_with(&["demo", "--workers-dir", WORKERS], &variables).await;
    demo.says("all three workers serve").await;
    let children = children_of(demo.pid());
    assert_eq!(children.len(), 5, "{children:?}");

    demo.signal(Signal::INT);

    let ended = demo.ended().await;
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    assert!(
        children.iter().all(|child| !runs(child.pid)),
        "{children:?}"
    );
    let left = fs::read_dir(temporary.path()).expect("a folder").count();
    assert_eq!(left, 0, "in its temporary folder");
}

#[tokio::test]
async fn a_demo_without_the_purutos_that_ship_says_where_they_should_be() {
    let ended = Program::run(&["demo"]).await;

    assert_eq!(ended.code, Some(2), "{}", ended.said);
    assert!(ended.said.contains("--workers-dir"), "{}", ended.said);
}

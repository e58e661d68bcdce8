//! `puruto dev`: serves until it is told to end, and leaves nothing behind however it ends.

use std::{fs, net::TcpListener, path::Path};

use futures_util::StreamExt as _;
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::{
    processes::{Child, PATIENCE, children_of, runs, send, until},
    program::{Program, WORKERS},
};

const DEV: [&str; 3] = ["dev", "--workers-dir", WORKERS];

/// Two servers, two workers and a gateway.
const PROCESSES: usize = 5;

fn env_file(dev: &Program) -> std::path::PathBuf {
    dev.folder().join(".puruto/dev.env")
}

/// One that serves.
async fn serving() -> Program {
    let dev = Program::start(&DEV).await;
    until("the fleet serves", || {
        assert!(runs(dev.pid()), "it ended:\n{}", dev.said());
        env_file(&dev).exists()
    })
    .await;
    dev
}

/// The value that the file for other commands gives to `name`.
fn variable(file: &Path, name: &str) -> String {
    let text = fs::read_to_string(file).expect("a file");
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    value.expect("the variable").to_owned()
}

/// Publishes a request by hand and gives the message on its result's subject.
async fn ask(nats: &str) -> Value {
    let client = async_nats::connect(nats).await.expect("a connection");
    let mut results = client
        .subscribe("puruto.result.>")
        .await
        .expect("subscribed");
    client.flush().await.expect("flushed");
    let request = json!({
        "request_id": "r-1", "correlation_id": "c-1", "caller": "puruto-cli",
        "target": "puruto-financial", "action": "pay_invoice", "prompt": "Paga la factura #123",
    });
    let published = client.publish("puruto.invoke.puruto-financial", request.to_string().into());
    published.await.expect("published");
    let message = timeout(PATIENCE, results.next()).await;
    let message = message.expect("in time").expect("a message");
    assert_eq!(message.subject.as_str(), "puruto.result.c-1.r-1");
    serde_json::from_slice(&message.payload).expect("JSON")
}

/// What is answered at an address, head and all.
async fn get(url: &str) -> String {
    let place = url.strip_prefix("http://").expect("HTTP");
    let (place, path) = place.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(place).await.expect("a connection");
    // By the older protocol the answer ends with the connection.
    let question = format!("GET /{path} HTTP/1.0\r\nHost: {place}\r\n\r\n");
    let asked = stream.write_all(question.as_bytes()).await;
    asked.expect("asked");
    let mut answer = String::new();
    let read = timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
    read.expect("in time").expect("an answer");
    answer
}

async fn gone(children: &[Child]) {
    until("no process is left", || {
        !children.iter().any(|child| runs(child.pid))
    })
    .await;
}

#[tokio::test]
async fn a_fleet_in_one_command_answers_and_ends_with_ctrl_c() {
    let dev = serving().await;
    let (file, children) = (env_file(&dev), children_of(dev.pid()));
    assert_eq!(children.len(), PROCESSES, "{children:?}");
    assert!(variable(&file, "REDIS_URL").starts_with("redis://127.0.0.1:"));

    let result = ask(&variable(&file, "NATS_URL")).await;
    assert_eq!(result["result"]["summary"], "Factura #123 pagada");

    dev.signal(Signal::INT);
    until("others are led here no more", || !file.exists()).await;
    let ended = dev.ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(
        children.iter().all(|child| !runs(child.pid)),
        "{children:?}"
    );
    assert!(!ended.said.contains("async_nats"), "{}", ended.said);
    for words in [
        "worker-1",
        "worker-2",
        "gateway",
        "told to stop",
        "invoke puruto-financial",
    ] {
        assert!(
            ended.said.contains(words),
            "{words} is not in\n{}",
            ended.said
        );
    }
}

#[tokio::test]
async fn the_way_into_the_dashboard_stands_where_the_fleet_says_that_it_is_ready() {
    let dev = serving().await;
    dev.says("in a browser: ").await;
    let said = dev.said();
    let (_, ready) = said.split_once("ready after").expect("it is ready");
    let (_, way_in) = ready.split_once("in a browser: ").expect("the way in");
    let way_in = way_in.lines().next().expect("a line");

    let answer = get(way_in).await;

    assert!(way_in.contains("/?token="), "{way_in}");
    assert!(answer.contains("set-cookie: puruto_dashboard="), "{answer}");
}

#[tokio::test]
async fn a_fleet_whose_starter_is_killed_leaves_no_process() {
    let dev = serving().await;
    let children = children_of(dev.pid());
    assert_eq!(children.len(), PROCESSES, "{children:?}");

    dev.signal(Signal::KILL);

    gone(&children).await;
}

#[tokio::test]
async fn a_worker_that_dies_is_started_again() {
    let dev = serving().await;
    let is_worker = |child: &Child| child.command.contains(" worker ");
    let before: Vec<_> = children_of(dev.pid())
        .into_iter()
        .filter(is_worker)
        .collect();

    send(before[0].pid, Signal::KILL);

    dev.says("signal: 9").await;
    until("there are two workers again", || {
        let now = children_of(dev.pid());
        let fresh = now
            .iter()
            .filter(|child| is_worker(child) && !before.contains(child));
        fresh.count() == 1
    })
    .await;
}

#[tokio::test]
async fn a_fleet_that_loses_a_server_ends_and_says_which() {
    let dev = serving().await;
    let children = children_of(dev.pid());
    let redis = children
        .iter()
        .find(|child| child.command.contains("redis"));

    send(redis.expect("a server").pid, Signal::KILL);

    let ended = dev.ended().await;
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    assert!(
        ended.said.contains("redis-server ended by itself"),
        "{}",
        ended.said
    );
    gone(&children).await;
}

#[tokio::test]
async fn a_port_that_was_asked_for_and_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();

    for flag in ["--nats-port", "--redis-port", "--gateway-port"] {
        let ended = Program::run(&["dev", "--workers-dir", WORKERS, flag, &port]).await;

        assert_eq!(ended.code, Some(2), "{}", ended.said);
        let said = format!("port {port} for ");
        assert!(ended.said.contains(&said), "{}", ended.said);
    }
}

#[tokio::test]
async fn a_workers_folder_that_is_not_there_is_named_with_its_flag() {
    let ended = Program::run(&["dev", "--workers-dir", "nowhere"]).await;

    assert_eq!(ended.code, Some(2), "{}", ended.said);
    for words in ["nowhere", "--workers-dir"] {
        assert!(ended.said.contains(words), "{}", ended.said);
    }
}

#[tokio::test]
async fn one_data_folder_has_one_fleet() {
    let data = TempDir::new().expect("a folder");
    let data = data.path().to_str().expect("text");
    let arguments = [DEV.as_slice(), &["--data-dir", data]].concat();
    let first = Program::start(&arguments).await;
    first.says("ready after").await;

    let second = Program::run(&arguments).await;

    assert_eq!(second.code, Some(2), "{}", second.said);
    assert!(second.said.contains("--data-dir"), "{}", second.said);
}

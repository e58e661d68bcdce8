//! The foreign clients that other tests drive the fleet with: they are there and reach a server,
//! and where one cannot be had that is said or fails. And servers of tools that others wrote, as
//! agents use them; and alerts, as the tool of Prometheus judges them.

mod mcp;
mod promtool;
#[path = "../support/mod.rs"]
mod support;

use std::panic::catch_unwind;

use puruto_fleet::dev::{
    find::Places,
    tool::{Tool, Version},
};
use tempfile::TempDir;

use support::foreign::{
    Missing, Runner, aimock, llmock, nats_cli,
    nats_cli::NatsCli,
    need, need_for,
    promtool::Promtool,
    python::{NATS_PY, Python},
    python_with,
};

/// Says over which server it was sent a message by itself.
const ROUND_TRIP: &str = r#"
import asyncio, importlib.metadata, sys
import nats

async def main():
    connection = await nats.connect(sys.argv[1])
    inbox = await connection.subscribe("greeting")
    await connection.publish("greeting", b"hello")
    message = await inbox.next_msg(timeout=10)
    await connection.close()
    print(importlib.metadata.version("nats-py"), message.data.decode())

asyncio.run(main())
"#;

#[tokio::test]
async fn the_nats_command_line_answers_and_reaches_a_server() {
    let folder = TempDir::new().expect("a temporary folder");
    let server = support::start(Tool::Nats, folder.path()).await;
    let Some(nats) = need(nats_cli(&server.url()).await) else {
        return;
    };

    let version = nats.run(&["--version"]).await.expect("a version");
    let published = nats.run(&["pub", "greeting", "hello"]).await;
    let streams = nats.run(&["stream", "ls", "--json"]).await;

    assert!(Version::find_in(&version).is_some(), "{version}");
    assert!(published.expect("published").contains("Published 5 bytes"));
    assert!(streams.is_ok(), "{streams:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_fails_the_nats_command_line() {
    let Some(nats) = need(nats_cli("nats://127.0.0.1:1").await) else {
        return;
    };

    let published = nats.run(&["pub", "greeting", "hello"]).await;

    let why = published.expect_err("no server");
    assert!(why.contains("no servers available"), "{why}");
}

#[tokio::test]
async fn python_has_the_pinned_nats_py_and_reaches_a_server() {
    let folder = TempDir::new().expect("a temporary folder");
    let server = support::start(Tool::Nats, folder.path()).await;
    let Some(python) = need(python_with(&NATS_PY).await) else {
        return;
    };

    let printed = python.run(&["-c", ROUND_TRIP, &server.url()]).await;

    let version = NATS_PY.packages.folder.trim_start_matches("nats-py-");
    assert_eq!(printed, Ok(format!("{version} hello\n")));
}

#[tokio::test]
async fn on_a_machine_without_go_and_python_it_is_said_what_is_missing() {
    let folder = TempDir::new().expect("a temporary folder");
    let bare = Places {
        nats_server: None,
        redis_server: None,
        search_path: folder.path().join("bin").into(),
        tool_folder: folder.path().join("tools"),
    };

    let nats = NatsCli::obtain(&bare, None, "nats://127.0.0.1:1").await;
    let python = Python::with(&NATS_PY, &bare).await;
    let promtool = Promtool::obtain(&bare, None).await;
    let judge = llmock::start(&bare, &[]).await;
    let front = aimock::start(&bare, &[]).await;

    for (server, tool) in [(judge, "llmock"), (front, "aimock")] {
        assert_eq!(
            server.expect_err("no python").to_string(),
            format!("{tool} cannot be had: python3 is not on PATH")
        );
    }
    assert_eq!(
        nats.expect_err("no go").to_string(),
        "the nats command line cannot be had: go is not on PATH; \
         install it, or name its program in PURUTO_NATS_CLI"
    );
    assert_eq!(
        python.expect_err("no python").to_string(),
        "Python with nats-py cannot be had: python3 is not on PATH"
    );
    assert_eq!(
        promtool.expect_err("no apt-get").to_string(),
        "promtool cannot be had: apt-get is not on PATH; \
         install Debian's package prometheus, or name the program in PURUTO_PROMTOOL"
    );
    assert!(!folder.path().join("tools").join("incoming").exists());
}

#[test]
fn a_person_may_lack_a_tool_and_the_gate_may_not() {
    let missing = || -> Result<(), Missing> {
        let why = "go is not on PATH".to_owned();
        Err(Missing {
            tool: "a tool",
            why,
        })
    };

    assert_eq!(need_for(Runner::Person, missing()), None);
    assert!(catch_unwind(|| need_for(Runner::Ci, missing())).is_err());
    assert_eq!(need_for(Runner::Ci, Ok(1)), Some(1));
}

//! Agents of a gateway, asked by the official Python SDK of the Agent2Agent protocol.

use std::fs;

use puruto_fleet::{dev::port::Port, gateway::auth::keys::KeyDigest};
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::{
    fleet::Fleet,
    patience::until,
    support::foreign::{need, python::A2A, python_with},
    terminal::Running,
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/a2a_client.py");
const KEY: &str = "pk_the-key-of-a-caller";
const OTHER_KEY: &str = "pk_the-key-of-another";
const GATEWAY: &str = "puruto-gateway";

const PURUTOS: [(&str, &str); 5] = [
    (
        "clerk",
        "[model]\nprovider = \"simulated\"\nanswer = \"You said {prompt}\"",
    ),
    (
        "ledger",
        "actions = [\"pay\", \"read\", \"refund\"]\n[model]\nprovider = \"simulated\"",
    ),
    (
        "broken",
        "[model]\nprovider = \"simulated\"\nerrors = [\"contract\"]",
    ),
    (
        "talker",
        "stream = true\n[model]\nprovider = \"simulated\"\nanswer = \"One two three\"\n\
         latency = \"500ms\"\nword_latency = \"200ms\"",
    ),
    (
        "slow",
        "[model]\nprovider = \"simulated\"\nlatency = \"10m\"",
    ),
];

/// A fleet that a gateway may ask, but for one action of one Puruto.
async fn fleet() -> Fleet {
    let fleet = Fleet::of(&PURUTOS).await;
    let targets = PURUTOS.map(|(name, _)| name);
    let policy = json!({
        "owner": GATEWAY, "allowed_targets": targets,
        "allowed_actions": {"ledger": ["pay", "read"]},
    });
    fleet.write_policy(GATEWAY, &policy.to_string());
    let keys = fleet.servers.folder().join("keys.toml");
    let entry = |name: &str, key: &str| {
        let digest = KeyDigest::of(key);
        format!("[[key]]\nname = \"{name}\"\nsha256 = \"{digest}\"\ntargets = [\"*\"]\n")
    };
    let entries = entry("ann", KEY) + &entry("bob", OTHER_KEY);
    fs::write(&keys, entries).expect("a file");
    let keys = keys.display().to_string();
    fleet
        .with("PURUTO_GATEWAY__KEYS_FILE", &keys)
        .with("PURUTO_GATEWAY__TELEMETRY", "off")
}

/// A gateway that serves, and its address.
async fn gateway(fleet: &Fleet) -> (Running, String) {
    let address = Port::free(&fleet.chance).expect("a port").address();
    let listen = address.to_string();
    let running = fleet.begin(&["gateway", "--listen", &listen]).await;
    until("the gateway serves", async || {
        TcpStream::connect(address).await.ok()
    })
    .await;
    (running, format!("http://{address}"))
}

/// What the SDK sees that speaks this version; none on a machine that cannot have the SDK.
async fn seen(version: &str) -> Option<Value> {
    let python = need(python_with(&A2A).await)?;
    let fleet = fleet().await;
    let _worker = fleet.worker("w1").await;
    let (_gateway, url) = gateway(&fleet).await;
    let printed = python.run(&[SCRIPT, &url, version, KEY, OTHER_KEY]).await;
    let printed = printed.expect("the script succeeds");
    let json = printed.lines().find(|line| line.starts_with('{'));
    Some(serde_json::from_str(json.expect("what it saw")).expect("JSON"))
}

/// What is the same in both versions.
fn holds_its_side(seen: &Value, version: &str) {
    assert_eq!(
        seen["card"],
        json!({
            "name": "clerk", "skills": ["ask"], "schemes": ["apiKey"], "versions": [version],
        })
    );
    assert_eq!(seen["sent"]["state"], "TASK_STATE_COMPLETED", "{seen}");
    assert_eq!(seen["sent"]["said"], "You said hello");
    assert_eq!(seen["got"], seen["sent"]);
    assert_eq!(seen["repeated"], true);
    assert_eq!(seen["ledger"]["skills"], json!(["pay", "read"]));
    assert_eq!(seen["ledger"]["said"], "TASK_STATE_COMPLETED");
    assert_eq!(seen["failed"]["state"], "TASK_STATE_FAILED");
    let why = seen["failed"]["said"].as_str().expect("text");
    assert!(why.starts_with("INVALID_RESPONSE: "), "{why}");
    assert!(goes_on(&seen["at once"]), "{seen}");
    assert_eq!(seen["cancelled"], "TASK_STATE_CANCELED");
    assert_eq!(seen["followed"], "TASK_STATE_CANCELED");
    for (refused, says) in [
        (&seen["refused"]["unknown"], "no such task"),
        (&seen["refused"]["of another"], "no such task"),
        (&seen["refused"]["ended"], "has ended"),
        (&seen["refused"]["continued"], "one message"),
        (&seen["refused"]["file"], "files are not taken"),
        (&seen["refused"]["nobody"], "401"),
        (&seen["refused"]["follow ended"], "has ended"),
        (&seen["ledger"]["unsaid"], "one of pay, read"),
        (&seen["ledger"]["unknown"], "one of pay, read"),
    ] {
        let told = refused[1].as_str().expect("refused");
        assert!(told.contains(says), "{refused}");
    }
}

/// Whether a worker has not taken it yet, or has.
fn goes_on(state: &Value) -> bool {
    state == "TASK_STATE_SUBMITTED" || state == "TASK_STATE_WORKING"
}

fn holds_a_stream(streamed: &Value) {
    let states = streamed["states"].as_array().expect("a list");
    assert!(goes_on(&states[0]), "{states:?}");
    assert_eq!(states.last(), Some(&json!("TASK_STATE_COMPLETED")));
    assert_eq!(streamed["whole"], "One two three");
    let pieces = streamed["pieces"].as_array().expect("a list");
    let heard: String = pieces.iter().filter_map(|it| it[1].as_str()).collect();
    assert!("One two three".ends_with(&heard), "{pieces:?}");
}

#[tokio::test]
async fn the_official_sdk_asks_agents_by_the_newer_version_of_the_protocol() {
    let Some(seen) = seen("1.0").await else {
        return;
    };
    holds_its_side(&seen, "1.0");
    holds_a_stream(&seen["streamed"]);
    for (refused, kind) in [
        ("unknown", "TaskNotFoundError"),
        ("ended", "TaskNotCancelableError"),
        ("continued", "UnsupportedOperationError"),
        ("file", "ContentTypeNotSupportedError"),
        ("follow ended", "UnsupportedOperationError"),
    ] {
        assert_eq!(seen["refused"][refused][0], kind, "{seen}");
    }
    assert_eq!(seen["ledger"]["unsaid"][0], "InvalidParamsError");
}

#[tokio::test]
async fn the_official_sdk_asks_agents_by_the_older_version_of_the_protocol() {
    let Some(seen) = seen("0.3").await else {
        return;
    };
    holds_its_side(&seen, "0.3");
    holds_a_stream(&seen["streamed"]);
}

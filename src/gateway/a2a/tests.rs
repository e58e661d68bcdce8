//! What is read of callers, and how a task is told in either version. No fleet.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use axum::http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::{
    agents::NoAction,
    message::{Answered, Message},
    rpc::{RpcCode, RpcError},
    task::{Piece, TaskState, Told},
    version::{Method, Version, spoken},
    *,
};
use crate::{
    clock::WallTime,
    contract::{
        ActionName, Deadline, ErrorCode, Fingerprint, Lane, Outcome, ResultError, TimeoutSec,
    },
    gateway::executions::{Phase, State as Standing},
    policy::{LivePolicies, PolicySet},
    puruto::Fleet,
    store::{RequestKey, executions::Execution},
};

fn action(name: &str) -> ActionName {
    name.parse().expect("a name")
}

fn no_call(body: &str) -> (RpcCode, Value) {
    let refused = Call::read(body.as_bytes()).expect_err(body);
    let document = refused.id.refuse(&refused.error);
    assert_eq!(document["error"]["code"], refused.error.code.number());
    (refused.error.code, document["id"].clone())
}

#[test]
fn a_call_is_read_and_what_is_none_is_refused_under_its_id() {
    let body = r#"{"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "t"}}"#;
    let call = Call::read(body.as_bytes()).expect("a call");
    assert_eq!((call.version, call.method), (Version::V10, Method::Get));
    assert_eq!(
        call.id.answer(&json!({})),
        json!({"jsonrpc": "2.0", "id": 7, "result": {}})
    );
    for (body, code, id) in [
        ("{", RpcCode::Parse, Value::Null),
        ("[]", RpcCode::InvalidRequest, Value::Null),
        (
            r#"{"jsonrpc": "2.0", "method": "tasks/get"}"#,
            RpcCode::InvalidRequest,
            Value::Null,
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 1.5}"#,
            RpcCode::InvalidRequest,
            Value::Null,
        ),
        (
            r#"{"jsonrpc": "2.0", "id": true}"#,
            RpcCode::InvalidRequest,
            Value::Null,
        ),
        (
            r#"{"jsonrpc": "1.0", "id": "a", "method": "tasks/get"}"#,
            RpcCode::InvalidRequest,
            json!("a"),
        ),
        (
            r#"{"jsonrpc": "2.0", "id": "a", "id": "b"}"#,
            RpcCode::InvalidRequest,
            json!("a"),
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 1}"#,
            RpcCode::InvalidRequest,
            json!(1),
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 1, "method": "x"}"#,
            RpcCode::MethodNotFound,
            json!(1),
        ),
        (
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": []}"#,
            RpcCode::InvalidParams,
            json!(1),
        ),
    ] {
        assert_eq!(no_call(body), (code, id), "{body}");
    }
}

#[test]
fn the_codes_are_those_of_the_protocol() {
    for (code, number) in [
        (RpcCode::Parse, -32700),
        (RpcCode::InvalidRequest, -32600),
        (RpcCode::MethodNotFound, -32601),
        (RpcCode::InvalidParams, -32602),
        (RpcCode::Internal, -32603),
        (RpcCode::TaskNotFound, -32001),
        (RpcCode::TaskNotCancelable, -32002),
        (RpcCode::PushNotSupported, -32003),
        (RpcCode::Unsupported, -32004),
        (RpcCode::ContentType, -32005),
        (RpcCode::NoExtendedCard, -32007),
        (RpcCode::Version, -32009),
    ] {
        assert_eq!(code.number(), number);
    }
}

#[test]
fn a_version_that_is_not_spoken_is_refused() {
    let said = |version: &'static str| {
        let value = HeaderValue::from_static(version);
        spoken(&HeaderMap::from_iter([(
            "a2a-version".parse().unwrap(),
            value,
        )]))
    };
    assert_eq!(spoken(&HeaderMap::new()), Ok(()));
    for good in ["", "0.3", "0.3.0", "1.0", "1", "1.1.2"] {
        assert_eq!(said(good), Ok(()), "{good}");
    }
    for bad in ["0.2", "2.0", "0", "one", "0.30"] {
        assert_eq!(said(bad).expect_err(bad).code, RpcCode::Version);
    }
}

fn message(message: Value, more: Value) -> Result<Message, RpcError> {
    let mut params = more.as_object().expect("an object").clone();
    params.insert("message".to_owned(), message);
    Message::read(&params)
}

#[test]
fn a_message_of_either_version_says_the_same() {
    let old = json!({
        "kind": "message", "role": "user", "messageId": "m", "contextId": "c",
        "parts": [{"kind": "text", "text": "pay"}, {"kind": "data", "data": {"cents": 7}}],
        "metadata": {"action": "pay_invoice", "timeout_ms": 1500, "priority": "high"},
    });
    let new = json!({
        "role": "ROLE_USER", "messageId": "m", "contextId": "c", "taskId": "",
        "parts": [{"text": "pay"}, {"data": {"cents": 7}}],
        "metadata": {"action": "pay_invoice", "timeout_ms": 1500.0, "priority": "high"},
    });
    let old = message(old, json!({})).expect("a message");
    assert_eq!(old, message(new, json!({})).expect("a message"));
    assert_eq!(old.prompt, "pay\n{\"cents\":7}");
    assert_eq!(old.action, Some(action("pay_invoice")));
    assert_eq!((old.timeout, old.lane), (TimeoutSec::new(2), Lane::High));
    assert_eq!(old.context, Some("c".parse().expect("an id")));
    assert_eq!((old.task, old.answered), (None, Answered::Settled));
}

#[test]
fn a_caller_waits_unless_it_says_otherwise() {
    let said = |configuration: Value| {
        let bare = json!({"messageId": "m", "parts": [{"text": "a"}]});
        let read = message(bare, json!({"configuration": configuration}));
        read.expect("a message").answered
    };
    for waits in [
        json!({}),
        json!({"blocking": true}),
        json!({"returnImmediately": false}),
    ] {
        assert_eq!(said(waits), Answered::Settled);
    }
    for waits_not in [
        json!({"blocking": false}),
        json!({"returnImmediately": true}),
    ] {
        assert_eq!(said(waits_not), Answered::AtOnce);
    }
}

#[test]
fn what_is_no_message_is_told_why() {
    let good = json!({"messageId": "m", "parts": [{"text": "a"}]});
    let with = |key: &str, value: Value| {
        let mut changed = good.clone();
        changed[key] = value;
        let error = message(changed, json!({})).expect_err(key);
        (error.code, error.message)
    };
    let file = json!([{"kind": "file", "file": {"uri": "https://example.com"}}]);
    assert_eq!(with("parts", file).0, RpcCode::ContentType);
    for (key, value, says) in [
        ("parts", json!("a"), "message.parts"),
        ("parts", json!([]), "says nothing"),
        ("parts", json!([{"text": ""}]), "says nothing"),
        ("parts", json!(["a"]), "no object"),
        ("messageId", Value::Null, "message.messageId is missing"),
        ("messageId", json!(""), "message.messageId has to be"),
        ("contextId", json!("a\nb"), "message.contextId"),
        ("role", json!("agent"), "message.role"),
        ("metadata", json!({"action": "a b"}), "metadata.action"),
        ("metadata", json!({"action": 1}), "metadata.action"),
        ("metadata", json!({"priority": "now"}), "metadata.priority"),
        (
            "metadata",
            json!({"timeout_ms": 0.5}),
            "metadata.timeout_ms",
        ),
    ] {
        let (code, message) = with(key, value);
        assert_eq!(code, RpcCode::InvalidParams, "{message}");
        assert!(message.contains(says), "{message}");
    }
}

fn execution() -> Execution {
    Execution {
        key: RequestKey {
            target: "clerk".parse().expect("a name"),
            request: "r".parse().expect("an id"),
        },
        correlation: "c".parse().expect("an id"),
        skill: "a2a/clerk".into(),
        fingerprint: "0"
            .repeat(32)
            .parse::<Fingerprint>()
            .expect("a fingerprint"),
        created: WallTime::from_unix_millis(0),
        deadline: Deadline::of(WallTime::from_unix_millis(0), Duration::from_secs(1), None),
    }
}

fn ended(outcome: Outcome) -> Standing {
    Standing {
        phase: Phase::Ended(outcome),
        completed: Some(WallTime::from_unix_millis(1_500)),
        ..Standing::ACCEPTED
    }
}

fn failed(code: ErrorCode) -> Standing {
    ended(Outcome::Error(ResultError::new(code, "why")))
}

#[test]
fn every_state_of_an_execution_is_one_of_a_task() {
    let running = Standing {
        phase: Phase::Running,
        ..Standing::ACCEPTED
    };
    let waiting = Standing {
        wants_approval: true,
        ..running.clone()
    };
    for (state, old, new) in [
        (Standing::ACCEPTED, "submitted", "TASK_STATE_SUBMITTED"),
        (running, "working", "TASK_STATE_WORKING"),
        (waiting, "input-required", "TASK_STATE_INPUT_REQUIRED"),
        (
            ended(Outcome::Ok(json!({"summary": "x"}))),
            "completed",
            "TASK_STATE_COMPLETED",
        ),
        (failed(ErrorCode::Timeout), "failed", "TASK_STATE_FAILED"),
        (failed(ErrorCode::IpcError), "failed", "TASK_STATE_FAILED"),
        (
            failed(ErrorCode::Cancelled),
            "canceled",
            "TASK_STATE_CANCELED",
        ),
        (failed(ErrorCode::Denied), "rejected", "TASK_STATE_REJECTED"),
    ] {
        let execution = execution();
        for (version, word) in [(Version::V03, old), (Version::V10, new)] {
            let told = Told {
                execution: &execution,
                version,
            };
            assert_eq!(told.task(&state)["status"]["state"], word);
        }
        assert_eq!(TaskState::of(&state).is_final(), state.status().is_final());
    }
}

#[test]
fn a_task_is_told_in_the_words_of_each_version() {
    let execution = execution();
    let told = |version| Told {
        execution: &execution,
        version,
    };
    let (old, new) = (told(Version::V03), told(Version::V10));
    let output = json!({"content": "{\"a\": 1}", "json": {"a": 1}});
    let done = ended(Outcome::Ok(json!({"summary": "{...", "output": output})));
    assert_eq!(
        old.sent(&done),
        json!({
            "kind": "task", "id": "r", "contextId": "c",
            "status": {"state": "completed", "timestamp": "1970-01-01T00:00:01.5Z"},
            "artifacts": [{"artifactId": "answer", "name": "answer", "parts": [
                {"kind": "text", "text": "{\"a\": 1}"}, {"kind": "data", "data": {"a": 1}},
            ]}],
        })
    );
    assert_eq!(
        new.sent(&done)["task"]["artifacts"][0]["parts"],
        json!([{"text": "{\"a\": 1}"}, {"data": {"a": 1}}])
    );
    let error = failed(ErrorCode::Timeout);
    let said = &old.task(&error)["status"]["message"];
    assert_eq!(
        (&said["role"], &said["kind"]),
        (&json!("agent"), &json!("message"))
    );
    assert_eq!(said["parts"][0]["text"], "TIMEOUT: why");
    assert_eq!(new.task(&error)["status"]["message"]["role"], "ROLE_AGENT");
}

#[test]
fn a_stream_is_told_in_the_words_of_each_version() {
    let execution = execution();
    let told = |version| Told {
        execution: &execution,
        version,
    };
    let (old, new) = (told(Version::V03), told(Version::V10));
    let turned = old.turned(&Standing::ACCEPTED);
    assert_eq!(
        (&turned["kind"], &turned["final"]),
        (&json!("status-update"), &json!(false))
    );
    assert_eq!(old.turned(&failed(ErrorCode::Timeout))["final"], true);
    let turned = &new.turned(&Standing::ACCEPTED)["statusUpdate"];
    assert_eq!(
        (&turned["taskId"], turned.get("final")),
        (&json!("r"), None)
    );
    for (piece, append, last) in [
        (Piece::First, false, false),
        (Piece::Next, true, false),
        (Piece::Whole, false, true),
    ] {
        let said = &new.said("x", piece)["artifactUpdate"];
        assert_eq!(
            (&said["append"], &said["lastChunk"]),
            (&json!(append), &json!(last))
        );
        assert_eq!(said["artifact"]["parts"], json!([{"text": "x"}]));
        assert_eq!(old.said("x", piece)["kind"], "artifact-update");
    }
    assert_eq!(new.answered(&Standing::ACCEPTED), None);
}

/// A workers folder in which the gateway may ask some of several Purutos.
fn agents() -> (tempfile::TempDir, Agents) {
    let folder = tempfile::TempDir::new().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    };
    let model = "[model]\nprovider = 'simulated'\n";
    write(
        "any/worker.toml",
        &format!("description = 'Anything'\n{model}"),
    );
    write("one/worker.toml", &format!("actions = ['pay']\n{model}"));
    write(
        "two/worker.toml",
        &format!("actions = ['pay', 'read', 'refund']\n{model}"),
    );
    write("none/worker.toml", &format!("actions = ['pay']\n{model}"));
    write("away/worker.toml", model);
    let policy = json!({
        "owner": "gate", "allowed_targets": ["any", "one", "two", "none", "gate"],
        "allowed_actions": {"two": ["read", "pay"], "none": ["read"]},
    });
    write("gate/.puruto-ipc.json", &policy.to_string());
    let agents = of(folder.path());
    (folder, agents)
}

fn of(workers: &Path) -> Agents {
    let fleet = Fleet::load(workers).expect("no mistake");
    let policies = LivePolicies::fixed(PolicySet::load(workers).0);
    Agents::new(Arc::new(fleet), policies, "gate".parse().expect("a name"))
}

#[test]
fn an_agent_offers_what_it_serves_and_the_gateway_may_ask() {
    let (_folder, agents) = agents();
    let agent = |name: &str| agents.get(&name.parse().expect("a name"));
    for name in ["none", "away", "gate", "nowhere"] {
        assert!(agent(name).is_none(), "{name}");
    }
    let any = agent("any").expect("an agent");
    assert_eq!(any.action(None), Ok(action("ask")));
    assert_eq!(any.action(Some(&action("sing"))), Ok(action("sing")));
    let one = agent("one").expect("an agent");
    assert_eq!(one.action(None), Ok(action("pay")));
    let two = agent("two").expect("an agent");
    let both = vec![action("pay"), action("read")];
    assert_eq!(two.action(None), Err(NoAction::Unsaid(both.clone())));
    let refund = action("refund");
    assert_eq!(two.action(Some(&refund)), Err(NoAction::Unknown(both)));
    assert_eq!(two.action(Some(&action("read"))), Ok(action("read")));
}

#[test]
fn a_card_is_read_by_clients_of_both_versions() {
    let (_folder, agents) = agents();
    let gateway = "https://fleet.example".parse().expect("an address");
    let agent = agents
        .get(&"two".parse().expect("a name"))
        .expect("an agent");
    let card = card::of(&agent, &gateway, Tokens::NotTaken);
    assert_eq!(card["url"], "https://fleet.example/a2a/two");
    let versions: Vec<_> = (0..2)
        .map(|at| &card["supportedInterfaces"][at]["protocolVersion"])
        .collect();
    assert_eq!(versions, ["1.0", "0.3"]);
    assert_eq!(card["skills"][1]["id"], "read");
    assert_eq!(card["security"], json!([{"apiKey": []}]));
    let card = card::of(&agent, &gateway, Tokens::Taken);
    let schemes = card["securitySchemes"].as_object().expect("an object");
    let names: BTreeSet<_> = schemes.keys().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(["apiKey", "bearer"]));
    assert_eq!(
        card["securityRequirements"][1]["schemes"]["bearer"]["list"],
        json!([])
    );
}

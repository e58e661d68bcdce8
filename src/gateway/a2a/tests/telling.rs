//! An execution as a task of either version.

use std::time::Duration;

use serde_json::json;

use crate::{
    clock::WallTime,
    contract::{Deadline, ErrorCode, Fingerprint, Outcome, ResultError},
    gateway::{
        a2a::{
            task::{Piece, TaskState, Told},
            version::Version,
        },
        executions::{Phase, State as Standing},
    },
    store::{RequestKey, executions::Execution},
};

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

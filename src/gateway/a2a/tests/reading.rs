//! What is read of callers.

use axum::http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::{
    contract::{ActionName, Lane, TimeoutSec},
    gateway::a2a::{
        message::{Answered, Message},
        rpc::{Call, RpcCode, RpcError},
        version::{Method, Version, spoken},
    },
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

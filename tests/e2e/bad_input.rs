//! What is no request, or may not be one: each is answered with everything that is wrong with it,
//! and the worker goes on.

use async_nats::HeaderMap;
use puruto_fleet::contract::Violation;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

use crate::{
    fleet::{CALLER, Fleet},
    patience::{until, within},
    wire::{Heard, RESULTS, Wire, json_of, place_of, request},
};

const ECHO: (&str, &str) = ("echo", "[model]\nprovider = \"simulated\"");
const SUBJECT: &str = "puruto.invoke.echo";

/// What contradicts the contract: what is published, and each field at fault with what would have
/// been right.
struct Case {
    body: Vec<u8>,
    wrong: Vec<(&'static str, &'static str)>,
}

const ID: &str = "1 to 200 characters, no control characters";
const NAME: &str = "[A-Za-z0-9][A-Za-z0-9_-]{0,63}";
const PROMPT: &str = "a string of at most 262144 bytes";
const TIMEOUT: &str = "an integer from 1 to 86400";
const HOP: &str = "an integer from 0 to 64";
const DOCUMENT: &str = "one JSON document";

/// A good request with these fields changed; `null` takes one away.
fn with(changes: &Value) -> Vec<u8> {
    let mut request = request("bad-1", "echo", "Hello");
    for (field, value) in changes.as_object().expect("fields") {
        request[field] = value.clone();
    }
    let fields = request.as_object_mut().expect("fields");
    fields.retain(|_, value| !value.is_null());
    request.to_string().into()
}

/// A good request with this text in place of the closing brace.
fn ending(text: &str) -> Vec<u8> {
    let good = String::from_utf8(with(&json!({}))).expect("text");
    let open = good.strip_suffix('}').expect("an object");
    format!("{open},{text}").into()
}

fn case(body: impl Into<Vec<u8>>, wrong: &[(&'static str, &'static str)]) -> Case {
    Case {
        body: body.into(),
        wrong: wrong.to_vec(),
    }
}

fn changed(changes: &Value, wrong: &[(&'static str, &'static str)]) -> Case {
    case(with(changes), wrong)
}

/// Values that do not fit their fields.
fn of_the_wrong_value() -> Vec<Case> {
    let (long, wide) = ("x".repeat(201), "n".repeat(65));
    let large = "x".repeat(256 * 1024 + 1);
    vec![
        changed(&json!({"request_id": ""}), &[("request_id", ID)]),
        changed(&json!({"request_id": long}), &[("request_id", ID)]),
        changed(&json!({"request_id": "a\u{7}b"}), &[("request_id", ID)]),
        changed(&json!({"request_id": 7}), &[("request_id", ID)]),
        changed(
            &json!({"correlation_id": "a\nb"}),
            &[("correlation_id", ID)],
        ),
        changed(&json!({"correlation_id": [1]}), &[("correlation_id", ID)]),
        changed(&json!({"caller": "no name"}), &[("caller", NAME)]),
        changed(&json!({"caller": "-leading"}), &[("caller", NAME)]),
        changed(&json!({"target": "a.b"}), &[("target", NAME)]),
        changed(&json!({"target": "*"}), &[("target", NAME)]),
        changed(&json!({"target": null}), &[("target", NAME)]),
        changed(&json!({"action": wide}), &[("action", NAME)]),
        changed(&json!({"action": null}), &[("action", NAME)]),
        changed(&json!({"prompt": null}), &[("prompt", PROMPT)]),
        changed(&json!({"prompt": {"a": 1}}), &[("prompt", PROMPT)]),
        changed(&json!({"prompt": large}), &[("prompt", PROMPT)]),
        changed(&json!({"timeout_sec": 0}), &[("timeout_sec", TIMEOUT)]),
        changed(&json!({"timeout_sec": -1}), &[("timeout_sec", TIMEOUT)]),
        changed(&json!({"timeout_sec": 86_401}), &[("timeout_sec", TIMEOUT)]),
        changed(&json!({"timeout_sec": 30.0}), &[("timeout_sec", TIMEOUT)]),
        changed(&json!({"timeout_sec": "30"}), &[("timeout_sec", TIMEOUT)]),
        changed(&json!({"hop": 65}), &[("hop", HOP)]),
        changed(&json!({"hop": 256}), &[("hop", HOP)]),
        changed(&json!({"hop": -1}), &[("hop", HOP)]),
        changed(&json!({"hop": true}), &[("hop", HOP)]),
        changed(
            &json!({"caller": "", "action": 1, "prompt": null, "hop": 99}),
            &[
                ("caller", NAME),
                ("action", NAME),
                ("prompt", PROMPT),
                ("hop", HOP),
            ],
        ),
    ]
}

/// What is no JSON object, or not one that every reader reads alike.
fn of_the_wrong_form() -> Vec<Case> {
    let deep = format!("\"x\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let truncated = with(&json!({})).split_last().expect("a body").1.to_vec();
    let marked = ["\u{feff}".as_bytes(), &with(&json!({}))].concat();
    let document = [("$", DOCUMENT)];
    vec![
        case("", &document),
        case(b"\xff", &[("$", "UTF-8 text")]),
        case(truncated, &document),
        case("[]", &[("$", "a JSON object")]),
        case("null", &[("$", "a JSON object")]),
        case("pay the invoice", &document),
        case("{} {}", &document),
        case(marked, &document),
        case(ending(&deep), &document),
        case(ending("\"timeout_sec\":1e999}"), &document),
        case(ending("\"hop\":NaN}"), &document),
        case(
            ending("\"hop\":0,\"hop\":1}"),
            &[("hop", "one value a key")],
        ),
        case(
            ending("\"x\":{\"y\":1,\"y\":1}}"),
            &[("x.y", "one value a key")],
        ),
    ]
}

/// The body with ids of its own: the same ones with another body would be a conflict.
fn numbered(body: &[u8], number: usize) -> Vec<u8> {
    match std::str::from_utf8(body) {
        Ok(text) => text.replace("bad-1", &format!("bad-{number}")).into(),
        Err(_) => body.to_vec(),
    }
}

/// The result speaks of its request by the ids that could be read, else by minted ones.
fn assert_ids(result: &Value, body: &[u8], number: usize) {
    let asked: Value = serde_json::from_slice(body).unwrap_or_default();
    let own = [
        ("request_id", format!("bad-{number}")),
        ("correlation_id", format!("chain-bad-{number}")),
    ];
    for (field, id) in own {
        let told = result[field].as_str().expect("an id");
        if asked[field] == id {
            assert_eq!(told, id);
        } else {
            let minted = uuid::Uuid::parse_str(told).expect("a minted id");
            assert_eq!(minted.get_version_num(), 5, "{result}");
        }
    }
}

/// Publishes the case; its result names its violations and no others.
async fn assert_refused(wire: &Wire, heard: &mut Heard, case: &Case, number: usize) {
    let body = numbered(&case.body, number);
    wire.publish(SUBJECT, &body).await;
    let answer = heard.next().await;

    let result = json_of(&answer.payload);
    let details = &result["error"]["details"];
    let shown: String = String::from_utf8_lossy(&body).chars().take(120).collect();
    assert_eq!(result["error"]["code"], "IPC_ERROR", "{shown}: {result}");
    assert_eq!(details["kind"], "invalid_request", "{shown}: {result}");
    let violations: Vec<Violation> =
        serde_json::from_value(details["violations"].clone()).expect("violations");
    let told: Vec<_> = violations
        .iter()
        .map(|it| (it.field.as_str(), it.expected.as_str()))
        .collect();
    assert_eq!(told, case.wrong, "{shown}");
    assert_ids(&result, &body, number);
    assert_eq!(answer.subject.as_str(), place_of(&result));
}

#[tokio::test]
async fn every_violation_of_the_contract_is_told_and_the_worker_goes_on() {
    let fleet = Fleet::of(&[ECHO]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.>").await;

    let cases = of_the_wrong_value().into_iter().chain(of_the_wrong_form());
    let mut refused = 0;
    for case in cases {
        refused += 1;
        assert_refused(&wire, &mut heard, &case, refused).await;
    }

    let good = request("good-1", "echo", "Hello");
    wire.ask(&good).await;
    assert_eq!(json_of(&wire.result(&good).await.payload)["status"], "ok");
    wire.until_all_is_done().await;
    assert_eq!(wire.messages(RESULTS).await, refused as u64 + 1);
    assert_eq!(worker.executions("echo").await, 1);
}

#[tokio::test]
async fn who_may_not_ask_is_denied_whatever_was_published() {
    let fleet = Fleet::of(&[ECHO]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.>").await;
    let nameless = json!({"target": "echo", "action": "do", "prompt": "Hello"});
    let mut elsewhere = request("r-1", "other", "Hello");
    elsewhere["action"] = "do".into();
    let mut deep = request("r-2", "echo", "Hello");
    deep["hop"] = 2.into();
    let mut stranger = request("r-3", "echo", "Hello");
    stranger["caller"] = "stranger".into();

    for (body, why) in [
        (nameless, "anonymous"),
        (elsewhere, "the body names the target other"),
        (deep, "max_hops"),
        (stranger, "stranger"),
    ] {
        wire.publish(SUBJECT, body.to_string()).await;
        let result = heard.result().await;
        assert_eq!(result["error"]["code"], "DENIED", "{result}");
        let message = result["error"]["message"].as_str().expect("a message");
        assert!(message.contains(why), "{message}");
        assert_eq!(
            result["error"].get("details"),
            Some(&Value::Null),
            "{result}"
        );
    }
    assert_eq!(worker.executions("echo").await, 0);
}

#[tokio::test]
async fn ids_that_a_person_left_out_are_minted_and_unknown_fields_are_no_mistake() {
    let fleet = Fleet::of(&[ECHO]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.>").await;

    let typed = json!({"caller": CALLER, "target": "echo", "action": "do", "prompt": "Hello", "tenant": [7]});
    wire.publish(SUBJECT, typed.to_string()).await;
    wire.publish(SUBJECT, typed.to_string()).await;
    let results = [heard.result().await, heard.result().await];

    assert!(results.iter().all(|it| it["status"] == "ok"), "{results:?}");
    let ids = results
        .each_ref()
        .map(|it| it["request_id"].as_str().expect("an id"));
    assert_ne!(ids[0], ids[1]);
    assert!(
        ids.iter().all(|it| uuid::Uuid::parse_str(it).is_ok()),
        "{ids:?}"
    );
    assert_eq!(worker.executions("echo").await, 2);
}

#[tokio::test]
async fn a_deadline_header_that_is_no_time_is_a_violation_too() {
    let fleet = Fleet::of(&[ECHO]).await;
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let request = request("r-1", "echo", "Hello");
    let mut headers = HeaderMap::new();
    headers.insert("Puruto-Deadline", "tomorrow");

    wire.publish_with(SUBJECT, headers, request.to_string())
        .await;
    let result = json_of(&wire.result(&request).await.payload);

    let details = &result["error"]["details"];
    assert_eq!(details["kind"], "invalid_request", "{result}");
    assert_eq!(details["violations"][0]["field"], "Puruto-Deadline");
}

/// Publishes as no client library would: the header holds a lone carriage return.
async fn publish_raw_header(fleet: &Fleet, body: &str) {
    let address = fleet.servers.nats.port().address();
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let headers = "NATS/1.0\r\nX: a\rb\r\n\r\n";
    let (head, all) = (headers.len(), headers.len() + body.len());
    let talk = format!(
        "CONNECT {{\"verbose\":false,\"headers\":true}}\r\n\
         HPUB {SUBJECT} {head} {all}\r\n{headers}{body}\r\nPING\r\n"
    );
    stream.write_all(talk.as_bytes()).await.expect("sent");
    let mut lines = BufReader::new(stream).lines();
    let taken = async {
        while let Some(line) = lines.next_line().await.expect("text") {
            if line == "PONG" {
                return;
            }
        }
        panic!("the server closed the connection");
    };
    within("the server has taken it", taken).await;
}

#[tokio::test]
async fn a_header_that_breaks_the_client_library_does_not_stop_the_worker() {
    let fleet = Fleet::of(&[ECHO]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let poison = request("poison-1", "echo", "Hello");

    publish_raw_header(&fleet, &poison.to_string()).await;
    until("its connection died and was made anew", async || {
        (worker.count("puruto_broker_reconnects_total").await > 0).then_some(())
    })
    .await;
    let good = request("good-1", "echo", "Hello");
    wire.ask(&good).await;

    assert_eq!(json_of(&wire.result(&good).await.payload)["status"], "ok");
}

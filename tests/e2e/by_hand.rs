//! The fleet driven by hand with the `nats` command line, which knows nothing of it.

use std::{convert::Infallible, process::Stdio, time::Duration};

use bytes::Bytes;
use puruto_fleet::dev::process::Process;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::ChildStdout,
    time::interval,
};

use crate::{
    fleet::Fleet,
    patience::{until, within},
    support::foreign::{nats_cli, nats_cli::NatsCli, need},
    terminal::Ended,
    wire::{INVOKE, RESULTS, Wire, header, json_of, place_of},
};

/// The example of the request's contract, as it stands there.
const EXAMPLE: &str = r#"{
  "request_id": "req-20260224-001",
  "correlation_id": "corr-20260224-001",
  "caller": "puruto-reservations",
  "target": "puruto-financial",
  "action": "pay_invoice",
  "prompt": "Paga la factura #123 por 50 EUR",
  "timeout_sec": 120,
  "hop": 0
}"#;
const SUBJECT: &str = "puruto.invoke.puruto-financial";
const PLACE: &str = "puruto.result.corr-20260224-001.req-20260224-001";

fn kind_of(result: &Value) -> &str {
    result["error"]["details"]["kind"]
        .as_str()
        .unwrap_or("none")
}

#[tokio::test]
async fn what_is_published_by_hand_is_answered_and_can_be_read_later() {
    let fleet = Fleet::shipped().await;
    let Some(nats) = need(nats_cli(&fleet.servers.nats.url()).await) else {
        return;
    };
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.>").await;

    let published = nats.run(&["pub", SUBJECT, EXAMPLE]).await;
    assert!(published.expect("published").contains("Published"));
    let answer = heard.next().await;
    let sub = [
        "sub",
        "--stream",
        RESULTS,
        "--last-per-subject",
        "--count",
        "1",
        "--raw",
        PLACE,
    ];
    let followed = nats.run(&sub).await.expect("what stands there");
    let get = ["stream", "get", RESULTS, "--last-for", PLACE];
    let kept = nats.run(&get).await.expect("the result");

    let result = json_of(&answer.payload);
    let body = std::str::from_utf8(&answer.payload).expect("text");
    assert_eq!(answer.subject.as_str(), PLACE);
    assert_eq!(result["status"], "ok");
    assert_eq!(result["request_id"], "req-20260224-001");
    assert_eq!(result["correlation_id"], "corr-20260224-001");
    assert_eq!(result["result"]["summary"], "Factura #123 pagada");
    assert!(followed.contains(body), "{followed}");
    assert!(kept.contains(body), "{kept}");
    assert!(kept.contains("Puruto-Status: ok"), "{kept}");
}

/// `nats sub`, by whose own output one knows that it has subscribed.
#[derive(Debug)]
pub(crate) struct Follower {
    lines: Lines<BufReader<ChildStdout>>,
    _process: Process,
}

impl Follower {
    pub(crate) async fn begin(nats: &NatsCli, wire: &Wire) -> Self {
        let mut command = nats.command(&["sub", "puruto.>"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process::spawn(command).await.expect("a process");
        let (_, output, _) = process.take_pipes();
        let mut follower = Self {
            lines: BufReader::new(output.expect("its output")).lines(),
            _process: process,
        };
        tokio::select! {
            () = follower.until("puruto.probe") => {}
            never = probe(wire) => match never {},
        }
        follower
    }

    /// Reads on to the line that holds `text`.
    pub(crate) async fn until(&mut self, text: &str) {
        let found = async {
            while let Some(line) = self.lines.next_line().await.expect("text") {
                if line.contains(text) {
                    return;
                }
            }
            panic!("nats sub ended before {text}");
        };
        within(&format!("nats sub prints {text}"), found).await;
    }
}

/// Publishes again and again what no stream keeps and no worker heeds.
async fn probe(wire: &Wire) -> Infallible {
    let mut pace = interval(Duration::from_millis(20));
    loop {
        pace.tick().await;
        let sent = wire.client.publish("puruto.probe", Bytes::new()).await;
        sent.expect("published");
    }
}

#[tokio::test]
async fn whoever_subscribes_by_hand_sees_the_request_and_its_result_pass() {
    let fleet = Fleet::shipped().await;
    let Some(nats) = need(nats_cli(&fleet.servers.nats.url()).await) else {
        return;
    };
    let _worker = fleet.worker("w1").await;
    let mut follower = Follower::begin(&nats, &fleet.wire().await).await;

    let published = nats.run(&["pub", SUBJECT, EXAMPLE]).await;
    published.expect("published");

    follower.until(SUBJECT).await;
    follower.until(PLACE).await;
    follower.until("\"summary\":\"Factura #123 pagada\"").await;
}

#[tokio::test]
async fn the_nats_command_line_shows_the_streams_and_consumers_of_the_design() {
    let fleet = Fleet::shipped().await;
    let Some(nats) = need(nats_cli(&fleet.servers.nats.url()).await) else {
        return;
    };
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let published = nats.run(&["pub", SUBJECT, EXAMPLE]).await;
    published.expect("published");
    wire.until_all_is_done().await;

    let requests = nats
        .run(&["stream", "info", INVOKE])
        .await
        .expect("a stream");
    let results = nats.run(&["stream", "info", RESULTS, "--json"]).await;
    let results = json_of(results.expect("a stream").as_bytes());
    let consumer = ["consumer", "info", INVOKE, "puruto-financial", "--json"];
    let consumer = until("a worker waits for more", async || {
        let shown = nats.run(&consumer).await.expect("a consumer");
        let shown = json_of(shown.as_bytes());
        (shown["num_ack_pending"] == 0 && shown["num_waiting"] != 0).then_some(shown)
    })
    .await;

    let retention = requests.lines().find(|line| line.contains("Retention"));
    let retention = retention.unwrap_or_else(|| panic!("{requests}"));
    assert!(
        retention.contains("WorkQueue") || retention.contains("Work Queue"),
        "{retention}"
    );
    let config = &results["config"];
    assert_eq!(config["subjects"], json!(["puruto.result.>"]));
    assert_eq!(
        (&config["retention"], &config["discard"]),
        (&"limits".into(), &"new".into())
    );
    assert_eq!(
        (&config["max_msgs_per_subject"], &config["allow_direct"]),
        (&1.into(), &true.into())
    );
    let seconds = |count: u64| Value::from(count * 1_000_000_000);
    assert_eq!(config["max_age"], seconds(72 * 3600));
    let config = &consumer["config"];
    assert_eq!(config["filter_subject"], SUBJECT);
    assert_eq!(
        (&config["ack_policy"], &config["ack_wait"]),
        (&"explicit".into(), &seconds(15))
    );
    assert_eq!(config["max_ack_pending"], -1);
    assert_eq!(consumer["num_pending"], 0);
}

#[tokio::test]
async fn a_request_published_twice_has_one_result_and_ran_once() {
    let fleet = Fleet::shipped().await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.result.>").await;

    wire.publish(SUBJECT, EXAMPLE).await;
    wire.publish(SUBJECT, EXAMPLE).await;
    wire.until_all_is_done().await;
    wire.publish(SUBJECT, EXAMPLE).await;
    wire.until_all_is_done().await;

    let answer = heard.next().await;
    assert_eq!(answer.subject.as_str(), PLACE);
    let headers = answer.headers.as_ref().expect("headers");
    assert_eq!(header(headers, "Puruto-Attempt"), Some("1"));
    assert!(heard.nothing_more(&wire).await);
    assert_eq!(wire.messages(RESULTS).await, 1);
    assert_eq!(worker.executions("puruto-financial").await, 1);
}

#[tokio::test]
async fn the_same_id_with_another_payload_is_a_conflict_and_the_first_result_stays() {
    let fleet = Fleet::shipped().await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let example = json_of(EXAMPLE.as_bytes());
    wire.ask(&example).await;
    let first = wire.result(&example).await;
    let mut heard = wire.listen("puruto.result.>").await;

    let mut other = example.clone();
    other["prompt"] = "Paga la factura #124 por 60 EUR".into();
    wire.ask(&other).await;
    let aside = heard.next().await;
    let invoked = invoke_again(&fleet, "Paga la factura #125 por 70 EUR").await;

    let fingerprint = aside
        .headers
        .as_ref()
        .and_then(|it| header(it, "Puruto-Fingerprint"));
    let fingerprint = fingerprint.expect("a fingerprint");
    assert_eq!(aside.subject.as_str(), format!("{PLACE}.{fingerprint}"));
    assert_eq!(kind_of(&json_of(&aside.payload)), "request_id_conflict");
    assert_eq!(
        (invoked.code, kind_of(&invoked.json())),
        (1, "request_id_conflict")
    );
    assert_eq!(wire.result(&example).await.payload, first.payload);
    assert_eq!(worker.executions("puruto-financial").await, 1);
}

async fn invoke_again(fleet: &Fleet, prompt: &str) -> Ended {
    let words = ["invoke", "puruto-financial", "pay_invoice", prompt];
    let ids = [
        "--request-id",
        "req-20260224-001",
        "--correlation-id",
        "corr-20260224-001",
    ];
    fleet.puruto(&[&words[..], &ids[..]].concat()).await
}

#[tokio::test]
async fn the_same_id_for_two_targets_is_two_requests() {
    let fleet = Fleet::shipped().await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let ask = |chain: &str, target: &str| {
        json!({
            "request_id": "req-1", "correlation_id": chain, "caller": "puruto-cli",
            "target": target, "action": "read_invoice", "prompt": "Hello",
        })
    };
    let (echo, ledger) = (ask("a", "puruto-echo"), ask("b", "puruto-financial"));

    wire.ask(&echo).await;
    wire.ask(&ledger).await;
    let answers = (wire.result(&echo).await, wire.result(&ledger).await);

    assert_eq!(json_of(&answers.0.payload)["result"]["summary"], "Hello");
    assert_eq!(
        json_of(&answers.1.payload)["result"]["summary"],
        "Entered in the ledger: Hello"
    );
    assert_eq!(worker.executions("puruto-echo").await, 1);
    assert_eq!(worker.executions("puruto-financial").await, 1);
    assert_ne!(place_of(&echo), place_of(&ledger));
    let ambiguous = fleet.puruto(&["result", "req-1"]).await;
    assert!(
        ambiguous.code != 0 && ambiguous.errors.contains("puruto-echo"),
        "{ambiguous:?}"
    );
    let mine = fleet
        .puruto(&["result", "req-1", "--target", "puruto-echo"])
        .await;
    assert_eq!(
        (mine.code, &mine.json()["result"]["summary"]),
        (0, &"Hello".into())
    );
}

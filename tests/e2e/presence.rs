//! The fleet as NATS services: found with the `nats` command line, and asked for results with it.

use serde_json::{Value, json};

use crate::{
    fleet::{CALLER, Fleet},
    patience::until,
    support::foreign::{nats_cli, need},
    wire::{INVOKE, Wire, json_of, request},
};

const RPC: &str = "puruto.rpc.puruto-financial";
const SLOTS: &str = "concurrency = 2\n[model]\nprovider = \"simulated\"\n";
/// Results that a worker waits for at once.
const PENDING_MAX: usize = 1_024;
/// Two at once, and thinks for longer than any test waits.
const SLOW: &str = "concurrency = 2\n[model]\nprovider = \"simulated\"\nlatency = \"1h\"\n";

fn ask(prompt: &str) -> Value {
    json!({
        "caller": CALLER, "target": "puruto-financial",
        "action": "pay_invoice", "prompt": prompt,
    })
}

async fn reply(wire: &Wire, subject: &str, body: &str) -> Value {
    let sent = wire
        .client
        .request(subject.to_owned(), body.to_owned().into());
    json_of(&sent.await.expect("a reply").payload)
}

#[tokio::test]
async fn the_nats_command_line_finds_every_worker_and_what_it_does() {
    let fleet = Fleet::of(&[("puruto-pair", SLOTS)]).await;
    let Some(nats) = need(nats_cli(&fleet.servers.nats.url()).await) else {
        return;
    };
    let _workers = (fleet.worker("w1").await, fleet.worker("w2").await);

    let listed = nats.run(&["micro", "ls"]).await.expect("services");
    let info = ["micro", "info", "puruto-worker", "w1"];
    let info = nats.run(&info).await.expect("a service");
    let stats = ["micro", "stats", "puruto-worker", "w2", "--json"];
    let stats = nats.run(&stats).await.expect("its statistics");

    assert!(listed.contains("puruto-worker"), "{listed}");
    assert!(listed.contains("w1") && listed.contains("w2"), "{listed}");
    assert!(info.contains("puruto.rpc.puruto-pair"), "{info}");
    let stats = json_of(stats.as_bytes());
    let data = &stats[0]["endpoints"][0]["data"];
    assert_eq!(data["worker"], "w2", "{stats}");
    assert_eq!((&data["slots"], &data["free"]), (&2.into(), &2.into()));
    assert!(data["session"].is_string(), "{data}");
}

#[tokio::test]
async fn nats_request_is_answered_with_the_result() {
    let fleet = Fleet::shipped().await;
    let Some(nats) = need(nats_cli(&fleet.servers.nats.url()).await) else {
        return;
    };
    let worker = fleet.worker("w1").await;
    let request = ask("Paga la factura #123 por 50 EUR").to_string();

    let asked = ["request", "--raw", RPC, &request];
    let answer = nats.run(&asked).await.expect("an answer");

    let result = json_of(answer.trim().as_bytes());
    assert_eq!(result["status"], "ok", "{result}");
    assert_eq!(result["result"]["summary"], "Factura #123 pagada");
    let id = result["request_id"].as_str().expect("an id");
    let kept = fleet.puruto(&["result", id]).await;
    assert_eq!(kept.json(), result);
    assert_eq!(worker.executions("puruto-financial").await, 1);
}

#[tokio::test]
async fn whatever_is_sent_by_nats_request_is_answered() {
    let fleet = Fleet::shipped().await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut stranger = ask("Paga");
    stranger["caller"] = "puruto-nobody".into();
    let mut again = ask("Paga la factura #7 por 5 EUR");
    again["request_id"] = "req-7".into();
    again["correlation_id"] = "corr-7".into();

    let garbage = reply(&wire, RPC, "{\"request_id\": \"mine\", ").await;
    let denied = reply(&wire, RPC, &stranger.to_string()).await;
    let once = reply(&wire, RPC, &again.to_string()).await;
    let twice = reply(&wire, RPC, &again.to_string()).await;

    assert_eq!(garbage["error"]["details"]["kind"], "invalid_request");
    assert_eq!(denied["error"]["code"], "DENIED");
    assert_eq!(once["status"], "ok", "{once}");
    assert_eq!(once, twice);
    assert_eq!(worker.executions("puruto-financial").await, 1);
    wire.until_all_is_done().await;
}

#[tokio::test]
async fn a_stopping_worker_takes_no_calls_any_more() {
    let fleet = Fleet::shipped().await;
    let mut worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;

    worker.drain().await;
    for subject in [RPC, "$SRV.PING"] {
        until(&format!("nobody answers {subject}"), async || {
            let body = ask("Paga").to_string();
            let asked = wire.client.request(subject, body.into()).await;
            let kind = asked.err().map(|error| error.kind());
            (kind == Some(async_nats::RequestErrorKind::NoResponders)).then_some(())
        })
        .await;
    }
    assert_eq!(wire.messages(INVOKE).await, 0);
}

#[tokio::test]
async fn whoever_waits_at_a_worker_that_stops_is_told_that_the_request_goes_on() {
    let fleet = Fleet::of(&[("puruto-slow", SLOW)]).await;
    let fleet = fleet.with("PURUTO_WORKER__DRAIN_TIMEOUT", "100ms");
    let mut worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asking = tokio::spawn({
        let (wire, request) = (wire.clone(), request("r-1", "puruto-slow", "Hello"));
        async move { reply(&wire, "puruto.rpc.puruto-slow", &request.to_string()).await }
    });
    worker.until_running("puruto-slow", 1).await;

    worker.drain().await;
    let told = asking.await.expect("an answer");

    assert_eq!(told["request_id"], "r-1", "{told}");
    let message = told["error"]["message"].as_str().expect("words");
    assert!(message.contains("the request goes on"), "{message}");
    assert_eq!(wire.messages(INVOKE).await, 1);
}

#[tokio::test]
async fn who_asks_a_worker_that_waits_for_as_many_results_as_it_may_is_told_so_at_once() {
    let fleet = Fleet::of(&[("puruto-slow", SLOW)]).await;
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("_INBOX.crowd.>").await;

    for number in 0..=PENDING_MAX {
        let (subject, id) = ("puruto.rpc.puruto-slow", format!("r-{number}"));
        let body = request(&id, "puruto-slow", "Hello").to_string().into();
        let reply = format!("_INBOX.crowd.{number}");
        let sent = wire.client.publish_with_reply(subject, reply, body).await;
        sent.expect("sent");
    }
    let told = heard.result().await;

    assert_eq!(told["request_id"], format!("r-{PENDING_MAX}"));
    let message = told["error"]["message"].as_str().expect("words");
    assert!(message.contains("has not published"), "{message}");
    assert!(heard.nothing_more(&wire).await);
}

/// The ids of the workers that are listed.
async fn listed(fleet: &Fleet) -> Vec<String> {
    let listed = fleet.puruto(&["workers"]).await;
    assert_eq!(listed.code, 0, "{listed:?}");
    let workers = listed.json()["workers"].clone();
    let workers = workers.as_array().expect("a list");
    let ids = workers.iter().map(|it| it["id"].as_str().expect("an id"));
    ids.map(str::to_owned).collect()
}

#[tokio::test]
async fn workers_are_listed_with_their_slots_and_a_killed_one_is_not() {
    let fleet = Fleet::of(&[("puruto-pair", SLOTS), ("puruto-slow", SLOW)]).await;
    let (first, second) = (fleet.worker("w1").await, fleet.worker("w2").await);
    let wire = fleet.wire().await;
    wire.ask(&request("r-1", "puruto-slow", "Hello")).await;
    until("two workers, one with a slot less", async || {
        let workers = fleet.puruto(&["workers"]).await.json()["workers"].clone();
        let slots = |at: usize| {
            let worker = &workers[at];
            (worker["slots_free"].as_u64(), worker["slots"].as_u64())
        };
        let mut slots = [slots(0), slots(1)];
        slots.sort_unstable();
        (slots == [(Some(3), Some(4)), (Some(4), Some(4))]).then_some(())
    })
    .await;
    until("both are listed by name", async || {
        (listed(&fleet).await == ["w1", "w2"]).then_some(())
    })
    .await;

    first.kill().await;

    until("the killed worker is not listed", async || {
        (listed(&fleet).await == ["w2"]).then_some(())
    })
    .await;
    second.kill().await;
    until("nobody is listed", async || {
        listed(&fleet).await.is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn targets_are_listed_with_what_waits_what_runs_and_who_serves_them() {
    let fleet = Fleet::of(&[("puruto-slow", SLOW)]).await;
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    for id in ["r-1", "r-2", "r-3"] {
        wire.ask(&request(id, "puruto-slow", "Hello")).await;
    }
    worker.until_running("puruto-slow", 2).await;

    let mut watched = fleet.begin(&["targets", "--watch"]).await;
    let seen = until("one waits while two run, and nothing moves", async || {
        let target = watched.line().await["targets"][0].clone();
        let is_still = target["deliveries_per_second"] == 0.0;
        (target["queued"]["normal"] == 1 && is_still).then_some(target)
    })
    .await;

    assert_eq!(seen["target"], "puruto-slow");
    assert_eq!((&seen["running"], &seen["workers"]), (&2.into(), &1.into()));
    assert!(seen["oldest_ms"].as_u64().is_some(), "{seen}");
}

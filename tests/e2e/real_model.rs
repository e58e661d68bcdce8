//! Requests that a real model answers or decides on, from their caller over the queue and a worker
//! and back. Nothing is asserted about its wisdom.

use std::{fs, path::Path, time::Duration};

use puruto_fleet::dev::model::MODEL;
use serde_json::{Value, json};

use crate::{
    fleet::{CALLER, Fleet},
    patience::until_within,
    support::{
        Servers,
        foreign::{need, small_model},
    },
    wire::{json_of, place_of},
};

/// Who delegates.
const ASKER: &str = "puruto-reservations";

#[tokio::test]
async fn a_real_model_answers_a_delegated_request_from_end_to_end() {
    let servers = Servers::start().await;
    let Some(model) = need(small_model(&servers.folder().join("model.log")).await) else {
        return;
    };
    let clerk = format!(
        "[model]\nprovider = \"openai\"\nbase_url = \"{}\"\nmodel = \"{MODEL}\"\n\
         max_tokens = 32\ntemperature = 0.0",
        model.base_url()
    );
    let fleet = Fleet::of_these(&[("clerk", &clerk)], servers);
    fleet.allow(ASKER, &["clerk"]);
    let worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked = json!({
        "request_id": "real-1", "correlation_id": "chain-real", "caller": ASKER,
        "target": "clerk", "action": "pay_invoice", "hop": 1, "timeout_sec": 120,
        "prompt": "Pay invoice #123 of ACME for 50 EUR.",
    });

    wire.ask(&asked).await;
    let result = json_of(&wire.result(&asked).await.payload);
    let invoked = fleet
        .puruto(&["invoke", "clerk", "pay_invoice", "Pay invoice #124."])
        .await;

    assert_eq!(invoked.code, 0, "{invoked:?}");
    for result in [result, invoked.json()] {
        assert_eq!(result["status"], "ok", "{result}");
        let output = &result["result"]["output"];
        assert_eq!(output["model"], MODEL);
        assert!(
            output["usage"]["prompt_tokens"].as_u64() > Some(0),
            "{output}"
        );
        assert!(
            output["usage"]["completion_tokens"].as_u64() > Some(0),
            "{output}"
        );
        let ended = output["finish_reason"].as_str();
        assert!(matches!(ended, Some("stop" | "length")), "{output}");
        let summary = result["result"]["summary"].as_str();
        assert!(summary.is_some_and(|it| !it.is_empty()), "{result}");
    }
    assert_eq!(worker.executions("clerk").await, 2);
}

/// More than five decisions of the model take on a machine with much else to do.
const RUN_WITHIN: Duration = Duration::from_secs(900);

/// The documents of the research Puruto that the project ships, for one of this name.
fn give_documents(servers: &Servers, name: &str) {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/puruto-research/docs");
    let docs = servers.folder().join("workers").join(name).join("docs");
    fs::create_dir_all(&docs).expect("a folder");
    for file in fs::read_dir(shipped).expect("documents") {
        let file = file.expect("a document");
        fs::copy(file.path(), docs.join(file.file_name())).expect("copied");
    }
}

/// What came of each step whose decision was `action`, as the run's record tells.
fn carried_out<'r>(run: &'r Value, action: &str) -> Vec<&'r Value> {
    let told = |kind: &'static str| {
        let events = run["events"].as_array().expect("events").iter();
        let events = events.filter(move |event| event["kind"] == kind);
        events.map(|event| &event["payload"])
    };
    // Each decision is accepted once and carried out once, before the next one.
    let steps = told("decision.accepted").zip(told("operation.completed"));
    steps
        .filter(|(decision, _)| decision["action"] == action)
        .map(|(_, done)| &done["result"])
        .collect()
}

/// Its decisions are constrained to what is of use at each step: five of them are enough for any
/// model to search and to read.
#[tokio::test]
async fn a_real_model_searches_and_reads_step_by_step_as_an_agent() {
    let servers = Servers::start().await;
    let Some(model) = need(small_model(&servers.folder().join("model.log")).await) else {
        return;
    };
    give_documents(&servers, "research");
    let research = format!(
        "kind = \"agent\"\n[model]\nprovider = \"openai\"\nbase_url = \"{}\"\n\
         model = \"{MODEL}\"\ntemperature = 0.0\nrequest_timeout = \"10m\"\n\
         [budget]\nsteps = 5",
        model.base_url()
    );
    let fleet = Fleet::of_these(&[("research", &research)], servers);
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked = json!({
        "request_id": "real-run", "correlation_id": "chain-run", "caller": CALLER,
        "target": "research", "action": "diagnose", "timeout_sec": RUN_WITHIN.as_secs(),
        "prompt": "Why does the API not start?",
    });

    wire.ask(&asked).await;
    let place = place_of(&asked);
    let result = until_within(RUN_WITHIN, "the run has a result", async || {
        wire.stored(&place).await
    });
    let result = json_of(&result.await.payload);
    let shown = ["run", "show", "real-run", "--target", "research", "--json"];
    let run = fleet.puruto(&shown).await.json();

    let searches = carried_out(&run, "search");
    assert!(!searches.is_empty(), "{run}");
    assert!(searches.iter().all(|it| it["hits"].is_array()), "{run}");
    let read = carried_out(&run, "read");
    assert!(!read.is_empty(), "{run}");
    for document in read {
        assert!(
            matches!(document["id"].as_str(), Some("incident" | "network")),
            "{run}"
        );
        let text = document["text"].as_str();
        assert!(text.is_some_and(|it| !it.is_empty()), "{run}");
    }
    assert_eq!(run["model"], format!("openai/{MODEL}"));
    assert!(run["spent"]["tokens"].as_u64() > Some(0), "{run}");
    match run["status"].as_str() {
        Some("completed") => assert_eq!(result["result"]["output"]["answer"], run["report"]),
        Some("budget_exhausted") => assert_eq!(result["error"]["code"], "BUDGET_EXHAUSTED"),
        _ => panic!("{run}"),
    }
}

//! A request that a real model answers, from its caller over the queue and a worker and back.

use puruto_fleet::dev::model::MODEL;
use serde_json::json;

use crate::{
    fleet::Fleet,
    support::{
        Servers,
        foreign::{need, small_model},
    },
    wire::json_of,
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

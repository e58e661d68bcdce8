//! The gateway answers as its own description says, whatever is asked.

use std::fs;

use serde_json::{Value, json};

use crate::{
    fleet::Fleet,
    support::foreign::{need, schemathesis},
};

/// Repeats what it is asked.
const ECHO: (&str, &str) = ("puruto-echo", "[model]\nprovider = \"simulated\"");

/// Cases of each operation that are drawn by chance, beside those that the description implies.
const DRAWN: &str = "20";

/// What can be asked for, by method and path.
const OPERATIONS: [&str; 8] = [
    "GET /.well-known/skill-sharing",
    "GET /v1/executions",
    "GET /v1/executions/{execution_id}",
    "GET /v1/executions/{execution_id}/events",
    "GET /v1/executions/{execution_id}/result",
    "GET /v1/skills/{skill_id}",
    "POST /v1/executions/{execution_id}/cancel",
    "POST /v1/invocations",
];

/// The skill of the description's own example. It takes any inputs: what a skill asks for itself
/// stands in its descriptor.
fn echo() -> Value {
    json!({
        "protocol": "skill-sharing/1.0",
        "id": "com.example.echo-v1",
        "name": "Echo",
        "version": "1.0.0",
        "capability_type": "text",
        "description": "Repeats a text.",
        "provider": {"name": "Example"},
        "inputs": {"type": "object"},
        "output": {"type": "object"},
        "auth": {"type": "none"},
        "access": {"visibility": "public"},
        "puruto": {"target": "puruto-echo", "action": "echo", "prompt": "Hello"},
    })
}

#[tokio::test]
async fn every_answer_is_one_that_the_description_knows_and_what_it_forbids_is_refused() {
    let Some(judge) = need(schemathesis().await) else {
        return;
    };
    let fleet = Fleet::of(&[ECHO]).await;
    fleet.open_to_http(&["puruto-echo"]);
    fleet.skill(&echo());
    fleet.keys_for(&["ann"]);
    let _worker = fleet.worker("w").await;
    let gateway = fleet.gateway("g").await;
    let folder = fleet.servers.folder();

    let arguments = [
        ["--checks", "all"],
        ["--max-examples", DRAWN],
        ["--seed", "1"],
        ["--generation-database", "none"],
        ["--request-timeout", "60"],
        ["--header", "X-API-Key: key-of-ann"],
        ["--report", "json"],
        ["--report-json-path", "judged.json"],
    ];
    let judged = judge
        .run(
            &gateway.at("/openapi.json"),
            arguments.as_flattened(),
            folder,
        )
        .await;

    assert!(judged.is_good, "{}", judged.printed);
    let report = fs::read_to_string(folder.join("judged.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["stop_reason"], "completed", "{report}");
    assert_eq!(report["operations"]["tested"], OPERATIONS.len(), "{report}");
    for operation in OPERATIONS {
        let cases = &report["valid_rates"][operation]["fuzzing"];
        assert!(cases.is_object(), "{operation}: {report}");
    }
}

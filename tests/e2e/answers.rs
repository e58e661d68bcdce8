//! What a Puruto asks of its models' answers, and which model answers where one does not.

use serde_json::{Value, json};

use crate::{
    fleet::Fleet,
    wire::{json_of, request},
};

/// Answers with what it is asked, which must be an invoice.
const CLERK: (&str, &str) = (
    "clerk",
    r#"
        [model]
        provider = "simulated"
        [response_schema]
        type = "object"
        required = ["id", "cents"]
        additionalProperties = false
        [response_schema.properties]
        id = { type = "string", pattern = "^[A-Z]-[0-9]+$" }
        cents = { type = "integer", minimum = 0 }
        lines = { type = "array", items = { type = "string" } }
    "#,
);

/// Is wrong at first, and right when it is told so.
const LEARNER: (&str, &str) = (
    "learner",
    r#"
        repair_attempts = 1
        [model]
        provider = "simulated"
        answer = "five cents"
        [[model.rules]]
        when = "Answer again"
        answer = '{"cents": 5}'
        [response_schema]
        required = ["cents"]
    "#,
);

/// Its first model refuses, its second answers.
const CAREFUL: (&str, &str) = (
    "careful",
    r#"
        [model]
        provider = "simulated"
        model = "first"
        errors = ["429 23h"]
        [[fallback]]
        provider = "simulated"
        model = "second"
    "#,
);

async fn answered(fleet: &Fleet, id: &str, target: &str, prompt: &str) -> Value {
    let wire = fleet.wire().await;
    let request = request(id, target, prompt);
    wire.ask(&request).await;
    json_of(&wire.result(&request).await.payload)
}

#[tokio::test]
async fn an_answer_of_another_form_is_answered_with_each_violation() {
    let fleet = Fleet::of(&[CLERK]).await;
    let _worker = fleet.worker("w1").await;

    let prompt = r#"{"id": "secret", "lines": ["a", 2], "more": true}"#;
    let result = answered(&fleet, "r-1", "clerk", prompt).await;
    assert_eq!(result["error"]["code"], "INVALID_RESPONSE", "{result}");
    let violation = |field: &str, expected: &str, actual: &str| json!({"field": field, "expected": expected, "actual": actual});
    let required = "a value, as it is required";
    let pattern = "a string that matches ^[A-Z]-[0-9]+$";
    let expected = [
        violation("content.cents", required, "nothing"),
        violation("content.id", pattern, "a string of 6 characters"),
        violation("content.lines[1]", "string", "2"),
        violation("content.more", "no such property", "true"),
    ];
    let details = &result["error"]["details"];
    assert_eq!(details["code"], "CONTRACT_VIOLATION");
    let told = details["violations"].as_array().expect("violations");
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for violation in &expected {
        assert!(told.contains(violation), "{violation} is not in {told:?}");
    }
    assert!(!result.to_string().contains("secret"), "{result}");

    let prose = fleet.puruto(&["invoke", "clerk", "do", "no JSON"]).await;
    assert_eq!(prose.code, 1);
    let told = &prose.json()["error"]["details"]["violations"];
    let none = "a string of 7 characters that is none";
    assert_eq!(told, &json!([violation("content", "JSON", none)]));
}

#[tokio::test]
async fn an_answer_of_the_right_form_is_handed_over_as_a_value() {
    let fleet = Fleet::of(&[CLERK]).await;
    let _worker = fleet.worker("w1").await;
    let fenced = "```json\n{\"id\": \"A-1\", \"cents\": 5}\n```";
    let result = answered(&fleet, "r-1", "clerk", fenced).await;
    let output = &result["result"]["output"];
    assert_eq!(output["json"], json!({"id": "A-1", "cents": 5}), "{result}");
    let content = output["content"].as_str().expect("a text");
    assert_eq!(content.trim(), "{\"id\": \"A-1\", \"cents\": 5}");
}

#[tokio::test]
async fn a_model_may_correct_its_answer_where_its_puruto_allows_it() {
    let fleet = Fleet::of(&[LEARNER]).await;
    let worker = fleet.worker("w1").await;
    let result = answered(&fleet, "r-1", "learner", "how much?").await;
    let output = &result["result"]["output"];
    assert_eq!(output["json"], json!({"cents": 5}), "{result}");
    assert_eq!(output["metadata"]["repaired"], true);
    assert!(worker.log().contains("answer_repair"));
}

#[tokio::test]
async fn another_model_answers_where_the_first_one_refuses_and_the_result_says_so() {
    let fleet = Fleet::of(&[CAREFUL]).await;
    let worker = fleet.worker("w1").await;
    let result = answered(&fleet, "r-1", "careful", "Hello").await;
    assert_eq!(result["result"]["summary"], "Hello", "{result}");
    let route = json!({"provider": "simulated", "model": "second", "index": 1});
    assert_eq!(result["result"]["output"]["metadata"]["route"], route);
    let failed = "puruto_route_failovers_total{error_type=\"rate_limited\",model=\"first\"}";
    assert_eq!(worker.count(failed).await, 1);
    assert!(worker.log().contains("route_failed_over"));
}

#[tokio::test]
async fn a_worker_with_a_schema_that_is_none_does_not_start_and_says_where() {
    let broken = "response_schema = { required = \"id\" }\n[model]\nprovider = \"simulated\"";
    let fleet = Fleet::of(&[("clerk", broken)]).await;
    let place = "clerk/worker.toml#response_schema.required";
    let checked = fleet.puruto(&["check"]).await;
    assert_eq!(checked.code, 1);
    assert!(checked.output.contains(place), "{checked:?}");
    let mut worker = fleet.launch("w1").await;
    assert_eq!(worker.ended().await.code(), Some(1));
    assert!(worker.log().contains(place), "{}", worker.log());
}

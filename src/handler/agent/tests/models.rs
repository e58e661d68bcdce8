//! Runs that a model decides on.

use std::sync::Mutex;

use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::any};

use super::*;
use crate::{
    clock::{Chance, Clock},
    contract::{ErrorCode, Micros},
    handler::{OnCircuitOpen, Prices},
    runtime::{Shared, config::ProviderConfig, routes::Routes},
    store::run::RunStatus,
};

fn model(table: &str, decisions: Decisions) -> AgentParts {
    let config: ProviderConfig = toml::from_str(table).expect("a model table");
    let shared = Shared::new(Clock::system(), Chance::seeded(1), Arc::new(()));
    let model = Model {
        routes: Routes::open(&config, &[], |_| None, &shared).expect("a route"),
        decisions,
        on_circuit_open: OnCircuitOpen::Fail,
        prices: Prices::read(["m=1/1"]).expect("prices"),
        prompt: Some("You find causes.".into()),
    };
    AgentParts {
        proposer: Proposer::Model(Box::new(model)),
        ..research()
    }
}

/// A server that gives `messages` one after the other, and keeps what it was asked.
async fn server(messages: Vec<Value>) -> (MockServer, Arc<Mutex<Vec<Value>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let server = MockServer::start().await;
    let heard = Arc::clone(&asked);
    let respond = move |request: &Request| {
        let mut heard = heard.lock().expect("no panic");
        let message = &messages[heard.len().min(messages.len() - 1)];
        heard.push(request.body_json().expect("JSON"));
        let calls_tools = message.get("tool_calls").is_some();
        let reason = if calls_tools { "tool_calls" } else { "stop" };
        ResponseTemplate::new(200).set_body_json(json!({
            "model": "m",
            "choices": [{"message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100},
        }))
    };
    Mock::given(any())
        .respond_with(respond)
        .mount(&server)
        .await;
    (server, asked)
}

fn table(server: &MockServer) -> String {
    let uri = server.uri();
    format!("provider = \"openai\"\nbase_url = \"{uri}/v1\"\nmodel = \"m\"\n")
}

fn says(decision: &Value) -> Value {
    json!({"role": "assistant", "content": decision.to_string()})
}

fn calls(function: &str, arguments: &Value) -> Value {
    let function = json!({"name": function, "arguments": arguments.to_string()});
    json!({"content": null, "tool_calls": [{"id": "c", "type": "function", "function": function}]})
}

fn read() -> Value {
    json!({"action": "read", "args": {"id": "network"}})
}

fn report() -> Value {
    json!({"action": "report", "args": {"answer": "use 5432", "sources": ["network"]}})
}

#[tokio::test]
async fn a_model_decides_in_json_that_a_schema_constrains() {
    let (server, asked) = server(vec![says(&read()), says(&report())]).await;
    let (result, run) = ran(model(&table(&server), Decisions::Json), "which port?").await;
    assert_eq!(result.expect("a report")["summary"], "use 5432");
    assert_eq!((run.model.as_str(), run.requests), ("openai/m", 2));
    assert_eq!((run.spent.requests, run.spent.tokens), (2, 200));
    assert_eq!(run.spent.cost, Micros(200));
    let asked = asked.lock().expect("no panic").clone();
    let schema = &asked[0]["response_format"]["json_schema"]["schema"];
    let action = |number: usize| &schema["anyOf"][number]["properties"]["action"]["const"];
    assert_eq!(*action(0), "search", "before anything else");
    assert!(action(1).is_null());
    assert_eq!(asked[0].get("tools"), None);
    let system = asked[0]["messages"][0]["content"].as_str().expect("a text");
    assert!(system.starts_with("You find causes.\n"), "{system}");
    assert!(system.contains("- search: finds") && system.contains("never instructions"));
    let user = asked[1]["messages"][1]["content"].as_str().expect("a text");
    let (history, evidence) = user.split_once("\n\n").expect("evidence");
    let history: Value = serde_json::from_str(history).expect("JSON");
    assert_eq!(history["goal"], "which port?");
    assert_eq!(history["history"][0]["decision"], read());
    assert_eq!(history["steps_left"], 7);
    assert!(
        evidence.contains("Inside the network the db container listens on 5432."),
        "as it stands: {evidence}"
    );
}

#[tokio::test]
async fn a_model_decides_by_calling_functions() {
    let read = calls("read", &json!({"id": "network"}));
    let report = calls(
        "report",
        &json!({"answer": "use 5432", "sources": ["network"]}),
    );
    let (server, asked) = server(vec![read, report]).await;
    let (result, run) = ran(model(&table(&server), Decisions::ToolCalls), "which port?").await;
    assert_eq!(
        result.expect("a report")["output"]["sources"],
        json!(["network"])
    );
    assert_eq!(observed(&run)[0]["id"], "network");
    let asked = asked.lock().expect("no panic").clone();
    let names = |asked: &Value| -> Vec<_> {
        let tools = asked["tools"].as_array().expect("tools").iter();
        tools.map(|it| it["function"]["name"].clone()).collect()
    };
    assert_eq!(names(&asked[0]), ["search"]);
    assert_eq!(names(&asked[1]), ["search", "report"]);
    assert_eq!(asked[0].get("response_format"), None);
}

#[tokio::test]
async fn an_answer_that_is_no_decision_is_repaired_once_and_both_are_charged() {
    for decisions in [Decisions::Json, Decisions::ToolCalls] {
        let prose = json!({"content": "I think I should read something."});
        let (server, asked) = server(vec![prose, says(&report_of_nothing())]).await;
        let (result, run) = ran(model(&table(&server), decisions), "which port?").await;
        assert_eq!(
            result.expect("a report")["summary"],
            "unknown",
            "{decisions:?}"
        );
        assert_eq!((run.requests, run.step.number()), (2, 1), "{decisions:?}");
        assert_eq!(run.spent.tokens, 200, "{decisions:?}");
        let asked = asked.lock().expect("no panic").clone();
        let told = asked[1]["messages"][3]["content"].as_str().expect("a text");
        assert!(told.contains("expected one JSON document"), "{told}");
        assert_eq!(
            asked[1]["messages"][2]["content"],
            "I think I should read something."
        );
    }
}

fn report_of_nothing() -> Value {
    json!({"action": "report", "args": {"answer": "unknown", "sources": []}})
}

#[tokio::test]
async fn a_second_answer_that_is_no_decision_ends_the_run_with_what_was_wrong() {
    let wrong = json!({"action": "read", "args": {"path": "/etc/passwd"}});
    let (server, _) = server(vec![says(&wrong)]).await;
    let (result, run) = ran(model(&table(&server), Decisions::Json), "which port?").await;
    let error = result.expect_err("no report");
    assert_eq!(error.code, ErrorCode::InvalidResponse);
    let fields: Vec<_> = error.violations().into_iter().map(|it| it.field).collect();
    assert_eq!(fields, ["args.id", "args.path"]);
    assert_eq!((run.status, run.requests), (RunStatus::Failed, 2));
    assert_eq!(run.spent.tokens, 200);
}

#[tokio::test]
async fn a_decision_beyond_the_schema_is_observed_and_not_repaired() {
    let other = json!({"action": "read", "args": {"id": "../../secret"}});
    let (server, _) = server(vec![says(&other), says(&report_of_nothing())]).await;
    let (result, run) = ran(model(&table(&server), Decisions::Json), "which port?").await;
    assert!(result.is_ok());
    assert_eq!((run.requests, run.step.number()), (2, 2));
    assert!(observed(&run)[0]["error"].is_string());
}

#[tokio::test]
async fn a_model_that_cannot_be_had_ends_the_run_as_its_runtime_says() {
    let table = "provider = \"simulated\"\nerrors = [\"401\"]\n";
    let (result, run) = ran(model(table, Decisions::Json), "which port?").await;
    let error = result.expect_err("no report");
    assert_eq!(error.kind(), Some("auth"));
    assert_eq!((run.status, run.requests), (RunStatus::Failed, 1));
}

#[tokio::test(start_paused = true)]
async fn each_question_has_its_own_attempts_and_each_attempt_is_charged() {
    let table = format!(
        "provider = \"simulated\"\nanswer = '{}'\nerrors = [\"503\", \"503\"]\n",
        json!({"action": "search", "args": {"query": "x"}})
    );
    let parts = AgentParts {
        // Few enough for the breaker to stay closed.
        limits: StepLimits {
            steps: 3,
            requests: 12,
        },
        ..model(&table, Decisions::Json)
    };
    let (_, run) = ran(parts, "which port?").await;
    assert_eq!((run.step.number(), run.requests), (3, 3));
    assert_eq!(run.spent.requests, 3 * 3);
}

//! What the dashboard and the alerts ask for is what workers and gateways answer when scraped.

use std::{fs, path::Path};

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

use crate::{
    fleet::Fleet,
    gateway::{SKILL, TRANSLATOR, invocation, process::Gateway, translate},
    patience::until,
    support::promql::{
        exported::Exported,
        watched::{DASHBOARD, Query, RULES, Rule, dashboard, rules},
    },
    wire::{json_of, request},
    worker::Worker,
};

/// As many as its limit lets through at once, and some that have to wait for their turn.
const CALLS: usize = 8;

/// Fails once, then tells its answer word by word.
const TELLER: (&str, &str) = (
    "teller",
    "stream = true\n[model]\nprovider = \"simulated\"\nerrors = [\"500\"]",
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

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file")
}

/// All that anybody asks of Prometheus.
fn queries() -> Vec<Query> {
    let page: Value = serde_json::from_str(&read(DASHBOARD)).expect("JSON");
    let rules = rules(&read(RULES));
    let mut queries = dashboard(&page);
    queries.extend(rules.iter().map(Rule::query));
    queries
}

async fn model_server() -> MockServer {
    let server = MockServer::start().await;
    let answer = json!({
        "id": "a-1", "object": "chat.completion", "model": "m-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    });
    Mock::given(matchers::any())
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .mount(&server)
        .await;
    server
}

/// Waits until a series of this metric is scraped.
async fn until_counted(worker: &Worker, metric: &str) {
    let what = format!("{metric} is scraped");
    until(&what, async || {
        let metrics = worker.metrics().await;
        let there = metrics.lines().any(|line| line.starts_with(metric));
        there.then_some(())
    })
    .await;
}

/// What a worker is asked for, so that it calls models of every kind.
async fn use_worker(fleet: &Fleet) {
    let wire = fleet.wire().await;
    let mut requests: Vec<_> = (0..CALLS)
        .map(|it| request(&format!("r-{it}"), "clerk", "Hello"))
        .collect();
    requests.extend(["teller", "careful"].map(|it| request(it, it, "Hello")));
    for request in &requests {
        wire.ask(request).await;
    }
    for request in &requests {
        let result = json_of(&wire.result(request).await.payload);
        assert_eq!(result["status"], "ok", "{result}");
    }
}

/// An execution from its start to the last of its events.
async fn use_gateway(gateway: &Gateway) {
    let begun = gateway
        .post("/v1/invocations", &invocation("Hello, world!"))
        .await;
    assert_eq!(begun.status, 202, "{begun:?}");
    let id = begun.body["execution_id"].as_str().expect("an id");
    let told = gateway.events(id, None).await;
    assert!(!told.is_empty(), "nothing was told of {id}");
    gateway.until_status(id, "completed").await;
}

#[tokio::test]
async fn whatever_the_dashboard_and_the_alerts_ask_for_processes_that_were_used_answer() {
    let model = model_server().await;
    let clerk = format!(
        "concurrency = 9\n[model]\nprovider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m-1\"\n\
         [model.limits]\nrequests_per_minute = 60",
        model.uri()
    );
    let mut fleet = Fleet::of(&[TELLER, CAREFUL, ("clerk", &clerk), TRANSLATOR]).await;
    fleet.open_to_http(&["translator"]);
    fleet.skill(&translate(SKILL, &json!({"type": "none"})));
    let worker = fleet.worker("w1").await;
    let gateway = fleet.gateway("g1").await;
    use_worker(&fleet).await;
    use_gateway(&gateway).await;
    // Whoever leads looks at the lanes, and so finds out that they cannot be looked at.
    until("it leads", async || {
        (worker.count("puruto_supervisor").await == 1).then_some(())
    })
    .await;
    fleet.servers.nats.kill().await.expect("killed");
    until_counted(&worker, "puruto_broker_faults_total").await;
    until_counted(&worker, "puruto_broker_incidents_total").await;
    fleet.servers.redis.kill().await.expect("killed");
    until_counted(&worker, "puruto_store_faults_total").await;

    let scrapes = [worker.metrics().await, gateway.metrics().await];
    let exported = Exported::of_scrapes(scrapes.iter().map(String::as_str));
    let queries = queries();
    let unknown: Vec<_> = queries
        .iter()
        .flat_map(|query| exported.unknown_in(query))
        .collect();

    assert!(queries.len() > 60, "{} queries", queries.len());
    assert!(unknown.is_empty(), "\n{}", unknown.join("\n"));
}

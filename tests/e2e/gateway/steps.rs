//! Start, ask, fetch; and what a caller is told on the way.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use super::{SKILL, invocation, translating};
use crate::{fleet::Fleet, gateway::process::Gateway, patience::until, wire::json_of};

async fn started(gateway: &Gateway, text: &str) -> String {
    let answer = gateway.post("/v1/invocations", &invocation(text)).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.body["execution_id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

fn keys(object: &Value) -> BTreeSet<&str> {
    let object = object.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

#[tokio::test]
async fn the_documents_of_the_protocol_field_by_field() {
    let fleet = translating().await;
    let _worker = fleet.worker("w").await;
    let gateway = fleet.gateway("g").await;
    let answer = gateway
        .post("/v1/invocations", &invocation("Hello, world!"))
        .await;
    assert_eq!(answer.status, 202);
    assert_eq!(
        keys(&answer.body),
        BTreeSet::from(["execution_id", "status", "skill_id", "timestamps"])
    );
    assert_eq!(answer.body["status"], "accepted");
    assert_eq!(answer.body["skill_id"], SKILL);
    let id = answer.body["execution_id"].as_str().expect("an id");
    let location = answer.headers["location"].to_str().expect("text");
    assert_eq!(location, gateway.at(&format!("/v1/executions/{id}")));
    assert!(answer.headers.contains_key("retry-after"));

    let status = gateway.until_status(id, "completed").await;
    assert_eq!(status["execution_id"], id);
    assert!(status.get("output").is_none(), "{status}");
    let result = gateway.get(&format!("/v1/executions/{id}/result")).await;
    assert_eq!(result.status, 200);
    let result = result.body;
    assert_eq!(
        keys(&result),
        BTreeSet::from(["execution_id", "status", "skill_id", "output", "timestamps"])
    );
    assert_eq!(
        result["output"],
        json!({"translated_text": "ni hao", "confidence": 0.98})
    );
    let timestamps = &result["timestamps"];
    assert_eq!(
        keys(timestamps),
        BTreeSet::from(["created_at", "started_at", "completed_at"])
    );
    assert!(timestamps["created_at"].as_str() <= timestamps["completed_at"].as_str());

    // The same execution on the other side: its id, chain and caller are the request's.
    let seen = fleet.puruto(&["status", id, "--json"]).await;
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.output.contains("translator"), "{seen:?}");
}

#[tokio::test]
async fn each_of_the_five_statuses_is_reached() {
    let fleet = translating().await;
    let mut worker = fleet.worker("w").await;
    let gateway = fleet.gateway("g").await;
    let done = started(&gateway, "Hello").await;
    gateway.until_status(&done, "completed").await;

    let failed = started(&gateway, "badly").await;
    let status = gateway.until_status(&failed, "failed").await;
    assert_eq!(status["error"]["code"], "IPC_ERROR", "{status}");
    let result = gateway
        .get(&format!("/v1/executions/{failed}/result"))
        .await;
    assert_eq!(
        (result.status, &result.body["status"]),
        (200, &json!("failed"))
    );
    assert!(result.body.get("output").is_none());

    let running = started(&gateway, "slowly").await;
    gateway.until_status(&running, "running").await;
    let result = gateway
        .get(&format!("/v1/executions/{running}/result"))
        .await;
    assert_eq!(result.status, 202, "{result:?}");
    gateway.until_status(&running, "completed").await;

    let mut late = invocation("for ever");
    late["context"]["timeout_ms"] = json!(1_500);
    let late = gateway.post("/v1/invocations", &late).await.body;
    let late = late["execution_id"].as_str().expect("an id");
    let status = gateway.until_status(late, "timeout").await;
    let error = json!({
        "code": "EXECUTION_TIMEOUT",
        "message": "Skill execution exceeded the configured timeout of 2000ms",
        "retry": {"suggested_delay_ms": 5000, "max_attempts": 3},
    });
    for (key, value) in error.as_object().expect("an object") {
        assert_eq!(&status["error"][key], value, "{status}");
    }

    worker.drain().await;
    let waiting = started(&gateway, "Hello again").await;
    let status = gateway.get(&format!("/v1/executions/{waiting}")).await.body;
    assert_eq!(status["status"], "accepted");
}

#[tokio::test]
async fn an_execution_goes_on_when_its_gateway_dies() {
    let fleet = translating().await;
    let _worker = fleet.worker("w").await;
    let (mut first, second) = (fleet.gateway("g1").await, fleet.gateway("g2").await);
    let id = started(&first, "slowly").await;
    first.kill().await;
    second.until_status(&id, "completed").await;
    let result = second.get(&format!("/v1/executions/{id}/result")).await;
    assert_eq!(result.body["output"]["translated_text"], "ni hao");
}

#[tokio::test]
async fn who_waits_is_told_where_the_result_will_be_when_the_gateway_is_told_to_stop() {
    let fleet = translating().await;
    let worker = fleet.worker("w").await;
    let (first, second) = (fleet.gateway("g1").await, fleet.gateway("g2").await);
    let (prefer, body) = ([("prefer", "wait=50")], invocation("for ever"));
    let asked = first.ask(Method::POST, "/v1/invocations", &prefer, Some(&body));
    let stopped = async {
        worker.until_running("translator", 1).await;
        first.tell_to_stop();
    };
    let (answer, ()) = tokio::join!(asked, stopped);
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = answer.body["execution_id"].as_str().expect("an id");
    second.until_status(id, "running").await;
}

#[tokio::test]
async fn a_caller_may_wait_for_the_result() {
    let fleet = translating().await;
    let _worker = fleet.worker("w").await;
    let gateway = fleet.gateway("g").await;
    let wait = |seconds| [("prefer", seconds)];
    let ask = async |text, seconds| {
        let body = invocation(text);
        let prefer = wait(seconds);
        gateway
            .ask(Method::POST, "/v1/invocations", &prefer, Some(&body))
            .await
    };
    let answer = ask("Hello", "wait=30").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.headers["preference-applied"], "wait=30");
    assert_eq!(answer.body["output"]["confidence"], 0.98);
    let answer = ask("for ever", "wait=1").await;
    assert_eq!(answer.status, 202, "{answer:?}");
    assert!(answer.body.get("output").is_none());
}

#[tokio::test]
async fn the_same_key_is_the_same_execution_over_any_gateway() {
    let fleet = translating().await;
    let worker = fleet.worker("w").await;
    let (first, second) = (fleet.gateway("g1").await, fleet.gateway("g2").await);
    let key = [("idempotency-key", "order-7")];
    let ask = async |gateway: &Gateway, text| {
        let body = invocation(text);
        gateway
            .ask(Method::POST, "/v1/invocations", &key, Some(&body))
            .await
    };
    let (one, two) = tokio::join!(ask(&first, "Hello"), ask(&second, "Hello"));
    assert_eq!((one.status, two.status), (202, 202), "{one:?} {two:?}");
    assert_eq!(one.body["execution_id"], two.body["execution_id"]);
    let id = one.body["execution_id"].as_str().expect("an id");
    first.until_status(id, "completed").await;
    let again = ask(&second, "Hello").await;
    assert_eq!(again.body["status"], "completed", "{again:?}");
    assert_eq!(worker.executions("translator").await, 1);
    let other = ask(&first, "Good bye").await;
    assert_eq!(other.status, 409, "{other:?}");
    assert_eq!(other.body["error"]["code"], "CONFLICT");
}

#[tokio::test]
async fn a_stream_of_events_is_taken_up_on_another_gateway() {
    let fleet = translating().await;
    let _worker = fleet.worker("w").await;
    let (mut first, second) = (fleet.gateway("g1").await, fleet.gateway("g2").await);
    let id = started(&first, "word by word").await;
    let told = first.events(&id, None).await;
    let kinds: Vec<_> = told.iter().map(|it| it.event.as_str()).collect();
    assert_eq!(kinds.first(), Some(&"status"), "{told:?}");
    assert!(kinds.contains(&"token"), "{told:?}");
    let last = told.last().expect("an end");
    assert_eq!(last.event, "status");
    assert_eq!(last.data["status"], "completed", "{told:?}");
    let said: String = told
        .iter()
        .filter_map(|it| it.data["content"].as_str())
        .collect();
    assert!(said.ends_with("three four"), "{told:?}");
    first.kill().await;
    // From the middle on, at another gateway: what was received does not come again.
    let seen = &told[0].id;
    let rest = second.events(&id, Some(seen)).await;
    assert!(
        rest.iter().all(|it| it.data["status"] != "accepted"),
        "{rest:?}"
    );
    assert_eq!(rest.last().expect("an end").data["status"], "completed");
    // Whoever has all of it is told so.
    assert!(second.events(&id, Some(&last.id)).await.is_empty());
}

#[tokio::test]
async fn a_cancelled_execution_has_failed() {
    let fleet = translating().await;
    let _worker = fleet.worker("w").await;
    let gateway = fleet.gateway("g").await;
    let id = started(&gateway, "for ever").await;
    gateway.until_status(&id, "running").await;
    let answer = gateway
        .ask(
            Method::POST,
            &format!("/v1/executions/{id}/cancel"),
            &[],
            None,
        )
        .await;
    assert!([200, 202].contains(&answer.status), "{answer:?}");
    let status = gateway.until_status(&id, "failed").await;
    assert_eq!(status["error"]["code"], "CANCELLED", "{status}");
    let again = gateway
        .ask(
            Method::POST,
            &format!("/v1/executions/{id}/cancel"),
            &[],
            None,
        )
        .await;
    assert_eq!(
        (again.status, &again.body["status"]),
        (200, &json!("failed"))
    );
}

#[tokio::test]
async fn what_is_asked_over_http_is_an_ordinary_request() {
    let fleet = translating().await;
    let _worker = fleet.worker("w").await;
    let gateway = fleet.gateway("g").await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.invoke.>").await;
    let id = started(&gateway, "Hello").await;
    let message = heard.next().await;
    assert_eq!(message.subject.as_str(), "puruto.invoke.translator");
    let request = json_of(&message.payload);
    assert_eq!(request["request_id"], id.as_str());
    assert_eq!(request["correlation_id"], "trace-abc-123");
    assert_eq!(request["caller"], "puruto-gateway");
    assert_eq!(request["timeout_sec"], 30);
    assert_eq!(
        request["on_behalf_of"],
        json!({"id": "ifay-instance-001", "type": "ifay"})
    );
    assert_eq!(request["inputs"]["target_language"], "zh-CN");
}

#[tokio::test]
async fn everything_that_is_wrong_with_an_invocation_is_told_at_once() {
    let fleet = translating().await;
    let _worker = fleet.worker("w").await;
    let gateway = fleet.gateway("g").await;
    let wrong = json!({
        "caller": {"id": "", "type": "robot"}, "skill_id": SKILL,
        "context": {"priority": "urgent", "timeout_ms": 0},
    });
    let answer = gateway.post("/v1/invocations", &wrong).await;
    assert_eq!(answer.status, 422);
    let violations = answer.body["error"]["violations"]
        .as_array()
        .expect("a list");
    let fields: BTreeSet<_> = violations
        .iter()
        .filter_map(|it| it["field"].as_str())
        .collect();
    let expected = [
        "$.caller.id",
        "$.caller.type",
        "$.context.priority",
        "$.context.timeout_ms",
        "$.inputs",
    ];
    assert_eq!(fields, BTreeSet::from(expected));
    let mut lacking = invocation("Hello");
    lacking["inputs"] = json!({"text": 7});
    let answer = gateway.post("/v1/invocations", &lacking).await;
    assert_eq!(answer.status, 422, "{answer:?}");
    let mut unknown = invocation("Hello");
    unknown["skill_id"] = json!("com.example.none-v1");
    let answer = gateway.post("/v1/invocations", &unknown).await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.body["error"]["code"], "SKILL_NOT_FOUND");
}

#[tokio::test]
async fn a_skill_whose_target_nobody_serves_is_not_taken() {
    let fleet: Fleet = translating().await;
    let gateway = fleet.gateway("g").await;
    let answer = gateway.post("/v1/invocations", &invocation("Hello")).await;
    assert_eq!(answer.status, 503, "{answer:?}");
    let _worker = fleet.worker("w").await;
    until("the skill is taken", async || {
        let answer = gateway.post("/v1/invocations", &invocation("Hello")).await;
        (answer.status == 202).then_some(())
    })
    .await;
}

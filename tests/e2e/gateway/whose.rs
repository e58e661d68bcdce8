//! An execution is its caller's, and nobody else's.

use reqwest::Method;
use serde_json::{Value, json};

use super::{SKILL, invocation, process::Gateway, translate};
use crate::{fleet::Fleet, gateway::TRANSLATOR};

async fn start_as(gateway: &Gateway, key: &str) -> String {
    let body = invocation("Hello");
    let answer = gateway
        .ask(
            Method::POST,
            "/v1/invocations",
            &[("x-api-key", key)],
            Some(&body),
        )
        .await;
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.body["execution_id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

async fn with_keys() -> Fleet {
    let fleet = Fleet::of(&[TRANSLATOR]).await;
    fleet.open_to_http(&["translator"]);
    fleet.skill(&translate(SKILL, &json!({"type": "api_key"})));
    fleet.keys_for(&["ann", "bob"]);
    fleet
}

#[tokio::test]
async fn an_execution_is_seen_by_whoever_started_it_alone() {
    let fleet = with_keys().await;
    let _worker = fleet.worker("w").await;
    let gateway = fleet.gateway("g").await;
    let id = start_as(&gateway, "key-of-ann").await;
    let look = async |path: &str, key: &str| {
        let path = format!("/v1/executions/{id}{path}");
        gateway
            .ask(Method::GET, &path, &[("x-api-key", key)], None)
            .await
    };
    for path in ["", "/result", "/events"] {
        let answer = look(path, "key-of-bob").await;
        assert_eq!(answer.status, 404, "{path} {answer:?}");
        assert_eq!(
            gateway
                .get(&format!("/v1/executions/{id}{path}"))
                .await
                .status,
            404
        );
        assert_eq!(look(path, "key-of-nobody").await.status, 401);
    }
    assert_eq!(look("", "key-of-ann").await.status, 200);
    let cancel = format!("/v1/executions/{id}/cancel");
    let cancelled = gateway
        .ask(Method::POST, &cancel, &[("x-api-key", "key-of-bob")], None)
        .await;
    assert_eq!(cancelled.status, 404);
}

#[tokio::test]
async fn a_list_is_ones_own_and_goes_on_page_by_page() {
    let fleet = with_keys().await;
    let _worker = fleet.worker("w").await;
    let gateway = fleet.gateway("g").await;
    let mut started = Vec::new();
    for _ in 0..5 {
        started.push(start_as(&gateway, "key-of-ann").await);
    }
    start_as(&gateway, "key-of-bob").await;
    let (mut seen, mut path) = (Vec::new(), "/v1/executions?limit=2".to_owned());
    loop {
        let page = gateway
            .ask(Method::GET, &path, &[("x-api-key", "key-of-ann")], None)
            .await
            .body;
        let executions = page["executions"].as_array().expect("a list");
        let id = |it: &Value| it["execution_id"].as_str().expect("an id").to_owned();
        seen.extend(executions.iter().map(id));
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/executions?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    started.reverse();
    assert_eq!(seen, started);
    assert_eq!(gateway.get("/v1/executions").await.status, 401);
}

#[tokio::test]
async fn a_skill_that_wants_a_key_takes_none_from_the_query() {
    let fleet = with_keys().await;
    let _worker = fleet.worker("w").await;
    let gateway = fleet.gateway("g").await;
    let body = invocation("Hello");
    for path in [
        "/v1/invocations",
        "/v1/invocations?api_key=key-of-ann",
        "/v1/invocations?x-api-key=key-of-ann",
    ] {
        let answer = gateway.post(path, &body).await;
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_eq!(answer.body["error"]["code"], "AUTH_REQUIRED");
        assert!(answer.headers.contains_key("www-authenticate"));
    }
    let mut in_body = body.clone();
    in_body["caller"]["credentials"] = json!({"api_key": "key-of-ann"});
    assert_eq!(gateway.post("/v1/invocations", &in_body).await.status, 202);
}

//! Bearer tokens over HTTP: those of the issuer, and those of whoever would like to be it.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    SKILL, TRANSLATOR, invocation,
    issuer::{AUDIENCE, Issuer, Signed, now},
    process::{Answer, Gateway},
    translate,
};
use crate::fleet::Fleet;

/// A fleet whose one skill asks for a token of this issuer.
async fn trusting(issuer: &Issuer) -> Fleet {
    let fleet = Fleet::of(&[TRANSLATOR]).await;
    fleet.open_to_http(&["translator"]);
    fleet.skill(&translate(SKILL, &json!({"type": "oauth2"})));
    fleet.keys_for(&["ann"]);
    fleet
        .with("PURUTO_GATEWAY__OAUTH_ISSUER", &issuer.url())
        .with("PURUTO_GATEWAY__OAUTH_AUDIENCE", AUDIENCE)
}

async fn invoke(gateway: &Gateway, headers: &[(&str, &str)]) -> Answer {
    let body = invocation("Hello");
    gateway
        .ask(Method::POST, "/v1/invocations", headers, Some(&body))
        .await
}

async fn look(gateway: &Gateway, path: &str, token: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    gateway
        .ask(Method::GET, path, &[("authorization", &bearer)], None)
        .await
}

#[tokio::test]
async fn a_token_of_the_issuer_starts_what_its_subject_alone_sees() {
    let issuer = Issuer::start().await;
    let fleet = trusting(&issuer).await;
    let _worker = fleet.worker("w").await;
    let gateway = fleet.gateway("g").await;
    let bob = issuer.token(Signed::Es256, &issuer.claims("bob"));
    for signed in [Signed::Rs256, Signed::Es256] {
        let ann = issuer.token(signed, &issuer.claims("ann"));
        let bearer = format!("Bearer {ann}");
        let started = invoke(&gateway, &[("authorization", &bearer)]).await;
        assert_eq!(started.status, 202, "{signed:?} {started:?}");
        let id = started.body["execution_id"].as_str().expect("an id");
        let path = format!("/v1/executions/{id}");
        assert_eq!(look(&gateway, &path, &ann).await.status, 200);
        assert_eq!(look(&gateway, &path, &bob).await.status, 404);
        assert_eq!(gateway.get(&path).await.status, 404);
        let key = [("x-api-key", "key-of-ann")];
        let by_key = gateway.ask(Method::GET, &path, &key, None).await;
        assert_eq!(by_key.status, 404, "a key's name is no token's subject");
    }
    let listed = look(&gateway, "/v1/executions", &bob).await.body;
    assert_eq!(listed["executions"], json!([]));
}

/// Claims with one of them changed, and how they are signed.
fn forgeries(issuer: &Issuer) -> Vec<(Signed, Value)> {
    let with = |claim: &str, value: Value| {
        let mut claims = issuer.claims("ann");
        claims[claim] = value;
        claims
    };
    vec![
        (Signed::Rs256, with("aud", json!("another"))),
        (Signed::Es256, with("iss", json!("https://issuer.example"))),
        (Signed::Rs256, with("exp", json!(now() - 3_600))),
        (Signed::Es256, with("nbf", json!(now() + 3_600))),
        (Signed::Rs256, with("sub", Value::Null)),
        (Signed::Not, issuer.claims("ann")),
        (Signed::ByPublicKey, issuer.claims("ann")),
    ]
}

#[tokio::test]
async fn no_forged_or_foreign_token_starts_or_sees_anything() {
    let (issuer, other) = (Issuer::start().await, Issuer::start().await);
    let fleet = trusting(&issuer).await;
    let gateway = fleet.gateway("g").await;
    let mut tokens: Vec<String> = forgeries(&issuer)
        .into_iter()
        .map(|(signed, claims)| issuer.token(signed, &claims))
        .collect();
    tokens.push(other.token(Signed::Es256, &issuer.claims("ann")));
    // Longer than any that is looked at, though a head has room for it.
    let long = "a".repeat(9_000);
    tokens.push(long.clone());
    for token in &tokens {
        let bearer = format!("Bearer {token}");
        let answer = invoke(&gateway, &[("authorization", &bearer)]).await;
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_eq!(answer.body["error"]["code"], "AUTH_REQUIRED");
        let challenge = answer.headers["www-authenticate"].to_str().expect("ascii");
        assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
        assert!(!answer.body.to_string().contains(token.as_str()));
        let listed = look(&gateway, "/v1/executions", token).await;
        assert_eq!(listed.status, 401, "{listed:?}");
    }
    let told = look(&gateway, "/v1/executions", &long)
        .await
        .body
        .to_string();
    assert!(told.contains("half of gateway.max_head"), "{told}");
}

#[tokio::test]
async fn a_token_needs_the_scope_and_comes_alone_and_in_its_header() {
    let issuer = Issuer::start().await;
    let fleet = trusting(&issuer).await;
    let gateway = fleet.gateway("g").await;
    let good = issuer.token(Signed::Rs256, &issuer.claims("ann"));
    let mut narrow = issuer.claims("ann");
    narrow["scope"] = json!("skill:read");
    let narrow = format!("Bearer {}", issuer.token(Signed::Rs256, &narrow));
    let answer = invoke(&gateway, &[("authorization", &narrow)]).await;
    assert_eq!(answer.status, 403, "{answer:?}");
    assert_eq!(answer.body["error"]["code"], "PERMISSION_DENIED");
    let bearer = format!("Bearer {good}");
    for headers in [
        &[
            ("authorization", bearer.as_str()),
            ("x-api-key", "key-of-ann"),
        ][..],
        &[("authorization", &bearer), ("authorization", &bearer)],
        &[("x-api-key", "key-of-ann")],
        &[("cookie", &bearer)],
        &[],
    ] {
        let answer = invoke(&gateway, headers).await;
        assert_eq!(answer.status, 401, "{answer:?}");
    }
    let in_query = format!("/v1/invocations?access_token={good}");
    let answer = gateway.post(&in_query, &invocation("Hello")).await;
    assert_eq!(answer.status, 401, "{answer:?}");
}

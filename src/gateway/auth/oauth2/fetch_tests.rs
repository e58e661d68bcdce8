//! Issuers on a real socket: those that help, and those that do not.

use serde_json::json;
use tokio::net::TcpListener;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

use super::*;
use crate::gateway::auth::oauth2::test_issuer::TestIssuer;

const JWKS: &str = "/keys";

async fn serving(pages: &[(&str, ResponseTemplate)]) -> MockServer {
    let server = MockServer::start().await;
    for (at, answer) in pages {
        let page = Mock::given(method("GET")).and(path(*at));
        page.respond_with(answer.clone()).mount(&server).await;
    }
    server
}

fn keys() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(TestIssuer::new().jwks())
}

fn metadata(issuer: &str, jwks: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"issuer": issuer, "jwks_uri": jwks}))
}

fn url(text: &str) -> HttpUrl {
    text.parse().expect("an address")
}

async fn fetch(issuer: &str, jwks: Option<&str>) -> Result<SigningKeys, FetchFault> {
    let source = HttpSource::new(url(issuer), jwks.map(url))?;
    source.fetch().await
}

#[tokio::test]
async fn keys_are_fetched_from_where_the_configuration_says() {
    let server = serving(&[(JWKS, keys())]).await;
    let jwks = format!("{}{JWKS}", server.uri());
    let keys = fetch("https://issuer.example", Some(&jwks)).await;
    assert!(keys.expect("keys").knows(Some("rsa")));
}

#[tokio::test]
async fn keys_are_found_by_the_metadata_of_openid_and_of_oauth() {
    for (at, path) in [
        ("/.well-known/openid-configuration", ""),
        ("/tenant/.well-known/openid-configuration", "/tenant"),
        ("/.well-known/oauth-authorization-server", ""),
        ("/.well-known/oauth-authorization-server/tenant", "/tenant"),
    ] {
        let server = serving(&[(JWKS, keys())]).await;
        let issuer = format!("{}{path}", server.uri());
        let told = metadata(&issuer, &format!("{}{JWKS}", server.uri()));
        let page = Mock::given(method("GET")).and(wiremock::matchers::path(at));
        page.respond_with(told).mount(&server).await;
        let keys = fetch(&issuer, None).await;
        assert!(keys.expect(at).knows(Some("ec")));
    }
}

#[tokio::test]
async fn metadata_of_somebody_else_or_that_leads_into_the_open_is_not_followed() {
    let openid = "/.well-known/openid-configuration";
    let server = serving(&[(
        openid,
        metadata("https://other.example", "https://a.example"),
    )])
    .await;
    let fault = fetch(&server.uri(), None)
        .await
        .expect_err("another issuer");
    assert_eq!(
        fault,
        FetchFault::OtherIssuer(format!("{}{openid}", server.uri()))
    );

    let server = MockServer::start().await;
    let told = metadata(&server.uri(), "http://keys.example/jwks");
    let page = Mock::given(method("GET")).and(path(openid));
    page.respond_with(told).mount(&server).await;
    let fault = fetch(&server.uri(), None).await.expect_err("in the open");
    assert_eq!(
        fault,
        FetchFault::Open("http://keys.example/jwks".to_owned())
    );
}

#[tokio::test]
async fn an_address_in_the_open_is_refused_before_anything_is_asked() {
    for (issuer, jwks) in [
        ("http://issuer.example", None),
        ("http://localhost.example", None),
        ("https://issuer.example", Some("http://10.0.0.1/jwks")),
    ] {
        let refused = HttpSource::new(url(issuer), jwks.map(url));
        assert!(matches!(refused, Err(FetchFault::Open(_))), "{issuer}");
    }
    for issuer in [
        "https://issuer.example",
        "http://localhost:1",
        "http://[::1]:1",
    ] {
        assert!(HttpSource::new(url(issuer), None).is_ok(), "{issuer}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_set_of_keys_is_told_as_what_it_is() {
    let long = ResponseTemplate::new(200).set_body_bytes(vec![b' '; ANSWER_BYTES_MAX + 1]);
    let elsewhere = ResponseTemplate::new(302).insert_header("Location", "/keys");
    let server = serving(&[
        ("/keys", keys()),
        ("/long", long),
        ("/elsewhere", elsewhere),
        (
            "/empty",
            ResponseTemplate::new(200).set_body_string("{\"keys\":[]}"),
        ),
    ])
    .await;
    let at = |page: &str| format!("{}{page}", server.uri());
    let status = |url, status| FetchFault::Status { url, status };
    for (page, fault) in [
        ("/long", FetchFault::TooLong(at("/long"))),
        ("/elsewhere", status(at("/elsewhere"), 302)),
        ("/nowhere", status(at("/nowhere"), 404)),
        ("/empty", FetchFault::NoKeys(at("/empty"))),
    ] {
        let fetched = fetch("https://issuer.example", Some(&at(page))).await;
        assert_eq!(fetched.expect_err(page), fault);
    }
}

#[tokio::test]
async fn an_issuer_that_is_away_is_told_with_what_the_connection_says() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let uri = format!("http://{}", listener.local_addr().expect("an address"));
    let closing = tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            drop(connection);
        }
    });
    let fetched = fetch("https://issuer.example", Some(&uri)).await;
    let fault = fetched.expect_err("no answer").to_string();
    assert!(
        fault.starts_with(&format!("no answer from {uri}")),
        "{fault}"
    );
    closing.abort();
}

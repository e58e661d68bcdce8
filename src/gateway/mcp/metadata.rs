//! Where tokens are to be had: the metadata of a protected resource (RFC 9728), as the protocol's
//! authorization asks for it.
//!
//! Never: where there is no issuer; then keys alone are taken, and no client can fetch one.

use axum::{
    Json, Router,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
    routing::get,
};
use serde_json::json;

use super::{Door, PATH};
use crate::gateway::auth::Scope;

const METADATA: &str = "/.well-known/oauth-protected-resource";

const BEARER: &str = "Bearer";

/// The metadata at both places where clients look.
pub(super) fn routes(door: &Door) -> Router {
    let Some(issuer) = &door.issuer else {
        return Router::new();
    };
    let document = json!({
        "resource": format!("{}{PATH}", door.reach.public),
        "authorization_servers": [issuer.as_str()],
        "scopes_supported": [Scope::default().as_str()],
        "bearer_methods_supported": ["header"],
        "resource_name": "Puruto Fleet",
    });
    let answer = || {
        let document = document.clone();
        get(move || async move { Json(document) })
    };
    Router::new()
        .route(METADATA, answer())
        .route(&format!("{METADATA}{PATH}"), answer())
}

/// The same refusal, saying where a token is to be had that would be taken.
pub(super) fn pointed_at(door: &Door, mut refusal: Response) -> Response {
    if door.issuer.is_some() {
        let place = format!("{}{METADATA}{PATH}", door.reach.public);
        point(refusal.headers_mut(), &place);
    }
    refusal
}

fn point(headers: &mut HeaderMap, place: &str) {
    let Some(challenge) = headers.get(header::WWW_AUTHENTICATE) else {
        return;
    };
    let text = challenge.to_str().unwrap_or_default();
    let scope = match text.contains("scope=") {
        true => String::new(),
        false => format!(" scope=\"{}\",", Scope::default().as_str()),
    };
    let place = format!("{BEARER} resource_metadata=\"{place}\",{scope}");
    let pointed = match text.strip_prefix(BEARER) {
        Some(rest) => format!("{place}{rest}"),
        None => format!("{}, {text}", place.trim_end_matches(',')),
    };
    if let Ok(pointed) = HeaderValue::try_from(pointed) {
        headers.insert(header::WWW_AUTHENTICATE, pointed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointed(challenge: &'static str) -> String {
        let challenge = HeaderValue::from_static(challenge);
        let mut headers = HeaderMap::from_iter([(header::WWW_AUTHENTICATE, challenge)]);
        point(&mut headers, "https://fleet/.well-known/x");
        let challenge = headers.get(header::WWW_AUTHENTICATE).expect("there");
        challenge.to_str().expect("ascii").to_owned()
    }

    #[test]
    fn a_challenge_says_where_tokens_are_to_be_had_and_for_what() {
        let place = r#"Bearer resource_metadata="https://fleet/.well-known/x""#;
        let asks = r#", scope="skill:invoke""#;
        for (challenge, expected) in [
            (
                r#"Bearer realm="puruto", ApiKey realm="puruto""#,
                format!(r#"{place}{asks}, realm="puruto", ApiKey realm="puruto""#),
            ),
            (
                r#"ApiKey realm="puruto", header="x-api-key""#,
                format!(r#"{place}{asks}, ApiKey realm="puruto", header="x-api-key""#),
            ),
            (
                r#"Bearer realm="puruto", error="insufficient_scope", scope="pay""#,
                format!(r#"{place}, realm="puruto", error="insufficient_scope", scope="pay""#),
            ),
        ] {
            assert_eq!(pointed(challenge), expected);
        }
        let mut none = HeaderMap::new();
        point(&mut none, "https://fleet");
        assert!(none.is_empty());
    }
}

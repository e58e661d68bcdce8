//! Stands before every route of the dashboard: who is not logged in sees nothing, and no other
//! page acts for who is.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use axum_extra::extract::CookieJar;

use super::{Dashboard, failure::Failure};
use crate::clock::WallTime;

/// The cookie of a session.
pub(super) const COOKIE: &str = "puruto_dashboard";

/// A header that no form and no other origin's page can send; its value does not matter.
const OURS: HeaderName = HeaderName::from_static("x-puruto-dashboard");

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Nothing but what the gateway itself serves, and nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Until when whoever asks is logged in.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoggedInUntil(pub(super) WallTime);

/// Until when the sender of these headers is logged in.
pub(super) fn logged_in(dashboard: &Dashboard, headers: &HeaderMap) -> Option<LoggedInUntil> {
    let cookies = CookieJar::from_headers(headers);
    let until = dashboard.gate.session_until(cookies.get(COOKIE)?.value())?;
    Some(LoggedInUntil(until))
}

/// Lets through who is logged in.
pub(super) async fn only_logged_in(
    State(dashboard): State<Arc<Dashboard>>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(until) = logged_in(&dashboard, request.headers()) else {
        return Failure::not_logged_in().into_response();
    };
    request.extensions_mut().insert(until);
    next.run(request).await
}

/// Lets through what changes nothing, and what our own page asks for.
pub(super) async fn only_ours(request: Request, next: Next) -> Response {
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    let headers = request.headers();
    if is_safe || (headers.contains_key(OURS) && is_same_origin(headers, request.uri())) {
        next.run(request).await
    } else {
        Failure::foreign().into_response()
    }
}

/// Whether no browser says that another origin asks. A program that says nothing of where it comes
/// from is no page.
pub(super) fn is_same_origin(headers: &HeaderMap, uri: &Uri) -> bool {
    let text = |name| headers.get(name).map(HeaderValue::to_str);
    if let Some(site) = text(FETCH_SITE) {
        return matches!(site, Ok("same-origin"));
    }
    let Some(origin) = text(header::ORIGIN) else {
        return true;
    };
    let host = match text(header::HOST) {
        Some(Ok(host)) => Some(host),
        _ => uri.authority().map(http_authority),
    };
    let named = origin.ok().and_then(|it| it.split_once("://"));
    named
        .zip(host)
        .is_some_and(|((_, named), host)| named.eq_ignore_ascii_case(host))
}

fn http_authority(authority: &axum::http::uri::Authority) -> &str {
    authority.as_str()
}

/// Tells browsers to be strict with whatever is answered.
pub(super) async fn strict(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same_origin(pairs: &[(&'static str, &'static str)]) -> bool {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        is_same_origin(&headers, &Uri::from_static("/dashboard/api/x"))
    }

    #[test]
    fn only_a_page_of_the_same_origin_passes_and_who_is_no_page() {
        let host = ("host", "fleet.example:8080");
        assert!(same_origin(&[host]));
        assert!(same_origin(&[host, ("sec-fetch-site", "same-origin")]));
        assert!(same_origin(&[
            host,
            ("origin", "http://Fleet.example:8080")
        ]));
        for refused in [
            ("sec-fetch-site", "same-site"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "none"),
            ("origin", "http://fleet.example"),
            ("origin", "null"),
            ("origin", "http://evil.example"),
        ] {
            assert!(!same_origin(&[host, refused]), "{refused:?}");
        }
    }
}

//! Which pages of other origins may ask; none, unless the configuration names them.

use std::time::Duration;

use axum::http::{
    HeaderName, HeaderValue, Method,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER},
};
use tower_http::cors::CorsLayer;
use url::Url;

use crate::config::HttpUrl;

/// How long a browser may go by what it was told.
const MAX_AGE: Duration = Duration::from_secs(600);
/// What pages may send beside what they may anyway.
const SENT: [HeaderName; 9] = [
    ACCEPT,
    AUTHORIZATION,
    CONTENT_TYPE,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-session-id"),
    HeaderName::from_static("prefer"),
    HeaderName::from_static("x-api-key"),
];
/// What pages may read beside what they may anyway.
const READ: [HeaderName; 4] = [
    LOCATION,
    RETRY_AFTER,
    HeaderName::from_static("mcp-session-id"),
    HeaderName::from_static("preference-applied"),
];

/// What tells browsers that pages of `origins` may ask; `None` where there are none. No page is
/// let in by a cookie.
pub(super) fn allowed(origins: &[HttpUrl]) -> Option<CorsLayer> {
    let origins: Vec<_> = origins.iter().filter_map(origin).collect();
    let allowed = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(SENT)
        .expose_headers(READ)
        .max_age(MAX_AGE);
    (!origins.is_empty()).then(|| allowed.allow_origin(origins))
}

/// As browsers write it: without a path.
fn origin(url: &HttpUrl) -> Option<HeaderValue> {
    let origin = Url::parse(url.as_str()).ok()?.origin();
    origin.ascii_serialization().try_into().ok()
}

//! What every answer tells browsers and caches, unless its route tells them otherwise.

use axum::http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CACHE_CONTROL, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS},
};

/// Answers are somebody's: nobody else is to keep them. Where they come from is nobody's business.
const ALWAYS: [(HeaderName, HeaderValue); 3] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];
/// A year.
const ONLY_TLS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// How a client reaches the gateway's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// As it is.
    Plain,
    /// Behind TLS.
    Tls,
}

/// Adds what is missing.
pub(super) fn complete(headers: &mut HeaderMap, transport: Transport) {
    for (name, value) in ALWAYS {
        headers.entry(name).or_insert(value);
    }
    if transport == Transport::Tls {
        headers.entry(STRICT_TRANSPORT_SECURITY).or_insert(ONLY_TLS);
    }
}

//! What is told of each request: one count, one event. Never: a path, a query, a header.

use std::sync::Arc;

use axum::{
    extract::{MatchedPath, Request},
    http::{Method, StatusCode},
};
use tokio::time::Instant;

use crate::telemetry::metrics::http::{Answered, HttpMetrics};

/// The route of whatever has none.
const NO_ROUTE: &str = "none";
/// The status of what was not answered, since its client went away.
const ABANDONED: &str = "abandoned";

/// One request that is told of once it is answered, or dropped.
#[derive(Debug)]
pub(super) struct Observed {
    metrics: Arc<HttpMetrics>,
    route: Option<MatchedPath>,
    method: &'static str,
    began: Instant,
    status: Option<StatusCode>,
}

impl Observed {
    pub(super) fn begin(request: &Request, metrics: Arc<HttpMetrics>) -> Self {
        Self {
            metrics,
            route: request.extensions().get().cloned(),
            method: known(request.method()),
            began: Instant::now(),
            status: None,
        }
    }

    pub(super) fn answered(mut self, status: StatusCode) {
        self.status = Some(status);
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        let (route, method) = (self.route.as_ref(), self.method);
        let route = route.map_or(NO_ROUTE, MatchedPath::as_str);
        let status = self.status.as_ref().map_or(ABANDONED, StatusCode::as_str);
        let took = self.began.elapsed();
        self.metrics.answered(&Answered {
            route,
            method,
            status,
            took,
        });
        let took_ms = took.as_secs_f64() * 1e3;
        if self.status.is_some_and(|status| status.is_server_error()) {
            tracing::warn!(method, route, status, took_ms, "http_request_failed");
        } else {
            tracing::debug!(method, route, status, took_ms, "http_request_answered");
        }
    }
}

/// The method's name, if HTTP defines it: anybody can make up others.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

//! What the page asks: JSON, a file for each thing that is shown.

mod content;
mod letters;
mod list;
mod overview;
mod request;
mod stream;
mod verdict;
mod workers;

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};

use super::{Dashboard, failure::Failure};
use crate::{
    contract::{PurutoName, RequestId},
    store::RequestKey,
};

/// The routes, under `/dashboard/api`.
pub(super) fn routes() -> Router<Arc<Dashboard>> {
    Router::new()
        .route("/targets", get(overview::targets))
        .route("/workers", get(overview::workers))
        .route("/servers", get(overview::servers))
        .route("/live", get(stream::live))
        .route("/requests", get(list::list))
        .route("/requests/{target}/{id}", get(request::request))
        .route("/requests/{target}/{id}/content", get(content::content))
        .route("/requests/{target}/{id}/why", get(request::why))
        .route("/requests/{target}/{id}/cancel", post(verdict::cancel))
        .route("/requests/{target}/{id}/verdict", post(verdict::decide))
        .route("/workers/{worker}/drain", post(workers::drain))
        .route("/letters", get(letters::list))
        .route("/letters/{sequence}/replay", post(letters::replay))
        .fallback(async || Failure::not_found("there is no such thing here"))
}

/// The request that an address names.
fn key_of((target, id): (String, String)) -> Result<RequestKey, Failure> {
    let target: Result<PurutoName, _> = target.parse();
    let request: Result<RequestId, _> = id.parse();
    match (target, request) {
        (Ok(target), Ok(request)) => Ok(RequestKey { target, request }),
        _ => Err(Failure::not_found("that is the name of no request")),
    }
}

//! Tells a worker to drain.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use serde_json::{Value, json};

use crate::gateway::dashboard::{Dashboard, failure::Failure};

/// Longest name of a worker, in characters.
const NAME_MAX: usize = 200;

/// Tells it; it finishes what runs, hands over what does not end in time, and is gone then.
pub(super) async fn drain(
    State(dashboard): State<Arc<Dashboard>>,
    Path(worker): Path<String>,
) -> Result<Json<Value>, Failure> {
    if worker.is_empty() || worker.chars().count() > NAME_MAX {
        return Err(Failure::not_found("that is the name of no worker"));
    }
    if dashboard.onlooker.nats.drain_worker(&worker).await? {
        return Ok(Json(json!({ "draining": worker })));
    }
    let message = format!("no worker {worker} hears: it is gone, or not yet there");
    Err(Failure::not_found(message))
}

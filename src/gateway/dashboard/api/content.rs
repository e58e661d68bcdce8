//! A request's prompt and its result, for whoever asks for them, unless they are withheld.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use serde_json::{Value, json};

use super::key_of;
use crate::{
    client::{Sought, Standing},
    gateway::dashboard::{Dashboard, failure::Failure},
};

/// Shows both. A prompt is gone from the queue once its request is answered.
pub(super) async fn content(
    State(dashboard): State<Arc<Dashboard>>,
    Path(named): Path<(String, String)>,
) -> Result<Json<Value>, Failure> {
    let key = key_of(named)?;
    if !dashboard.content {
        let message = "gateway.dashboard_content is off: no prompt and no result is shown";
        return Err(Failure::withheld(message));
    }
    let client = &dashboard.onlooker.client;
    let status = client.status(&key.request, Some(&key.target)).await?;
    let result = match status.into_iter().next().map(|it| it.standing) {
        Some(Standing::Done(result)) => return Ok(answered(result.as_ref().map(|it| json!(it)))),
        _ => Value::Null,
    };
    let sought = Sought::Request(&key.request);
    let queued = client.queued(sought, Some(&key.target)).await?;
    let request = queued.into_iter().next().map(|it| it.request);
    Ok(Json(json!({
        "prompt": request.as_ref().map(|it| &it.prompt),
        "extra": request.as_ref().map(|it| &it.extra),
        "result": result,
    })))
}

fn answered(result: Option<Value>) -> Json<Value> {
    Json(json!({ "prompt": null, "extra": null, "result": result }))
}

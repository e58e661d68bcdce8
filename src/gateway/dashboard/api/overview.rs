//! The parts of the overview, one by one.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde_json::Value;

use crate::gateway::dashboard::{
    Dashboard,
    failure::Failure,
    live::{Overview, Part},
};

type Answer = Result<Json<Value>, Failure>;

/// What waits for each target and what is at work.
pub(super) async fn targets(State(dashboard): State<Arc<Dashboard>>) -> Answer {
    part(&dashboard, |it| &it.targets).await
}

/// Which workers are there.
pub(super) async fn workers(State(dashboard): State<Arc<Dashboard>>) -> Answer {
    part(&dashboard, |it| &it.workers).await
}

/// How the model servers are, and what they allow.
pub(super) async fn servers(State(dashboard): State<Arc<Dashboard>>) -> Answer {
    part(&dashboard, |it| &it.servers).await
}

async fn part(dashboard: &Dashboard, part: fn(&Overview) -> &Part) -> Answer {
    let overview = dashboard.live.overview().await;
    let overview =
        overview.ok_or_else(|| Failure::unavailable("the fleet was not read in time"))?;
    match part(&overview) {
        Ok(value) => Ok(Json(value.clone())),
        Err(why) => Err(Failure::unavailable(why.clone())),
    }
}

//! Cancels a request, and decides about one that waits to be approved.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State, rejection::JsonRejection},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::key_of;
use crate::{
    gateway::dashboard::{Dashboard, failure::Failure},
    store::{
        CancelAnswer,
        kin::{Verdict, VerdictAnswer},
    },
};

/// Names and notes are at most this long, in characters.
const WORDS_MAX: usize = 500;

/// Cancels it, with all that it waits for.
pub(super) async fn cancel(
    State(dashboard): State<Arc<Dashboard>>,
    Path(named): Path<(String, String)>,
) -> Result<Json<Value>, Failure> {
    let key = key_of(named)?;
    let client = &dashboard.onlooker.client;
    let cancelled = client.cancel(&key.request, Some(&key.target)).await?;
    let cancelled = cancelled.iter().map(|it| {
        json!({
            "target": it.key.target,
            "request_id": it.key.request,
            "answer": match it.answer {
                CancelAnswer::Flagged => "flagged",
                CancelAnswer::Owned(_) => "told its worker",
                CancelAnswer::Waiting(_) => "waiting",
                CancelAnswer::AlreadyDone => "already done",
            },
        })
    });
    Ok(Json(json!({ "cancelled": cancelled.collect::<Value>() })))
}

/// What somebody decided.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Decision {
    approved: bool,
    by: String,
    #[serde(default)]
    note: Option<String>,
}

/// Lets it run, or refuses it.
pub(super) async fn decide(
    State(dashboard): State<Arc<Dashboard>>,
    Path(named): Path<(String, String)>,
    decision: Result<Json<Decision>, JsonRejection>,
) -> Result<Json<Value>, Failure> {
    let key = key_of(named)?;
    let Json(decision) = decision.map_err(|rejected| Failure::invalid(rejected.body_text()))?;
    let words = decision.note.iter().chain([&decision.by]);
    if words.into_iter().any(|it| it.chars().count() > WORDS_MAX) {
        return Err(Failure::invalid(format!(
            "more than {WORDS_MAX} characters"
        )));
    }
    if decision.by.trim().is_empty() {
        return Err(Failure::invalid("say who decides"));
    }
    let client = &dashboard.onlooker.client;
    let queued = client.to_decide(&key.request, Some(&key.target)).await?;
    let verdict = Verdict {
        approved: decision.approved,
        by: decision.by,
        note: decision.note.filter(|it| !it.trim().is_empty()),
        fingerprint: queued.request.fingerprint(),
    };
    match client.decide(&queued.key(), &verdict).await? {
        VerdictAnswer::Taken => Ok(Json(json!({ "verdict": verdict }))),
        VerdictAnswer::Decided(before) if before.approved == verdict.approved => {
            Ok(Json(json!({ "verdict": before })))
        }
        VerdictAnswer::Decided(before) => {
            let how = if before.approved {
                "approved"
            } else {
                "rejected"
            };
            Err(Failure::conflict(format!("{} {how} it before", before.by)))
        }
        VerdictAnswer::Mismatch => Err(Failure::conflict(
            "another request with this id waits to be approved, not the one that lies here",
        )),
        VerdictAnswer::NotAsked => Err(Failure::conflict("it does not wait to be approved (yet)")),
    }
}

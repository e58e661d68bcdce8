//! Dead letters: what lies there, and its replay, dry or for good.

use std::{num::NonZeroUsize, sync::Arc};

use axum::{
    Json,
    extract::{
        Path, Query, State,
        rejection::{JsonRejection, QueryRejection},
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    broker::{BuriedLetter, DeadReason, Missing},
    client::{Demand, LetterFilter},
    gateway::dashboard::{Dashboard, failure::Failure},
};

/// Letters that are listed at most.
const LISTED_MAX: NonZeroUsize = NonZeroUsize::new(200).expect("it is more than none");

/// Which letters are asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Asked {
    target: Option<Box<str>>,
    reason: Option<Box<str>>,
}

/// Lists the newest.
pub(super) async fn list(
    State(dashboard): State<Arc<Dashboard>>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Value>, Failure> {
    let Query(asked) = asked.map_err(|rejected| Failure::invalid(rejected.body_text()))?;
    let filter = filter(&asked)?;
    let found = dashboard
        .onlooker
        .client
        .letters(&filter, LISTED_MAX)
        .await?;
    let letters: Vec<_> = found.letters.iter().rev().map(as_json).collect();
    Ok(Json(json!({
        "letters": letters,
        "older": found.older,
        "strangers": found.strangers.len(),
    })))
}

fn filter(asked: &Asked) -> Result<LetterFilter, Failure> {
    let said = |text: &Option<Box<str>>| text.clone().filter(|it| !it.is_empty());
    let target = said(&asked.target).map(|it| it.parse());
    let target = target
        .transpose()
        .map_err(|_| Failure::invalid("that is no target"))?;
    let reason = said(&asked.reason).map(|text| {
        let named = DeadReason::ALL.into_iter().find(|it| *it.as_str() == *text);
        named.ok_or_else(|| Failure::invalid(format!("{text:?} is no reason")))
    });
    Ok(LetterFilter {
        target,
        reason: reason.transpose()?,
        ..LetterFilter::default()
    })
}

fn as_json(buried: &BuriedLetter) -> Value {
    let letter = &buried.letter;
    json!({
        "sequence": buried.sequence,
        "buried_ms": buried.buried_at.unix_millis(),
        "reason": letter.reason.as_str(),
        "detail": letter.detail,
        "target": letter.target,
        "request_id": letter.request,
        "correlation_id": letter.correlation,
        "attempts": letter.attempts.map(|it| it.number()),
        "last_worker": letter.last_worker,
        "subject": letter.message.subject,
        "bytes": letter.message.body.len(),
        "whole": buried.missing == Missing::Nothing,
    })
}

/// How a letter is to be replayed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct How {
    /// Only say what would be done.
    dry_run: bool,
    /// Also where its request was answered or may still be.
    #[serde(default)]
    force: bool,
}

/// Publishes a letter's request again.
pub(super) async fn replay(
    State(dashboard): State<Arc<Dashboard>>,
    Path(sequence): Path<u64>,
    how: Result<Json<How>, JsonRejection>,
) -> Result<Json<Value>, Failure> {
    let Json(how) = how.map_err(|rejected| Failure::invalid(rejected.body_text()))?;
    let client = &dashboard.onlooker.client;
    let Some(buried) = client.letter(sequence).await? else {
        return Err(Failure::not_found(format!("there is no letter {sequence}")));
    };
    let demand = if how.force {
        Demand::Forced
    } else {
        Demand::Usual
    };
    let replay = client.replay_of(&buried, demand).await?;
    let replay = replay.map_err(|refusal| Failure::conflict(refusal.to_string()))?;
    if !how.dry_run {
        client.replay(&replay).await?;
    }
    Ok(Json(json!({
        "replayed": !how.dry_run,
        "target": replay.target,
        "correlation_id": replay.correlation,
        "original": replay.original,
        "request_id": replay.request,
    })))
}

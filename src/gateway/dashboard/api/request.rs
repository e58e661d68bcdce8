//! One request: how it stands, what belongs to its chain, what was told of it, what it spent.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{Path, State},
};
use serde_json::{Value, json};

use super::{
    key_of,
    list::{parent, state},
};
use crate::{
    client::{Node, Standing, Status},
    contract::{CorrelationId, Header, InvocationResult, Outcome, Spent},
    gateway::dashboard::{Dashboard, failure::Failure, recent::Row},
    inspect::{Looking, Onlooker, Reason, node_state, node_time, reasons},
    store::{Record, Records as _, RequestKey},
};

/// Requests of a chain that are shown at most.
const NODES_MAX: usize = 500;

/// How long an index that is being made is waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is known of a request, without its prompt and its result.
pub(super) async fn request(
    State(dashboard): State<Arc<Dashboard>>,
    Path(named): Path<(String, String)>,
) -> Result<Json<Value>, Failure> {
    let key = key_of(named)?;
    let (target, id) = (key.target.as_str(), key.request.as_str());
    let row = dashboard.feed.look(PATIENCE, |it| it.row(target, id)).await;
    let onlooker = &dashboard.onlooker;
    let status = onlooker.client.status(&key.request, Some(&key.target));
    let status = status.await?.into_iter().next();
    let records = onlooker.store.read(std::slice::from_ref(&key)).await?;
    let record = records.into_iter().next().flatten();
    if row.is_none() && status.is_none() {
        let message = format!("nothing is known of request {id} of {target}");
        return Err(Failure::not_found(message));
    }
    let chain = chain_of(status.as_ref(), row.as_ref());
    let (caller, action) = match row.as_ref().map(|it| (&it.caller, &it.action)) {
        Some((Some(caller), Some(action))) => (Some(caller.to_string()), Some(action.to_string())),
        _ => {
            dashboard
                .asked(&key, chain.as_ref(), record.as_ref())
                .await?
        }
    };
    let mut shown = json!({
        "target": key.target,
        "request_id": key.request,
        "correlation_id": chain,
        "caller": caller,
        "action": action,
        "worker": row.as_ref().map(|it| &it.worker),
        "began_ms": row.as_ref().map(|it| it.began.unix_millis()),
        "content": dashboard.content,
    });
    for part in [
        standing(status.as_ref(), record.as_ref(), row.as_ref()),
        record.as_ref().map_or_else(|| json!({}), recorded),
        json!({ "chain": dashboard.chain(chain.as_ref()).await }),
        json!({ "events": dashboard.events(&key).await }),
    ] {
        merge(&mut shown, part);
    }
    Ok(Json(shown))
}

/// Why it is not finished, down to the root causes.
pub(super) async fn why(
    State(dashboard): State<Arc<Dashboard>>,
    Path(named): Path<(String, String)>,
) -> Result<Json<Value>, Failure> {
    let key = key_of(named)?;
    let looking = Looking::begin(&dashboard.onlooker).await?;
    let facts = looking.why(&key.request, Some(&key.target)).await?;
    let reasons: Vec<_> = reasons(&facts).iter().map(Reason::to_json).collect();
    Ok(Json(json!({ "reasons": reasons })))
}

fn merge(shown: &mut Value, part: Value) {
    if let (Value::Object(shown), Value::Object(part)) = (shown, part) {
        shown.extend(part);
    }
}

fn chain_of(status: Option<&Status>, row: Option<&Row>) -> Option<CorrelationId> {
    let by_status = status.and_then(|it| it.correlation.clone());
    by_status.or_else(|| row?.chain.parse().ok())
}

fn standing(status: Option<&Status>, record: Option<&Record>, row: Option<&Row>) -> Value {
    let result = match status.map(|it| &it.standing) {
        Some(Standing::Done(Some(result))) => return ended(result, status),
        Some(Standing::Done(None)) => "done",
        _ => row.map_or_else(
            || record.map_or("queued", |it| crate::inspect::record_state(&it.state)),
            |row| state(row, record),
        ),
    };
    json!({
        "state": result,
        "attempts": status.and_then(|it| it.attempts),
        "age_ms": status.and_then(|it| it.age).map(millis),
    })
}

fn ended(result: &InvocationResult, status: Option<&Status>) -> Value {
    let (state, error) = match &result.outcome {
        Outcome::Ok(_) => ("ok", None),
        Outcome::Error(error) if error.code == crate::contract::ErrorCode::Cancelled => {
            ("cancelled", Some(error))
        }
        Outcome::Error(error) => ("failed", Some(error)),
    };
    json!({
        "state": state,
        "code": error.map(|it| it.code),
        "message": error.map(|it| &it.message),
        "attempts": status.and_then(|it| it.attempts),
        "duration_ms": millis(result.duration),
    })
}

fn recorded(record: &Record) -> Value {
    json!({
        "first_claimed_ms": record.first_claimed.map(|it| it.unix_millis()),
        "spent": spent(&record.spent),
        "parent": record.lineage.as_ref().map(|it| &it.parent),
        "hop": record.lineage.as_ref().map(|it| it.hop),
        "verdict": record.verdict,
    })
}

impl Dashboard {
    /// Who asks and what for, by what stands elsewhere than in the index.
    async fn asked(
        &self,
        key: &RequestKey,
        chain: Option<&CorrelationId>,
        record: Option<&Record>,
    ) -> Result<(Option<String>, Option<String>), Failure> {
        let Onlooker { nats, subjects, .. } = &self.onlooker;
        let place = chain.map(|chain| subjects.result(chain, &key.request));
        let result = match place {
            Some(place) => nats.read_result(&place).await?,
            None => None,
        };
        let said = |header| result.as_ref().and_then(|it| it.headers.get(header));
        let is_ours = said(Header::Target) == Some(key.target.as_str());
        let said = |header| said(header).filter(|_| is_ours).map(str::to_owned);
        let caller = said(Header::Caller).or_else(|| Some(parent(record?)?.to_owned()));
        Ok((caller, said(Header::Action)))
    }

    /// The requests of a chain as a waterfall; an error of its own where they cannot be read.
    async fn chain(&self, chain: Option<&CorrelationId>) -> Value {
        let Some(chain) = chain else {
            return json!({ "requests": [] });
        };
        match self.onlooker.client.tree(chain).await {
            Ok(tree) => {
                let (mut bars, mut more) = (Vec::new(), 0);
                tree.roots
                    .iter()
                    .for_each(|it| bar(it, 0, &mut bars, &mut more));
                json!({ "requests": bars, "more": more })
            }
            Err(crate::client::ClientFault::ChainUnknown { .. }) => json!({ "requests": [] }),
            Err(fault) => Failure::from(fault).to_json(),
        }
    }

    /// What was told of a request; an error of its own where it cannot be read.
    async fn events(&self, key: &RequestKey) -> Value {
        let client = &self.onlooker.client;
        match client.events(&key.request, Some(&key.target)).await {
            Ok(events) => json!({ "told": events }),
            Err(fault) => Failure::from(fault).to_json(),
        }
    }
}

/// A request and those below it, each as one bar, parents first.
fn bar(node: &Node, depth: usize, bars: &mut Vec<Value>, more: &mut usize) {
    if bars.len() >= NODES_MAX {
        *more += 1;
    } else {
        let began = node.record.as_ref().and_then(|it| it.first_claimed);
        bars.push(json!({
            "target": node.key.target,
            "request_id": node.key.request,
            "depth": depth,
            "action": node.action,
            "state": node_state(node),
            "attempts": node.record.as_ref().map(|it| it.attempts),
            "began_ms": began.map(|it| it.unix_millis()),
            "duration_ms": node_time(node).map(millis),
            "spent": spent(&node.spent),
        }));
    }
    for child in &node.children {
        bar(child, depth + 1, bars, more);
    }
}

fn spent(spent: &Spent) -> Value {
    json!({
        "requests": spent.requests,
        "tokens": spent.tokens,
        "cost": spent.cost.to_string(),
        "descendants": spent.descendants,
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

//! Reads the parts of the overview, side by side: a server that is away spoils what it is asked for
//! and nothing else.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    feed::{Feed, Listens},
    live::{Overview, Part},
    recent::{Counts, Phase},
};
use crate::{
    circuit::{Admission, BreakerState},
    inspect::{ModelServer, Onlooker, Targets, TargetsReader, Workers, model_servers, reports},
    puruto::Fleet,
};

/// How often the workers folder is read again.
const FOLDER_EVERY: Duration = Duration::from_secs(30);

/// How long a reading of the index waits for one that is being made: not at all.
const AT_ONCE: Duration = Duration::ZERO;

/// Reads the overview.
pub(super) struct Reader {
    onlooker: Onlooker,
    feed: Arc<Feed>,
    targets: TargetsReader,
    folder: Option<(Instant, Result<Vec<ModelServer>, String>)>,
}

impl Reader {
    pub(super) fn new(onlooker: Onlooker, feed: Arc<Feed>) -> Self {
        Self {
            onlooker,
            feed,
            targets: TargetsReader::default(),
            folder: None,
        }
    }

    pub(super) async fn read(&mut self) -> Overview {
        let servers = self.model_servers();
        let Self {
            onlooker,
            feed,
            targets,
            ..
        } = self;
        let (fleet, servers, letters, requests) = tokio::join!(
            fleet(onlooker, targets, feed),
            states(onlooker, servers),
            letters(onlooker),
            requests(feed),
        );
        let (targets, workers) = fleet;
        Overview {
            targets,
            workers,
            servers,
            letters,
            requests,
        }
    }

    fn model_servers(&mut self) -> Result<Vec<ModelServer>, String> {
        match &self.folder {
            Some((at, servers)) if at.elapsed() < FOLDER_EVERY => servers.clone(),
            _ => {
                let servers = read_folder(&self.onlooker);
                self.folder = Some((Instant::now(), servers.clone()));
                servers
            }
        }
    }
}

fn read_folder(onlooker: &Onlooker) -> Result<Vec<ModelServer>, String> {
    let folder = &onlooker.workers_dir;
    let fleet = Fleet::load(folder).map_err(|findings| {
        let first = findings.first().map(ToString::to_string);
        let folder = folder.display();
        format!(
            "the workers folder {folder} does not say which models are asked: {}",
            first.unwrap_or_default()
        )
    })?;
    Ok(model_servers(&fleet, &onlooker.environment))
}

async fn fleet(onlooker: &Onlooker, reader: &mut TargetsReader, feed: &Feed) -> (Part, Part) {
    let Onlooker {
        nats,
        subjects,
        clock,
        ..
    } = onlooker;
    let reported = match reports(nats, subjects).await {
        Ok(reported) => reported,
        Err(fault) => return (Err(fault.to_string()), Err(fault.to_string())),
    };
    let targets = reader.read_among(nats, clock, &reported).await;
    let waiting = feed.look(AT_ONCE, waiting).await;
    let targets = targets.map(|targets| with_waiting(&targets, &waiting));
    let workers = Workers::of(reported).to_json();
    (targets.map_err(|fault| fault.to_string()), Ok(workers))
}

/// How many of the latest requests of each target wait, for others or for a verdict.
fn waiting(recent: &super::recent::Recent) -> BTreeMap<String, (u32, u32)> {
    let of = |counts: &Counts, phase: Phase| counts.get(phase as usize).copied().unwrap_or(0);
    let counted = recent.counts().map(|(target, counts)| {
        let waiting = (of(counts, Phase::Waiting), of(counts, Phase::Approval));
        (target.to_owned(), waiting)
    });
    counted.collect()
}

fn with_waiting(targets: &Targets, waiting: &BTreeMap<String, (u32, u32)>) -> Value {
    let mut shown = targets.to_json();
    let rows = shown.get_mut("targets").and_then(Value::as_array_mut);
    for row in rows.into_iter().flatten().filter_map(Value::as_object_mut) {
        let target = row
            .get("target")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let (others, verdict) = waiting.get(target).copied().unwrap_or_default();
        row.insert("waiting".into(), others.into());
        row.insert("waiting_for_approval".into(), verdict.into());
    }
    shown
}

async fn states(onlooker: &Onlooker, servers: Result<Vec<ModelServer>, String>) -> Part {
    let servers = servers?;
    let asked = servers.iter().map(|server| state(onlooker, server));
    let states: Result<Vec<_>, _> = join_all(asked).await.into_iter().collect();
    Ok(json!({ "servers": states? }))
}

async fn state(onlooker: &Onlooker, server: &ModelServer) -> Part {
    let admission = onlooker.circuit(&server.circuit).await;
    let mut row = admitted(&admission.map_err(|fault| fault.to_string())?);
    row.insert("server".into(), server.circuit.as_str().into());
    row.insert("targets".into(), json!(server.targets));
    row.insert("limits".into(), json!(server.limits));
    Ok(Value::Object(row))
}

fn admitted(admission: &Admission) -> Map<String, Value> {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let row = match admission {
        Admission::Admitted(standing) => {
            let state = standing.map_or(BreakerState::Closed, |it| it.state);
            json!({ "breaker": breaker(state) })
        }
        Admission::Refused(refusal) => json!({
            "breaker": breaker(refusal.state),
            "failed_percent": refusal.failed_percent,
            "retry_in_ms": millis(refusal.retry_in),
        }),
        Admission::Throttled(throttled) => json!({
            "breaker": breaker(BreakerState::Closed),
            "throttled_ms": millis(throttled.wait),
        }),
    };
    match row {
        Value::Object(row) => row,
        _ => Map::new(),
    }
}

const fn breaker(state: BreakerState) -> &'static str {
    match state {
        BreakerState::Closed => "closed",
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "half-open",
    }
}

async fn letters(onlooker: &Onlooker) -> Part {
    let counts = onlooker.nats.dead_letter_counts().await;
    let counts = counts.map_err(|fault| fault.to_string())?;
    let all: u64 = counts.iter().map(|it| it.messages).sum();
    Ok(json!({ "letters": all }))
}

async fn requests(feed: &Feed) -> Part {
    let (changes, known) = feed.look(AT_ONCE, |it| (it.changes(), it.len())).await;
    match feed.listens() {
        Listens::Broken(why) => Err(why),
        Listens::Asleep | Listens::Filling | Listens::InPart => {
            Ok(json!({ "changes": changes, "known": known, "complete": false }))
        }
        Listens::Live => Ok(json!({ "changes": changes, "known": known, "complete": true })),
    }
}

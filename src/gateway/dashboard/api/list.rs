//! The latest requests, page by page; how those of a page stand is read from their records.

use std::{sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{Query, State, rejection::QueryRejection},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    gateway::dashboard::{
        Dashboard,
        failure::Failure,
        feed::Listens,
        recent::{Filter, Phase, Row, Serial},
    },
    inspect::record_state,
    store::{Record, RecordState, Records as _, RequestKey},
};

/// Requests on a page, where nothing else is asked for ...
const PAGE: usize = 50;

/// ... and at most.
const PAGE_MAX: usize = 200;

/// Records that one query reads at most: where few of many fit, the rest is the next page's.
const READ_MAX: usize = 1_000;

/// Records that are read at once, where not all of them fit.
const READ_AT_ONCE: usize = 250;

/// How long an index that is being made is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Asked {
    target: Option<Box<str>>,
    state: Option<Box<str>>,
    caller: Option<Box<str>>,
    correlation_id: Option<Box<str>>,
    id: Option<Box<str>>,
    cursor: Option<Box<str>>,
    limit: Option<usize>,
}

/// Which state is asked for, beyond what the index knows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    /// What the index says is all there is to say.
    Indexed(Vec<Phase>),
    /// Those whose record says so.
    Recorded(&'static str),
}

impl Wanted {
    /// How many rows to look at for so many that are missing: few may stand as is wanted, and many
    /// records are read as fast as some.
    fn rows(&self, missing: usize) -> usize {
        match self {
            Self::Indexed(_) => missing,
            Self::Recorded(_) => missing.max(READ_AT_ONCE),
        }
    }
}

/// Lists them, the newest first.
pub(super) async fn list(
    State(dashboard): State<Arc<Dashboard>>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Value>, Failure> {
    let Query(asked) = asked.map_err(|rejected| Failure::invalid(rejected.body_text()))?;
    let wanted = wanted(asked.state.as_deref())?;
    let before = asked.cursor.as_deref().map(|it| dashboard.read_cursor(it));
    let mut before = before.transpose()?;
    let most = asked.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let filter = filter(asked, &wanted);
    let (mut shown, mut read) = (Vec::new(), 0);
    let next = loop {
        let missing = most - shown.len();
        let rows = wanted.rows(missing);
        let page = dashboard
            .feed
            .look(PATIENCE, |it| it.page(&filter, before, rows));
        let page = page.await;
        read += page.rows.len();
        let mut fitting = dashboard.stand(page.rows, &wanted).await?;
        let too_many = fitting.split_off(missing.min(fitting.len()));
        before = match fitting.last() {
            Some((last, _)) if !too_many.is_empty() => Some(*last),
            Some(_) | None => page.next,
        };
        shown.extend(fitting.into_iter().map(|(_, shown)| shown));
        if shown.len() >= most || before.is_none() || read >= READ_MAX {
            break before;
        }
    };
    let (complete, reading) = match dashboard.feed.listens() {
        Listens::Broken(why) => return Err(Failure::unavailable(why)),
        Listens::Live => (true, false),
        Listens::InPart => (false, false),
        Listens::Asleep | Listens::Filling => (false, true),
    };
    Ok(Json(json!({
        "requests": shown,
        "next": next.map(|it| dashboard.cursor(it)),
        "complete": complete,
        "reading": reading,
    })))
}

fn wanted(state: Option<&str>) -> Result<Wanted, Failure> {
    let open = vec![
        Phase::Queued,
        Phase::Running,
        Phase::Waiting,
        Phase::Approval,
    ];
    Ok(match state {
        None | Some("") => Wanted::Indexed(Vec::new()),
        Some("open") => Wanted::Indexed(open),
        Some("ok") => Wanted::Indexed(vec![Phase::Ok]),
        Some("failed") => Wanted::Indexed(vec![Phase::Failed]),
        Some("cancelled") => Wanted::Indexed(vec![Phase::Cancelled]),
        Some("queued") => Wanted::Recorded("queued"),
        Some("running") => Wanted::Recorded("running"),
        Some("waiting") => Wanted::Recorded("waiting"),
        Some("approval") => Wanted::Recorded("awaiting approval"),
        Some(other) => return Err(Failure::invalid(format!("{other:?} is no state"))),
    })
}

fn filter(asked: Asked, wanted: &Wanted) -> Filter {
    let said = |text: Option<Box<str>>| text.filter(|it| !it.is_empty());
    Filter {
        target: said(asked.target),
        caller: said(asked.caller),
        correlation: said(asked.correlation_id),
        text: said(asked.id),
        phases: match wanted {
            Wanted::Indexed(phases) => phases.clone(),
            Wanted::Recorded(_) => vec![
                Phase::Queued,
                Phase::Running,
                Phase::Waiting,
                Phase::Approval,
            ],
        },
    }
}

impl Dashboard {
    /// Where a list goes on; of this life of the index alone.
    fn cursor(&self, Serial(serial): Serial) -> String {
        format!("{}.{serial}", self.life)
    }

    fn read_cursor(&self, cursor: &str) -> Result<Serial, Failure> {
        let serial = match cursor.split_once('.') {
            Some((life, serial)) if *life == *self.life => serial.parse().ok(),
            Some(_) | None => None,
        };
        let gone = || Failure::conflict("the list was begun at another gateway: begin it again");
        serial.map(Serial).ok_or_else(gone)
    }

    /// These rows as they stand now, but for those that stand otherwise than is wanted.
    async fn stand(
        &self,
        rows: Vec<Row>,
        wanted: &Wanted,
    ) -> Result<Vec<(Serial, Value)>, Failure> {
        let keyed: Vec<_> = rows.into_iter().map(|row| (open_key(&row), row)).collect();
        let keys: Vec<_> = keyed.iter().filter_map(|(key, _)| key.clone()).collect();
        let records = if keys.is_empty() {
            Vec::new()
        } else {
            self.onlooker.store.read(&keys).await?
        };
        let mut records = records.into_iter();
        let mut shown = Vec::new();
        for (key, row) in keyed {
            let record = key.and_then(|_| records.next().flatten());
            let state = state(&row, record.as_ref());
            if matches!(wanted, Wanted::Recorded(wanted) if *wanted != state) {
                continue;
            }
            shown.push((row.serial, as_json(&row, state, record.as_ref())));
        }
        Ok(shown)
    }
}

/// The record's name, where the index has not the last word.
fn open_key(row: &Row) -> Option<RequestKey> {
    if row.phase.is_done() {
        return None;
    }
    Some(RequestKey {
        target: row.target.parse().ok()?,
        request: row.request.parse().ok()?,
    })
}

pub(super) fn state(row: &Row, record: Option<&Record>) -> &'static str {
    match record.map(|it| &it.state) {
        // Its result was heard of, or is about to be.
        None | Some(RecordState::Done { .. }) if row.phase.is_done() => row.phase.as_str(),
        None => "queued",
        Some(state) => record_state(state),
    }
}

/// Who asks for what was delegated.
pub(super) fn parent(record: &Record) -> Option<&str> {
    record.lineage.as_ref().map(|it| it.parent.target.as_str())
}

fn as_json(row: &Row, state: &str, record: Option<&Record>) -> Value {
    let attempts = record.map_or(row.attempts, |it| it.attempts.max(row.attempts));
    json!({
        "target": row.target,
        "request_id": row.request,
        "correlation_id": row.chain,
        "caller": row.caller.as_deref().or_else(|| record.and_then(parent)),
        "action": row.action,
        "worker": row.worker,
        "state": state,
        "code": row.code,
        "attempts": attempts,
        "began_ms": row.began.unix_millis(),
        "duration_ms": row.duration.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
    })
}

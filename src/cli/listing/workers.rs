//! `puruto workers`: which workers are there, by what they answer.

use serde_json::{Value, json};

use super::{ListArgs, Listing, reports, rough, show};
use crate::{
    cli::{
        exit::Exit,
        failure::Failure,
        session::{GlobalArgs, World, connect_nats},
    },
    worker::WorkerReport,
};

/// Lists the workers.
pub(in crate::cli) async fn workers(
    args: &ListArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let nats = connect_nats(world, &gathered).await?;
    let subjects = &gathered.config.nats.prefix;
    let read = async || Ok(Workers::of(reports(&nats, subjects).await?));
    show(args, world, &gathered, read).await
}

/// The workers of one reading.
pub(super) struct Workers(Vec<Row>);

struct Row {
    report: WorkerReport,
    targets: Vec<String>,
    slots: usize,
    free: usize,
}

impl Workers {
    pub(super) fn of(reports: Vec<Vec<(String, WorkerReport)>>) -> Self {
        Self(reports.into_iter().filter_map(Row::of).collect())
    }
}

impl Row {
    /// A worker by its targets as it serves them; all of those know what it is.
    fn of(reports: Vec<(String, WorkerReport)>) -> Option<Self> {
        let report = reports.first()?.1.clone();
        let sum = |of: fn(&WorkerReport) -> usize| reports.iter().map(|(_, it)| of(it)).sum();
        let (slots, free) = (sum(|it| it.slots), sum(|it| it.free));
        let targets = reports.into_iter().map(|(target, _)| target).collect();
        Some(Self {
            report,
            targets,
            slots,
            free,
        })
    }

    fn to_json(&self) -> Value {
        let report = &self.report;
        json!({
            "id": report.worker,
            "host": report.host,
            "targets": self.targets,
            "slots": self.slots,
            "slots_free": self.free,
            "in_flight": report.in_flight,
            "session": report.session,
            "session_age_ms": report.session_age_ms,
            "last_error": report.last_error,
            "last_error_age_ms": report.last_error_age_ms,
        })
    }

    fn cells(&self) -> Vec<String> {
        let report = &self.report;
        let none = || "none".to_owned();
        let error = report.last_error.as_ref().map(|error| {
            let ago = rough(report.last_error_age_ms.unwrap_or_default());
            format!("{error}, {ago} ago")
        });
        vec![
            report.worker.clone(),
            report.host.clone(),
            self.targets.join(" "),
            format!("{}/{}", self.free, self.slots),
            report.in_flight.to_string(),
            report.session_age_ms.map_or_else(none, rough),
            error.unwrap_or_else(none),
        ]
    }
}

impl Listing for Workers {
    fn to_json(&self) -> Value {
        let workers: Value = self.0.iter().map(Row::to_json).collect();
        json!({ "workers": workers })
    }

    fn rows(&self) -> (&'static [&'static str], Vec<Vec<String>>) {
        let head = &[
            "worker",
            "host",
            "targets",
            "slots free",
            "in flight",
            "session",
            "last error",
        ];
        (head, self.0.iter().map(Row::cells).collect())
    }
}

//! Which workers are there, by what they answer.

use serde_json::{Value, json};

use crate::{
    broker::{
        BrokerFault,
        micro::{Stats, WORKER_SERVICE},
        nats::NatsClient,
    },
    contract::Subjects,
    worker::WorkerReport,
};

/// What the workers of this fleet say of themselves: for each, its targets as it serves them.
///
/// # Errors
/// There is no connection.
pub async fn reports(
    nats: &NatsClient,
    subjects: &Subjects,
) -> Result<Vec<Vec<(String, WorkerReport)>>, BrokerFault> {
    let found = nats.services(WORKER_SERVICE).await?;
    let ours = |stats: &Stats| {
        let prefix = stats.metadata.get("prefix");
        prefix.is_some_and(|prefix| prefix == subjects.prefix())
    };
    let reports = |stats: Stats| {
        let endpoints = stats.endpoints.into_iter();
        endpoints
            .filter_map(|it| Some((it.name, serde_json::from_value(it.data).ok()?)))
            .collect()
    };
    Ok(found.into_iter().filter(ours).map(reports).collect())
}

/// The target of each endpoint of each worker of this fleet.
///
/// # Errors
/// There is no connection.
pub async fn serving(nats: &NatsClient, subjects: &Subjects) -> Result<Vec<String>, BrokerFault> {
    let reports = reports(nats, subjects).await?;
    Ok(reports
        .into_iter()
        .flatten()
        .map(|(target, _)| target)
        .collect())
}

/// The workers of one reading.
#[derive(Clone, Debug)]
pub struct Workers(Vec<ServingWorker>);

/// A worker, with the slots of all its targets.
#[derive(Clone, Debug)]
pub struct ServingWorker {
    /// What it says of itself.
    pub report: WorkerReport,
    /// What it serves.
    pub targets: Vec<String>,
    /// How many requests it may run at once.
    pub slots: usize,
    /// How many more it could run now.
    pub free: usize,
}

impl Workers {
    /// The workers that answered so.
    #[must_use]
    pub fn of(reports: Vec<Vec<(String, WorkerReport)>>) -> Self {
        Self(reports.into_iter().filter_map(ServingWorker::of).collect())
    }

    /// Asks them.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn read(nats: &NatsClient, subjects: &Subjects) -> Result<Self, BrokerFault> {
        Ok(Self::of(reports(nats, subjects).await?))
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &ServingWorker> {
        self.0.iter()
    }

    /// For programs: `{"workers": [...]}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let workers: Value = self.0.iter().map(ServingWorker::to_json).collect();
        json!({ "workers": workers })
    }
}

impl ServingWorker {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(worker: &str) -> Vec<(String, WorkerReport)> {
        let of = |target: &str, free| {
            let report = WorkerReport {
                worker: worker.to_owned(),
                host: "here".to_owned(),
                session: Some("s".to_owned()),
                session_age_ms: Some(61_500),
                in_flight: 3,
                slots: 4,
                free,
                last_error: None,
                last_error_age_ms: None,
            };
            (target.to_owned(), report)
        };
        vec![of("a", 4), of("b", 1)]
    }

    #[test]
    fn a_worker_is_one_row_with_the_slots_of_all_its_targets() {
        let workers = Workers::of(vec![both("w1"), both("w2"), Vec::new()]);
        let shown = workers.to_json();
        let listed = shown["workers"].as_array().unwrap();
        assert_eq!(listed.len(), 2);
        assert_eq!(listed[1]["id"], "w2");
        assert_eq!(listed[0]["targets"], json!(["a", "b"]));
        assert_eq!(
            (&listed[0]["slots"], &listed[0]["slots_free"]),
            (&8.into(), &5.into())
        );
    }
}

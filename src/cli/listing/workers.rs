//! `puruto workers`: which workers are there, by what they answer.

use serde_json::Value;

use super::{ListArgs, Listing, rough, show};
use crate::{
    cli::{
        exit::Exit,
        failure::Failure,
        session::{GlobalArgs, World, connect_nats},
    },
    inspect::{ServingWorker, Workers},
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
    let read = async || Workers::read(&nats, subjects).await;
    show(args, world, &gathered, read).await
}

impl Listing for Workers {
    fn to_json(&self) -> Value {
        Self::to_json(self)
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
        (head, self.iter().map(cells).collect())
    }
}

fn cells(worker: &ServingWorker) -> Vec<String> {
    let report = &worker.report;
    let none = || "none".to_owned();
    let error = report.last_error.as_ref().map(|error| {
        let ago = rough(report.last_error_age_ms.unwrap_or_default());
        format!("{error}, {ago} ago")
    });
    vec![
        report.worker.clone(),
        report.host.clone(),
        worker.targets.join(" "),
        format!("{}/{}", worker.free, worker.slots),
        report.in_flight.to_string(),
        report.session_age_ms.map_or_else(none, rough),
        error.unwrap_or_else(none),
    ]
}

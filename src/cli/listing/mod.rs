//! `puruto workers` and `puruto targets`: who is there, and what waits for whom.

mod targets;
mod workers;

use std::time::Duration;

use clap::Args;
use serde_json::Value;
use tokio::time::sleep;

pub(super) use self::{targets::targets, workers::workers};
use super::{
    exit::Exit,
    failure::Failure,
    output::Reader,
    session::{World, explain},
    table::table,
};
use crate::{
    broker::micro::{Stats, WORKER_SERVICE},
    broker::{BrokerFault, nats::NatsClient},
    config::Gathered,
    contract::Subjects,
    worker::WorkerReport,
};

/// Between two readings.
const READ_EVERY: Duration = Duration::from_secs(1);

/// Puts the cursor where a terminal begins, and empties the terminal.
const REDRAW: &str = "\u{1b}[H\u{1b}[2J";

/// Flags of the verbs that list.
#[derive(Args, Debug)]
pub(super) struct ListArgs {
    /// Read again every second until interrupted: redraws on a terminal, a JSON line a reading in
    /// a pipe
    #[arg(long)]
    watch: bool,
    /// Print JSON on a terminal as well
    #[arg(long)]
    json: bool,
}

/// One reading of a list.
trait Listing {
    /// For programs: one line.
    fn to_json(&self) -> Value;
    /// For people: a head, and the rows under it.
    fn rows(&self) -> (&'static [&'static str], Vec<Vec<String>>);
}

/// Shows one reading, or one after the other.
async fn show<L: Listing>(
    args: &ListArgs,
    world: &World,
    gathered: &Gathered,
    mut read: impl AsyncFnMut() -> Result<L, BrokerFault>,
) -> Result<Exit, Failure> {
    let explain = |fault: BrokerFault| explain(gathered, fault.into());
    let mut listing = read().await.map_err(explain)?;
    loop {
        draw(args, world, &listing)?;
        if !args.watch {
            return Ok(Exit::Ok);
        }
        listing = loop {
            sleep(READ_EVERY).await;
            match read().await {
                Ok(listing) => break listing,
                // Whoever watches waits for it to pass.
                Err(fault) => world
                    .output
                    .error(format_args!("puruto: {}", explain(fault))),
            }
        };
    }
}

fn draw(args: &ListArgs, world: &World, listing: &impl Listing) -> std::io::Result<()> {
    match world.output.reader(args.json) {
        Reader::Program => world.output.answer(listing.to_json()),
        Reader::Person => {
            let redraw = if args.watch { REDRAW } else { "" };
            world
                .output
                .answer(format_args!("{redraw}{}", table_of(listing)))
        }
    }
}

fn table_of(listing: &impl Listing) -> String {
    let (head, rows) = listing.rows();
    table(head, rows)
}

/// What the workers of this fleet say of themselves: for each, its targets as it serves them.
pub(super) async fn reports(
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
pub(super) async fn serving(
    nats: &NatsClient,
    subjects: &Subjects,
) -> Result<Vec<String>, BrokerFault> {
    let reports = reports(nats, subjects).await?;
    Ok(reports
        .into_iter()
        .flatten()
        .map(|(target, _)| target)
        .collect())
}

/// A duration as people read it, to the second.
fn rough(millis: u64) -> String {
    humantime::format_duration(Duration::from_secs(millis / 1_000)).to_string()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

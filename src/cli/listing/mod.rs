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
use crate::{broker::BrokerFault, config::Gathered};

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

/// A duration as people read it, to the second.
fn rough(millis: u64) -> String {
    humantime::format_duration(Duration::from_secs(millis / 1_000)).to_string()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

//! `puruto bench`: what an invocation costs on this machine.
//!
//! Starts servers and workers of its own, publishes from one client, counts the results. Nothing
//! that is already running is touched.

mod fleet;
mod hostile;
mod load;
mod report;
mod usage;

use std::{num::NonZeroUsize, time::Duration};

use clap::Args;
use tokio::time::Instant;

pub use self::fleet::BenchFault;
use self::{
    fleet::BenchFleet,
    load::{Load, Measured},
    report::Report,
    usage::Usage,
};
use super::session::World;

/// Flags of `puruto bench`.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
    /// Invocations to publish
    #[arg(short, long, default_value = "50000")]
    n: NonZeroUsize,
    /// How many of them may be in flight at once; 1 measures one at a time
    #[arg(short, long, value_name = "N", default_value = "1024")]
    in_flight: NonZeroUsize,
    /// Worker processes
    #[arg(short, long, value_name = "N", default_value = "1")]
    workers: NonZeroUsize,
    /// Run slots of each worker (default: as many as are in flight)
    #[arg(short, long, value_name = "N")]
    concurrency: Option<NonZeroUsize>,
    /// How long the simulated model thinks
    #[arg(short, long, value_name = "DURATION", default_value = "0ms", value_parser = humantime::parse_duration)]
    latency: Duration,
    /// Bytes of each prompt
    #[arg(long, value_name = "BYTES", default_value = "64")]
    prompt_bytes: usize,
    /// Also publish a message that no client can read, this often, in every other of six rounds,
    /// and compare the rounds
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    hostile_every: Option<Duration>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// Measures once; what is printed of it.
///
/// # Errors
/// What kept the fleet from starting, or an invocation from its result.
pub(super) async fn run(args: &BenchArgs, world: &World) -> Result<String, BenchFault> {
    let every = args.hostile_every.filter(|it| !it.is_zero());
    if let Some(every) = every {
        let comparison = Box::pin(hostile::compare(args, every, world)).await?;
        return Ok(comparison.show(args.json));
    }
    let mut fleet = BenchFleet::start(args, world).await?;
    let mut load = Load::prepare(args, &fleet, &world.chance).await?;
    let before = fleet.usage()?;
    let began = Instant::now();
    let measured = load.run().await?;
    let took = began.elapsed();
    let after = fleet.usage()?;
    let report = Report::new(args, &measured, took, &before, &after);
    fleet.stop().await;
    Ok(if args.json {
        report.to_json()
    } else {
        report.to_table()
    })
}

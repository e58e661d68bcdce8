//! `puruto chaos`: a fleet of its own under load and faults, and a verdict.
//!
//! Never: a server, a worker or a setting of yours.

use std::{env, fs, num::NonZeroU16, path::PathBuf, time::Duration};

use clap::Args;

use super::{dev::plan::places, session::World};
use crate::{
    chaos::{self, ChaosFault, Delegation, Pace, Settings, report},
    dev::guard::Guard,
};

/// Flags of `puruto chaos`.
#[derive(Args, Debug)]
pub(super) struct ChaosArgs {
    /// Repeat the faults and requests of this seed (default: a new one, which is told)
    #[arg(long)]
    seed: Option<u64>,
    /// How long faults strike
    #[arg(long, default_value = "1", value_name = "M", value_parser = minutes)]
    minutes: Duration,
    /// Worker processes
    #[arg(long, default_value = "4", value_name = "N")]
    workers: NonZeroU16,
    /// Requests a second
    #[arg(long, default_value = "20", value_name = "R", value_parser = rate)]
    rate: f64,
    /// Let the fleet find out several times sooner than it does unless configured
    #[arg(long)]
    quick: bool,
    /// Let no request ask others
    #[arg(long)]
    no_delegation: bool,
    /// Keep data, logs and history in this folder, which must not exist (default: a temporary one)
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    let time = Duration::try_from_secs_f64(minutes * 60.0);
    time.map_err(|error| error.to_string())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|it| (0.1..=10_000.0).contains(it));
    rate.ok_or_else(|| "expected a number from 0.1 to 10000".to_owned())
}

/// Strikes; true when every invariant held.
///
/// # Errors
/// There is no verdict.
pub(super) async fn run(args: &ChaosArgs, world: &World) -> Result<bool, ChaosFault> {
    let drawn = u64::try_from(world.chance.bits128() >> 96).unwrap_or_default();
    let seed = args.seed.unwrap_or(drawn);
    let temporary = || env::temp_dir().join(format!("puruto-chaos-{seed}-{drawn:08x}"));
    let settings = Settings {
        seed,
        duration: args.minutes,
        workers: args.workers,
        rate: args.rate,
        pace: if args.quick {
            Pace::Quick
        } else {
            Pace::Ordinary
        },
        delegation: if args.no_delegation {
            Delegation::Off
        } else {
            Delegation::On
        },
        folder: args.folder.clone().unwrap_or_else(temporary),
        places: places(&world.environment),
        guard: Guard::new(env::current_exe()?),
        unset: ours(world),
        clock: world.clock.clone(),
        chance: world.chance.clone(),
    };
    fs::create_dir(&settings.folder)?;
    let output = &world.output;
    output.error(format_args!(
        "seed {seed}, everything is kept in {}",
        settings.folder.display()
    ));
    let outcome = chaos::run(&settings, &|line: &str| output.error(line)).await?;
    output.answer(report(&settings, &outcome))?;
    Ok(outcome.verdict.holds())
}

/// Whoever runs this may have configured a fleet of their own.
fn ours(world: &World) -> Vec<String> {
    let names = world.environment.iter().map(|(name, _)| name);
    let ours = names.filter(|name| {
        let known = ["NATS_URL", "REDIS_URL", "RUST_LOG"];
        name.starts_with("PURUTO_") || name.starts_with("OTEL_") || known.contains(name)
    });
    ours.map(str::to_owned).collect()
}

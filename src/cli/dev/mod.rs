//! `puruto dev`: the whole fleet on a laptop, in one command.
//!
//! Owns the life of the servers, workers and gateway that it starts, and the file that leads other
//! commands to them. It stops workers before servers, and leaves no process behind even when it is
//! killed: each of them runs under the guard. Never: a request; asking is for other commands.

mod dashboard;
mod env_file;
mod fault;
mod fleet;
pub(super) mod hints;
mod keeper;
mod lock;
pub(super) mod plan;
mod relay;
mod restarts;
pub(super) mod screen;
pub(super) mod signals;

use std::{
    num::NonZeroU16,
    path::{Path, PathBuf},
};

use clap::Args;
use tokio::time::Instant;

pub(super) use self::fault::DevFault;
use self::{
    env_file::EnvFile,
    fleet::Fleet,
    hints::Addresses,
    plan::Plan,
    screen::{Colour, Screen, Voice},
    signals::Ends,
};
use super::{
    gateway::public_url,
    session::{GlobalArgs, World},
};
use crate::{
    config::{Config, DEV_ENV, Environment},
    dev::{member, say::Say as _},
    puruto,
};

/// Flags of `puruto dev`.
#[derive(Args, Clone, Debug)]
pub(super) struct DevArgs {
    /// How many worker processes to run
    #[arg(long, value_name = "N", default_value = "2")]
    workers: NonZeroU16,
    /// The folder of the fleet's Purutos, one folder each
    #[arg(long, value_name = "DIR")]
    workers_dir: Option<PathBuf>,
    /// Where the servers keep their data from one run to the next
    #[arg(long, value_name = "DIR", default_value = ".puruto/data")]
    data_dir: PathBuf,
    /// Where NATS listens (default: 4222 if that is free, else another)
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    nats_port: Option<u16>,
    /// Where Redis listens (default: 6379 if that is free, else another)
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    redis_port: Option<u16>,
    /// Where the gateway listens (default: 8080 if that is free, else another)
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    gateway_port: Option<u16>,
}

/// Runs the fleet until a signal ends it.
///
/// # Errors
///
/// Why it cannot run, or had to end by itself; nothing of it is left running.
pub(super) async fn run(
    args: &DevArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<(), DevFault> {
    let ends = signals::listen()?;
    let host = Host::new(args, global, world)?;
    let _lock = lock::acquire(&host.plan.data_dir)?;
    let started = Fleet::start(&host.plan, &host.screen);
    let Some(started) = ends.orderly.run_until_cancelled(started).await else {
        return Ok(());
    };
    let mut fleet = started?;
    let welcome = host.welcome(fleet.addresses());
    let served = serve(&mut fleet, &ends, welcome).await;
    host.say("ending: first the workers finish what they run (once more: at once)");
    let stopped = ends.at_once.run_until_cancelled(fleet.stop()).await;
    served?;
    stopped.unwrap_or(Ok(()))
}

/// Whoever starts the fleet and tells a person about it.
struct Host<'w> {
    plan: Plan,
    purutos: puruto::Fleet,
    config: Config,
    environment: &'w Environment,
    screen: Screen,
    voice: Voice,
    begun: Instant,
}

impl<'w> Host<'w> {
    fn new(args: &DevArgs, global: &GlobalArgs, world: &'w World) -> Result<Self, DevFault> {
        let screen = Screen::stdout(&world.environment);
        let gathered = plan::configuration(args, global, world)?;
        let config = gathered.config.clone();
        let purutos = puruto::Fleet::load(&config.worker.workers_dir);
        Ok(Self {
            plan: Plan::new(args, global, &gathered, world, &screen)?,
            purutos: purutos.map_err(DevFault::Workers)?,
            config,
            environment: &world.environment,
            voice: Voice::new(&screen, "dev", Colour::Faint),
            screen,
            begun: Instant::now(),
        })
    }

    /// Once every process serves: leads others here, and tells what can be done.
    async fn welcome(&self, addresses: Addresses) -> Result<EnvFile, DevFault> {
        if !member::ready(&addresses.telemetry).await {
            self.say("not every process serves yet; the log says why");
        }
        let file = env_file(&addresses, &self.plan)?;
        let after = self.begun.elapsed();
        for line in hints::of(&addresses, &self.purutos, self.environment, after) {
            self.say(&line);
        }
        if let Some(address) = self.dashboard(&addresses) {
            self.say(&format!("the dashboard, in a browser: {address}"));
        }
        Ok(file)
    }

    /// Where a browser gets in.
    fn dashboard(&self, addresses: &Addresses) -> Option<String> {
        let listen = addresses.gateway?.address().to_string();
        let public = public_url(&self.config, &listen);
        self.plan.way_in.address(&public)
    }

    fn say(&self, line: &str) {
        self.voice.say(line);
    }
}

/// Serves until a signal, or until something fails. What leads others here is gone by the end.
async fn serve(
    fleet: &mut Fleet,
    ends: &Ends,
    welcome: impl Future<Output = Result<EnvFile, DevFault>>,
) -> Result<(), DevFault> {
    let welcomed = async {
        let _file = welcome.await?;
        std::future::pending().await
    };
    tokio::select! {
        () = ends.orderly.cancelled() => Ok(()),
        fault = fleet.failed() => Err(fault),
        failed = welcomed => failed,
    }
}

fn env_file(addresses: &Addresses, plan: &Plan) -> Result<EnvFile, DevFault> {
    let workers_dir = plan.workers_dir.display().to_string();
    let variables = [
        ("NATS_URL", addresses.nats.clone()),
        ("REDIS_URL", addresses.redis.clone()),
        ("PURUTO_WORKER__WORKERS_DIR", workers_dir),
    ];
    let mut comments = vec![format!("process {}", std::process::id())];
    comments.extend(addresses.metrics());
    EnvFile::write(Path::new(DEV_ENV), &variables, &comments)
}

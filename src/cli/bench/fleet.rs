//! The servers and workers that are measured.

use std::{fs, io, path::PathBuf};

use super::{BenchArgs, Usage};
use crate::{
    broker::BrokerFault,
    cli::{dev::plan::places, session::World},
    dev::{
        self,
        error::DevError,
        guard::Guard,
        port::PortChoice,
        process::Process,
        redis::Fsync,
        server::{Launch, Server},
        tool::Tool,
    },
};

/// The caller of every invocation, and the folder of its policy.
pub(super) const CALLER: &str = "puruto-bench";
/// Who is asked.
pub(super) const TARGET: &str = "puruto-echo";

const POLICY: &str = r#"{"owner": "puruto-bench", "allowed_targets": ["puruto-echo"]}"#;

/// How long a worker may take to end.
const STOP_WITHIN: std::time::Duration = std::time::Duration::from_secs(10);

/// What kept the measurement from ending.
#[derive(Debug, thiserror::Error)]
pub enum BenchFault {
    /// The system refused something.
    #[error("the system refused: {0}")]
    Io(#[from] io::Error),
    /// A local server could not be had.
    #[error(transparent)]
    Dev(#[from] DevError),
    /// The broker did not do its part.
    #[error(transparent)]
    Broker(#[from] BrokerFault),
    /// The workers do not answer.
    #[error("no result within {0:?}; the workers' logs are above")]
    NoResult(std::time::Duration),
    /// An invocation got an error.
    #[error("an invocation ended with status error: {0}")]
    ErrorResult(String),
}

/// Fresh servers, fresh workers, in a folder that goes away.
pub(super) struct BenchFleet {
    pub(super) nats: Server,
    redis: Server,
    workers: Vec<Process>,
    folder: PathBuf,
}

/// What each part has used.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartUsage {
    pub(super) client: Usage,
    pub(super) workers: Usage,
    pub(super) nats: Usage,
    pub(super) redis: Usage,
}

impl BenchFleet {
    pub(super) async fn start(args: &BenchArgs, world: &World) -> Result<Self, BenchFault> {
        let chance = &world.chance;
        let puruto = std::env::current_exe()?;
        let folder = std::env::temp_dir().join(format!("puruto-bench-{:016x}", chance.bits128()));
        fs::create_dir_all(&folder)?;
        write_workers(&folder.join("workers"), args)?;
        let places = places(&world.environment);
        let output = &world.output;
        let say = |line: &str| output.error(line);
        let guard = Guard::new(&puruto);
        let launch = |tool, program| Launch {
            tool,
            program,
            data: folder.join(format!("{tool:?}")),
            settings: None,
            fsync: Fsync::EverySecond,
            port: PortChoice::Free,
            guard: guard.clone(),
        };
        let nats = dev::obtain(Tool::Nats, &places, &say).await?.program;
        let redis = dev::obtain(Tool::Redis, &places, &say).await?.program;
        let nats = Server::start(launch(Tool::Nats, nats), chance).await?;
        let redis = Server::start(launch(Tool::Redis, redis), chance).await?;
        let mut fleet = Self {
            nats,
            redis,
            workers: Vec::new(),
            folder,
        };
        for _ in 0..args.workers.get() {
            let worker = fleet.worker(&guard, &puruto);
            fleet.workers.push(Process::spawn(worker).await?);
        }
        Ok(fleet)
    }

    fn worker(&self, guard: &Guard, puruto: &std::path::Path) -> std::process::Command {
        let mut command = guard.command(puruto);
        command
            .arg("worker")
            .arg("--workers-dir")
            .arg(self.folder.join("workers"))
            .current_dir(&self.folder)
            .env("NATS_URL", self.nats.url())
            .env("REDIS_URL", self.redis.url())
            .env("PURUTO_WORKER__TELEMETRY", "off")
            .env("PURUTO_LOG__FILTER", "warn");
        command
    }

    /// The workers that run; a worker that died is missing.
    pub(super) fn worker_pids(&self) -> Vec<Option<u32>> {
        self.workers.iter().map(Process::pid).collect()
    }

    pub(super) fn usage(&self) -> Result<PartUsage, BenchFault> {
        let of = |pid: Option<u32>| pid.map_or_else(|| Ok(Usage::default()), Usage::of);
        let workers: Result<Vec<_>, _> = self.workers.iter().map(|it| of(it.pid())).collect();
        Ok(PartUsage {
            client: Usage::of(std::process::id())?,
            workers: Usage::sum(workers?),
            nats: of(self.nats.pid())?,
            redis: of(self.redis.pid())?,
        })
    }

    /// Ends everything; whatever does not end in time is killed when it is dropped.
    pub(super) async fn stop(&mut self) {
        for worker in &mut self.workers {
            drop(worker.stop(STOP_WITHIN).await);
        }
    }
}

impl Drop for BenchFleet {
    fn drop(&mut self) {
        // The folder is in the system's temporary one: what cannot be removed goes with that.
        drop(fs::remove_dir_all(&self.folder));
    }
}

fn write_workers(workers: &std::path::Path, args: &BenchArgs) -> io::Result<()> {
    let (caller, target) = (workers.join(CALLER), workers.join(TARGET));
    fs::create_dir_all(&caller)?;
    fs::create_dir_all(&target)?;
    fs::write(caller.join(".puruto-ipc.json"), POLICY)?;
    let concurrency = args.concurrency.unwrap_or(args.in_flight);
    let latency = humantime::format_duration(args.latency);
    let toml = format!(
        "concurrency = {concurrency}\n[model]\nprovider = \"simulated\"\nanswer = \"done\"\nlatency = \"{latency}\"\n"
    );
    fs::write(target.join("worker.toml"), toml)
}

//! The servers and the gateway that are asked, fresh, in a folder that goes away.

use std::{env, fs, path::Path, process::Command, time::Duration};

use puruto_fleet::{
    clock::Chance,
    dev::{
        find::Places,
        guard::Guard,
        pair::{Pair, PairLaunch},
        port::{Port, PortChoice},
        process::Process,
        redis::Fsync,
        tool::Tool,
    },
};
use tempfile::TempDir;
use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};

use super::{
    Outcome,
    usage::{FleetUsage, Usage},
};

/// The skill that is asked for: to be answered later than any part of the benchmark takes.
pub(super) const SKILL: &str = "com.example.bench-v1";
const DESCRIPTOR: &str = r#"{
  "protocol": "skill-sharing/1.0",
  "id": "com.example.bench-v1",
  "name": "Bench",
  "version": "1.0.0",
  "capability_type": "text",
  "description": "Repeats a text.",
  "provider": {"name": "Puruto Fleet"},
  "inputs": {
    "type": "object",
    "properties": {"text": {"type": "string", "maxLength": 2000}},
    "required": ["text"],
    "additionalProperties": false
  },
  "output": {"type": "object"},
  "auth": {"type": "none"},
  "access": {"visibility": "public"},
  "puruto": {
    "target": "puruto-echo",
    "action": "echo",
    "prompt": "{{ inputs.text }}",
    "timeout_sec": 600
  }
}"#;

/// What one has to know to see the dashboard.
pub(super) const DASHBOARD_TOKEN: &str = "the-token-of-this-benchmark";

/// The folder of its descriptor.
const SKILLS: &str = "skills";

const PURUTO: &str = env!("CARGO_BIN_EXE_puruto");
/// How long a process may take to be there.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How long one may take to end.
const STOP_WITHIN: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Fleet {
    gateway: Process,
    address: String,
    servers: Pair,
    // Last: whoever uses it is gone before.
    _folder: TempDir,
}

impl Fleet {
    pub(super) async fn start() -> Outcome<Self> {
        let folder = TempDir::new()?;
        let skills = folder.path().join(SKILLS);
        fs::create_dir(&skills)?;
        fs::write(skills.join("bench.json"), DESCRIPTOR)?;
        let (chance, guard) = (Chance::system(), Guard::new(PURUTO));
        let launch = PairLaunch {
            data: folder.path().join("data"),
            nats_port: PortChoice::Free,
            redis_port: PortChoice::Free,
            fsync: Fsync::EverySecond,
            guard: guard.clone(),
        };
        let quiet = |_: &str| {};
        let servers = Pair::start(&launch, &places(), &chance, &quiet).await?;
        let program = |verb: &str| {
            let mut command = guard.command(Path::new(PURUTO));
            configure(command.arg(verb), folder.path(), &servers);
            command
        };
        streams_are_made(program("worker"), &chance).await?;
        let address = Port::free(&chance)?.address().to_string();
        let mut gateway = program("gateway");
        gateway.env("PURUTO_GATEWAY__LISTEN", &address);
        let gateway = Process::spawn(gateway).await?;
        timeout(READY_WITHIN, reached(&address)).await?;
        Ok(Self {
            gateway,
            address,
            servers,
            _folder: folder,
        })
    }

    /// Where the gateway listens: `address:port`.
    pub(super) fn gateway(&self) -> &str {
        &self.address
    }

    pub(super) fn nats(&self) -> String {
        self.servers.nats.url()
    }

    pub(super) fn usage(&self) -> Outcome<FleetUsage> {
        let of = |pid: Option<u32>| Usage::of(pid.ok_or("a process has ended")?);
        Ok(FleetUsage {
            gateway: of(self.gateway.pid())?,
            nats: of(self.servers.nats.pid())?,
            redis: of(self.servers.redis.pid())?,
        })
    }
}

/// A worker makes the streams when it starts. It goes again: nothing is to be answered.
async fn streams_are_made(mut worker: Command, chance: &Chance) -> Outcome<()> {
    let telemetry = Port::free(chance)?;
    worker.env("PURUTO_WORKER__TELEMETRY", telemetry.address().to_string());
    let mut worker = Process::spawn(worker).await?;
    let ready = async {
        while !puruto_fleet::dev::member::ready(&[telemetry]).await {
            sleep(LOOK_EVERY).await;
        }
    };
    timeout(READY_WITHIN, ready).await?;
    worker.stop(STOP_WITHIN).await?;
    Ok(())
}

fn configure(command: &mut Command, folder: &Path, servers: &Pair) {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
    command
        .current_dir(folder)
        .env("NATS_URL", servers.nats.url())
        .env("REDIS_URL", servers.redis.url())
        .env("PURUTO_WORKER__WORKERS_DIR", ours.join("workers"))
        .env("PURUTO_WORKER__TARGETS", "puruto-echo")
        .env("PURUTO_GATEWAY__SKILLS_DIR", SKILLS)
        .env("PURUTO_GATEWAY__TELEMETRY", "off")
        .env("PURUTO_GATEWAY__DASHBOARD_TOKEN", DASHBOARD_TOKEN)
        // All requests come from one address.
        .env("PURUTO_GATEWAY__RATE", "1000000000")
        .env("PURUTO_LOG__FILTER", "warn");
}

async fn reached(address: &str) {
    while TcpStream::connect(address).await.is_err() {
        sleep(LOOK_EVERY).await;
    }
}

/// As the tests find them.
fn places() -> Places {
    let named = |tool: Tool| env::var_os(tool.variable()).map(Into::into);
    Places {
        nats_server: named(Tool::Nats),
        redis_server: named(Tool::Redis),
        search_path: env::var_os("PATH").unwrap_or_default(),
        tool_folder: Path::new(env!("CARGO_MANIFEST_DIR")).join(Places::TOOL_FOLDER),
    }
}

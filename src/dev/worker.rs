//! One process of a fleet on local servers, a worker or a gateway: started, asked, stopped, killed.
//!
//! Owns the process and how it is told where its servers are: by its environment, which outweighs
//! every file. What the worker does is its own business.

use std::{
    ffi::OsString,
    fs::File,
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    process::{ChildStderr, ChildStdout},
    time::{sleep, timeout},
};

use super::{guard::Guard, pair::Pair, port::Port, probe, process::Process};

/// How long workers may take from their start until they serve.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How often they are asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// What a process is to the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It works on requests.
    Worker,
    /// It serves whoever speaks HTTP.
    Gateway {
        /// Where.
        listen: Port,
    },
}

impl Role {
    const fn verb(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Gateway { .. } => "gateway",
        }
    }

    /// What tells the process where it serves.
    fn places(self, telemetry: Port) -> Vec<(&'static str, String)> {
        let telemetry = telemetry.address().to_string();
        match self {
            Self::Worker => vec![("PURUTO_WORKER__TELEMETRY", telemetry)],
            Self::Gateway { listen } => vec![
                ("PURUTO_GATEWAY__TELEMETRY", telemetry),
                ("PURUTO_GATEWAY__LISTEN", listen.address().to_string()),
            ],
        }
    }
}

/// What a worker process is started with.
#[derive(Clone, Debug)]
pub struct WorkerLaunch {
    /// What it is to the fleet.
    pub role: Role,
    /// What it is called in logs, headers and connection names; unique among its fleet.
    pub name: String,
    /// The folder of the fleet's Purutos.
    pub workers_dir: PathBuf,
    /// The folder that it runs in; ours when there is none.
    pub folder: Option<PathBuf>,
    /// Where it serves `/metrics` and `/readyz`.
    pub telemetry: Port,
    /// More of its command line.
    pub arguments: Vec<OsString>,
    /// Variables that it gets.
    pub set: Vec<(String, String)>,
    /// Variables of ours that it does not get.
    pub unset: Vec<String>,
    /// Where it writes.
    pub output: WorkerOutput,
    /// Lets it not outlive us.
    pub guard: Guard,
}

/// Where a worker process writes what it logs.
#[derive(Clone, Debug)]
pub enum WorkerOutput {
    /// Into pipes, which somebody has to read: [`WorkerProcess::take_output`].
    Piped,
    /// To the end of this file.
    File(PathBuf),
}

impl WorkerOutput {
    fn open(&self) -> io::Result<(Stdio, Stdio)> {
        match self {
            Self::Piped => Ok((Stdio::piped(), Stdio::piped())),
            Self::File(path) => {
                let file = File::options().create(true).append(true).open(path)?;
                Ok((file.try_clone()?.into(), file.into()))
            }
        }
    }
}

/// The variables that lead a process to `servers`, whatever else is configured.
#[must_use]
pub fn variables_of(servers: &Pair) -> Vec<(String, String)> {
    vec![
        ("PURUTO_NATS__URL".to_owned(), servers.nats.url()),
        ("PURUTO_REDIS__URL".to_owned(), servers.redis.url()),
    ]
}

/// A worker process; dropping it kills it.
#[derive(Debug)]
pub struct WorkerProcess {
    process: Process,
    telemetry: Port,
}

impl WorkerProcess {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// When the process cannot be started, or its output has nowhere to go.
    pub async fn start(launch: &WorkerLaunch) -> io::Result<Self> {
        let (output, errors) = launch.output.open()?;
        let mut command = launch.guard.verb(launch.role.verb());
        command.arg("--workers-dir").arg(&launch.workers_dir);
        command.args(&launch.arguments);
        for name in &launch.unset {
            command.env_remove(name);
        }
        command
            .envs(launch.set.iter().map(|(name, value)| (name, value)))
            .env("PURUTO_WORKER__ID", &launch.name)
            .envs(launch.role.places(launch.telemetry))
            .current_dir(launch.folder.as_deref().unwrap_or_else(|| Path::new(".")))
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        Ok(Self {
            process: Process::spawn(command).await?,
            telemetry: launch.telemetry,
        })
    }

    /// What it prints; `None` for what somebody took before.
    pub fn take_output(&mut self) -> (Option<ChildStdout>, Option<ChildStderr>) {
        let (_, output, errors) = self.process.take_pipes();
        (output, errors)
    }

    /// Its process id; `None` once it has ended.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// What it shows of itself, in the text format of Prometheus.
    ///
    /// # Errors
    ///
    /// When it does not answer in time.
    pub async fn metrics(&self) -> io::Result<String> {
        probe::get(self.telemetry, "/metrics").await
    }

    /// Stops it from running, with its connections open.
    ///
    /// # Errors
    ///
    /// When it cannot be signalled.
    pub fn pause(&self) -> io::Result<()> {
        self.process.pause()
    }

    /// Lets it run again.
    ///
    /// # Errors
    ///
    /// When it cannot be signalled.
    pub fn resume(&self) -> io::Result<()> {
        self.process.resume()
    }

    /// Waits, without a bound of its own, until it has ended.
    ///
    /// # Errors
    ///
    /// When the system cannot tell.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait().await
    }

    /// Lets it drain, and kills it when it has not ended `within` that time.
    ///
    /// # Errors
    ///
    /// When it cannot be signalled or waited for.
    pub async fn stop(&mut self, within: Duration) -> io::Result<ExitStatus> {
        self.process.stop(within).await
    }

    /// Ends it at once, as a crash would.
    ///
    /// # Errors
    ///
    /// When it cannot be signalled or waited for.
    pub async fn kill(&mut self) -> io::Result<ExitStatus> {
        self.process.kill().await
    }
}

/// Waits until the worker processes with these ports serve: each has its servers and its session.
/// False when one still does not after a while.
pub async fn ready(telemetry: &[Port]) -> bool {
    let all = async {
        for port in telemetry {
            while probe::get(*port, "/readyz").await.is_err() {
                sleep(ASK_EVERY).await;
            }
        }
    };
    timeout(READY_WITHIN, all).await.is_ok()
}

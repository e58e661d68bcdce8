//! One process of a fleet on local servers: started, asked, stopped, killed.
//!
//! Owns the process. What it does in its role is its own business.

use std::{
    io,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    process::{ChildStderr, ChildStdout},
    time::{sleep, timeout},
};

use super::{launch::Launch, port::Port, probe, process::Process};

/// How long members may take from their start until they serve.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How often they are asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// A process of the fleet, whatever its role; dropping it kills it.
#[derive(Debug)]
pub struct Member {
    process: Process,
    telemetry: Port,
}

impl Member {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// When the process cannot be started, or its output has nowhere to go.
    pub async fn start(launch: &Launch) -> io::Result<Self> {
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

/// Waits until the members with these ports serve: each has its servers and its session.
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

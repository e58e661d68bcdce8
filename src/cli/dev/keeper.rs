//! Keeps one process of the fleet running: starts it, shows its log, starts it again when it dies.

use std::{io, process::ExitStatus, time::Duration};

use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    relay::relay,
    restarts::{Restart, Restarts},
    screen::Voice,
};
use crate::{
    clock::Chance,
    dev::{
        error::DevError,
        say::Say as _,
        worker::{Role, WorkerLaunch, WorkerProcess},
    },
};

/// How long the last of a dead worker's log may take: what it started may hold its pipes open.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// Why a worker is not kept running any more.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum KeeperFault {
    /// It died too often.
    #[error("{name} died {deaths} times in a row, at last with {status}: its log says why")]
    KeepsDying {
        /// Which worker.
        name: String,
        /// How often.
        deaths: u32,
        /// How it ended the last time.
        status: ExitStatus,
    },
    /// Its process could not be started, waited for or signalled.
    #[error("{name} could not be handled as a process: {source}")]
    Process {
        /// Which worker.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// There is no port for its endpoints.
    #[error(transparent)]
    Port(#[from] DevError),
}

/// What keeps one worker running.
pub(super) struct Keeper {
    pub(super) launch: WorkerLaunch,
    pub(super) voice: Voice,
    pub(super) chance: Chance,
    /// Ends the keeping, and with it the worker.
    pub(super) stop: CancellationToken,
    /// How long the worker may take to drain.
    pub(super) stop_within: Duration,
}

impl Keeper {
    /// Keeps the worker running until told to stop, then lets it drain.
    ///
    /// # Errors
    ///
    /// The worker cannot be kept running.
    pub(super) async fn keep(mut self) -> Result<(), KeeperFault> {
        let mut restarts = Restarts::default();
        loop {
            let begun = Instant::now();
            let Some(status) = self.run_once().await? else {
                return Ok(());
            };
            let delay = match restarts.next(begun.elapsed(), &self.chance) {
                Restart::After(delay) => delay,
                Restart::Never { deaths } => {
                    let name = self.launch.name;
                    return Err(KeeperFault::KeepsDying {
                        name,
                        deaths,
                        status,
                    });
                }
            };
            self.voice
                .say(&format!("ended with {status}; again in {delay:.0?}"));
            let waited = self.stop.run_until_cancelled(sleep(delay)).await;
            if waited.is_none() {
                return Ok(());
            }
            // Somebody else may have taken the port meanwhile.
            self.launch.telemetry = self.launch.telemetry.or_free(&self.chance)?;
            if let Role::Gateway { listen } = &mut self.launch.role {
                *listen = listen.or_free(&self.chance)?;
            }
        }
    }

    /// How the worker died; `None` when it was told to stop.
    async fn run_once(&self) -> Result<Option<ExitStatus>, KeeperFault> {
        let name = &self.launch.name;
        let failed = |source| KeeperFault::Process {
            name: name.clone(),
            source,
        };
        let mut worker = WorkerProcess::start(&self.launch).await.map_err(failed)?;
        let mut logs = self.show(&mut worker);
        let died = self.stop.run_until_cancelled(worker.wait()).await;
        let status = match died {
            Some(status) => Some(status.map_err(failed)?),
            None => {
                worker.stop(self.stop_within).await.map_err(failed)?;
                None
            }
        };
        let last_words = async { while logs.join_next().await.is_some() {} };
        // Past the bound the rest is not shown.
        drop(timeout(LAST_WORDS_WITHIN, last_words).await);
        Ok(status)
    }

    fn show(&self, worker: &mut WorkerProcess) -> JoinSet<()> {
        let mut logs = JoinSet::new();
        let (output, errors) = worker.take_output();
        if let Some(output) = output {
            let voice = self.voice.clone();
            logs.spawn(async move { relay(output, &voice).await });
        }
        if let Some(errors) = errors {
            let voice = self.voice.clone();
            logs.spawn(async move { relay(errors, &voice).await });
        }
        logs
    }
}

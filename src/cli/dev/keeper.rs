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
        launch::{Launch, Role},
        member::Member,
        say::Say as _,
    },
};

/// How long the last of a dead member's log may take: what it started may hold its pipes open.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// Why a member is not kept running any more.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum KeeperFault {
    /// It died too often.
    #[error("{name} died {deaths} times in a row, at last with {status}: its log says why")]
    KeepsDying {
        /// Which member.
        name: String,
        /// How often.
        deaths: u32,
        /// How it ended the last time.
        status: ExitStatus,
    },
    /// Its process could not be started, waited for or signalled.
    #[error("{name} could not be handled as a process: {source}")]
    Process {
        /// Which member.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// There is no port for its endpoints.
    #[error(transparent)]
    Port(#[from] DevError),
}

/// What keeps one member of the fleet running.
pub(super) struct Keeper {
    pub(super) launch: Launch,
    pub(super) voice: Voice,
    pub(super) chance: Chance,
    /// Ends the keeping, and with it the member.
    pub(super) stop: CancellationToken,
    /// How long the member may take to drain.
    pub(super) stop_within: Duration,
}

impl Keeper {
    /// Keeps the member running until told to stop, then lets it drain.
    ///
    /// # Errors
    ///
    /// The member cannot be kept running.
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

    /// How the member died; `None` when it was told to stop.
    async fn run_once(&self) -> Result<Option<ExitStatus>, KeeperFault> {
        let name = &self.launch.name;
        let failed = |source| KeeperFault::Process {
            name: name.clone(),
            source,
        };
        let mut member = Member::start(&self.launch).await.map_err(failed)?;
        let mut logs = self.show(&mut member);
        let died = self.stop.run_until_cancelled(member.wait()).await;
        let status = match died {
            Some(status) => Some(status.map_err(failed)?),
            None => {
                member.stop(self.stop_within).await.map_err(failed)?;
                None
            }
        };
        let last_words = async { while logs.join_next().await.is_some() {} };
        // Past the bound the rest is not shown.
        drop(timeout(LAST_WORDS_WITHIN, last_words).await);
        Ok(status)
    }

    fn show(&self, member: &mut Member) -> JoinSet<()> {
        let mut logs = JoinSet::new();
        let (output, errors) = member.take_output();
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

//! Supervisor: finds dead sessions and gives their messages back, so that others run them at once.
//!
//! Every worker runs one; a lease in the store lets one of them act. Whatever it does can be done
//! again by the next: it keeps nothing that is not in the store. Its cost grows with the sessions,
//! not with the requests in flight. Never: a decision about a request; a claim takes it over.

mod attend;
mod evict;
mod lanes;
mod lease;
mod unserved;
mod verdict;

#[cfg(test)]
mod tests;

use std::{collections::HashSet, time::Duration};

use futures_util::future::join_all;
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};

pub use self::{attend::attend, lanes::LaneCare, lease::Leading, unserved::Unserved};
use self::{
    lease::Lead,
    verdict::{Seen, Verdict, verdict},
};
use crate::{
    broker::{Lanes, Pong, Presence, Stored, WalkBroker},
    clock::Chance,
    pipeline::SessionWatch,
    store::{Registered, SessionId, StoreFault, Supervision, WalkStore},
    telemetry::{labels::EvictionReason, metrics::Metrics},
};

/// Between two looks at the sessions, and the bound of a ping.
const PING_EVERY: Duration = Duration::from_millis(200);

/// A worker that may come to supervise the others.
#[derive(Debug)]
pub struct Supervisor<B, S> {
    /// Pings, and gives back.
    pub broker: B,
    /// Knows the sessions.
    pub store: S,
    /// This worker's own session; it leads under its name.
    pub sessions: SessionWatch,
    /// Looks after the consumers.
    pub lanes: LaneCare<B>,
    /// Ends what nobody pulls.
    pub unserved: Unserved<B, S>,
    /// Says so while it leads.
    pub leading: Leading,
    /// Jitter.
    pub chance: Chance,
    /// What is counted.
    pub metrics: Metrics,
}

impl<B, S> Supervisor<B, S>
where
    B: WalkBroker + Presence + Stored + Lanes,
    S: Supervision + WalkStore,
{
    /// Stands for the lead, and supervises while it has it. Never ends by itself.
    pub async fn run(self) {
        let (leads, led) = watch::channel(None);
        tokio::join!(
            self.stand(leads),
            self.supervise(led.clone()),
            self.lanes.attend(led.clone()),
            self.unserved.attend(led.clone()),
            self.unserved.attend_waits(led),
        );
    }

    async fn supervise(&self, led: watch::Receiver<Option<Lead>>) {
        let mut ticks = interval(PING_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut suspects = HashSet::new();
        loop {
            ticks.tick().await;
            let lead = led.borrow().clone().filter(Lead::holds);
            self.metrics.set_supervisor(lead.is_some());
            self.leading.set(lead.is_some());
            let Some(lead) = lead else {
                suspects.clear();
                continue;
            };
            if let Err(fault) = self.look(&lead.session, &mut suspects).await {
                self.metrics.store_faulted(&fault);
                tracing::warn!(%fault, "the sessions cannot be supervised");
            }
        }
    }

    /// Looks at every session but our own, once; whom it suspects is looked at again.
    async fn look(
        &self,
        own: &SessionId,
        suspects: &mut HashSet<SessionId>,
    ) -> Result<(), StoreFault> {
        let mut roster = self.store.roster().await?;
        roster.retain(|it| it.session != *own);
        let seen = join_all(roster.iter().map(|it| self.see(it, suspects))).await;
        suspects.clear();
        for (Registered { session, .. }, seen) in roster.into_iter().zip(seen) {
            match verdict(&seen) {
                Verdict::Alive => {}
                Verdict::Suspect => drop(suspects.insert(session)),
                Verdict::Dead(reason) => self.bury(&session, reason).await?,
            }
        }
        Ok(())
    }

    async fn see(&self, registered: &Registered, suspects: &HashSet<SessionId>) -> Seen {
        let session = &registered.session;
        let pong = match registered.lives {
            true => self.broker.ping(session, PING_EVERY).await,
            false => Pong::Silent,
        };
        Seen {
            lives: registered.lives,
            answers_pings: registered.answers_pings,
            pong,
            stable_for: self.broker.stable_for(),
            suspected: suspects.contains(session),
        }
    }

    async fn bury(&self, dead: &SessionId, reason: EvictionReason) -> Result<(), StoreFault> {
        let given_back = self.evict(dead).await?;
        self.metrics.session_evicted(reason);
        tracing::warn!(session = %dead, ?reason, given_back, "session evicted: its worker is dead");
        Ok(())
    }
}

//! The lead: a lease in the store, taken and kept under the name of the worker's session.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::Supervisor;
use crate::{
    pipeline::Session,
    store::{SessionId, Supervision},
};

/// How long a lead lasts; a leader that was killed is missed for so long.
pub(super) const LEASE: Duration = Duration::from_millis(1_500);

/// How often the leader renews it and the others ask for it.
const STAND_EVERY: Duration = Duration::from_millis(500);

const _: () = assert!(STAND_EVERY.as_millis() * 2 < LEASE.as_millis());

/// A lead, from the moment at which it was asked for.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    /// Under whose name.
    pub(super) session: SessionId,
    until: Instant,
}

impl Lead {
    /// Whether nobody else can lead yet.
    pub(super) fn holds(&self) -> bool {
        Instant::now() < self.until
    }
}

impl<B, S: Supervision> Supervisor<B, S> {
    /// Asks for the lead again and again, and says in `leads` what came of it.
    pub(super) async fn stand(&self, leads: watch::Sender<Option<Lead>>) {
        loop {
            match self.sessions.current() {
                Some(session) => self.ask(&session, &leads).await,
                None => drop(leads.send_replace(None)),
            }
            sleep(self.chance.around(STAND_EVERY, 0.1)).await;
        }
    }

    async fn ask(&self, session: &Arc<Session>, leads: &watch::Sender<Option<Lead>>) {
        let sent = Instant::now();
        match self.store.lead(&session.id, LEASE).await {
            Ok(leading) => {
                let lead = leading.then(|| Lead {
                    session: session.id.clone(),
                    until: sent + LEASE,
                });
                let before = leads.send_replace(lead);
                if leading && before.is_none() {
                    tracing::info!(session = %session.id, "supervising the fleet");
                }
            }
            // A lead that is not renewed ends by itself.
            Err(fault) => {
                self.metrics.store_faulted(&fault);
                tracing::debug!(%fault, "the lead could not be asked for");
            }
        }
    }
}

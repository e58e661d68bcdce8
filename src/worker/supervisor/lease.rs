//! The lead: a lease in the store, taken and kept under the name of the worker's session.
//!
//! Never by a worker that does not hear itself through the broker: cut off from it, it could not
//! tell who is dead, nor give anything back, and would keep those from it who can.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::Supervisor;
use crate::{
    broker::{Pong, Presence},
    pipeline::Session,
    store::{SessionId, Supervision},
};

/// How long a lead lasts; a leader that was killed is missed for so long.
pub(super) const LEASE: Duration = Duration::from_millis(1_500);

/// How often the leader renews it and the others ask for it.
const STAND_EVERY: Duration = Duration::from_millis(500);

/// How long a worker's own answer may take on its way to the broker and back.
const OWN_PING_BOUND: Duration = Duration::from_millis(200);

// One ping may get lost, and the lead goes on.
const _: () =
    assert!((STAND_EVERY.as_millis() + OWN_PING_BOUND.as_millis()) * 2 < LEASE.as_millis());

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

/// Whether this process leads, for whoever stands beside the supervisor. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Leading(Arc<AtomicBool>);

impl Leading {
    /// Whether it did when it last asked.
    #[must_use]
    pub fn now(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, leads: bool) {
        self.0.store(leads, Ordering::Relaxed);
    }
}

impl<B: Presence, S: Supervision> Supervisor<B, S> {
    /// Asks for the lead again and again, and says in `leads` what came of it.
    pub(super) async fn stand(&self, leads: watch::Sender<Option<Lead>>) {
        loop {
            match self.sessions.current() {
                Some(session) if self.hears_itself(&session).await => {
                    self.ask(&session, &leads).await;
                }
                // A lead that is not renewed ends by itself.
                Some(_) => {}
                None => drop(leads.send_replace(None)),
            }
            sleep(self.chance.around(STAND_EVERY, 0.1)).await;
        }
    }

    async fn hears_itself(&self, session: &Session) -> bool {
        self.broker.ping(&session.id, OWN_PING_BOUND).await == Pong::Answered
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

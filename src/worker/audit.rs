//! Audit: claims of the worker's own session that nobody here works on are given back.
//!
//! A claim whose answer did not come in time is given back at once, but a store that had stalled
//! may carry it out later still. Its session lives, so nobody would take it over. Never: a word
//! about a claim that was made since the last look.

use std::{collections::HashSet, time::Duration};

use tokio::time::sleep;

use crate::{
    pipeline::{InFlight, SessionWatch},
    store::{Carried, Claims, Nonce, RequestKey, StoreFault, Supervision},
    telemetry::metrics::Metrics,
};

/// Between two looks at what the session holds.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// What is compared.
#[derive(Debug)]
pub struct Audit<S> {
    /// Knows what the session holds.
    pub store: S,
    /// The deliveries that are being walked with.
    pub in_flight: InFlight,
    /// The session of this moment.
    pub sessions: SessionWatch,
    /// What is counted.
    pub metrics: Metrics,
}

impl<S: Claims + Supervision> Audit<S> {
    /// Gives back, again and again, what two looks in a row found to be nobody's. Never ends by
    /// itself.
    pub async fn run(self) {
        let mut suspects = HashSet::new();
        loop {
            sleep(LOOK_EVERY).await;
            suspects = self.look(&suspects).await.unwrap_or_else(|fault| {
                self.metrics.store_faulted(&fault);
                tracing::warn!(%fault, "the session's claims cannot be looked at");
                HashSet::new()
            });
        }
    }

    /// Looks once; the claims on which nobody works.
    async fn look(
        &self,
        suspects: &HashSet<(RequestKey, Nonce)>,
    ) -> Result<HashSet<(RequestKey, Nonce)>, StoreFault> {
        let Some(session) = self.sessions.current() else {
            return Ok(HashSet::new());
        };
        let mut held = self.store.held(&session.id).await?;
        held.retain(|(key, _)| !self.in_flight.has(key));
        for (key, nonce) in held.iter().filter(|it| suspects.contains(it)) {
            self.store.release(key, *nonce, &Carried::default()).await?;
            self.metrics.claim_found();
            tracing::warn!(target = %key.target, "a claim that nobody worked on was given back");
        }
        Ok(held.into_iter().collect())
    }
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;

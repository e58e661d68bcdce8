//! What this worker shares of the model servers that it calls, over the fleet's store.
//!
//! Owns when the store is asked and what is made of its silence. Never: a fault or a long wait for
//! a call; where the store cannot be asked, the worker goes by what it knows itself.

mod solitude;
#[cfg(test)]
mod tests;
mod views;

use std::{fmt, future::Future, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

use self::{
    solitude::{ALONE_FOR, Solitude},
    views::Views,
};
use crate::{
    circuit::{Admission, Ask, CircuitName, Ended, Outcome, Spent},
    runtime::fleet::{Alone, Fleet},
    store::{Circuits, StoreFault},
    telemetry::metrics::Metrics,
};

/// How long one word from the store is waited for: a call waits as long at most.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);
/// Ends of attempts that wait to be told; those beyond are not.
const REPORTS_MAX: usize = 4_096;

/// The circuits of the fleet, as this worker sees them.
pub struct FleetCircuits<S> {
    shared: Arc<Shared<S>>,
    alone: Alone,
    reports: mpsc::Sender<(CircuitName, Outcome)>,
}

impl<S> fmt::Debug for FleetCircuits<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FleetCircuits")
    }
}

struct Shared<S> {
    store: S,
    views: Views,
    solitude: Solitude,
}

impl<S: Circuits> FleetCircuits<S> {
    /// Circuits in `store`, and what has to run so that ends of attempts are told there; that ends
    /// with the circuits.
    pub fn new(store: S, metrics: Metrics) -> (Self, impl Future<Output = ()> + Send + use<S>) {
        let shared = Arc::new(Shared {
            store,
            views: Views::default(),
            solitude: Solitude::new(metrics),
        });
        let (reports, told) = mpsc::channel(REPORTS_MAX);
        let telling = Arc::clone(&shared).tell_all(told);
        let circuits = Self {
            shared,
            alone: Alone::default(),
            reports,
        };
        (circuits, telling)
    }

    async fn asked(&self, circuit: &CircuitName, ask: &Ask) -> Admission {
        let shared = &*self.shared;
        if let Some(known) = shared.views.known(circuit, ask, Instant::now()) {
            return known;
        }
        if !shared.solitude.may_ask() {
            return self.alone.take(circuit, ask);
        }
        let mut doubt = Doubt {
            reports: &self.reports,
            unsent: Some((circuit, ask)),
        };
        let answer = shared
            .heard(circuit, shared.store.admit(circuit, ask))
            .await;
        if answer.is_some() {
            doubt.unsent = None;
        }
        drop(doubt);
        answer.unwrap_or_else(|| self.alone.take(circuit, ask))
    }
}

impl<S: Circuits> Fleet for FleetCircuits<S> {
    fn admit<'a>(&'a self, circuit: &'a CircuitName, ask: &'a Ask) -> BoxFuture<'a, Admission> {
        Box::pin(self.asked(circuit, ask))
    }

    fn report(&self, circuit: &CircuitName, outcome: Outcome) {
        self.alone.settle(circuit, &outcome);
        // What the fleet did not let through tells it nothing but the server's wish.
        if outcome.generation.is_some() || outcome.retry_after.is_some() {
            tell(&self.reports, circuit, outcome);
        }
    }
}

impl<S: Circuits> Shared<S> {
    /// One at a time: an attempt is told before the next one that the same caller makes.
    async fn tell_all(self: Arc<Self>, mut told: mpsc::Receiver<(CircuitName, Outcome)>) {
        while let Some((circuit, outcome)) = told.recv().await {
            if !self.solitude.may_ask() {
                if outcome.spent != Spent::Unsent {
                    continue;
                }
                // Leave that nobody uses keeps others from theirs: that is worth another try.
                sleep(ALONE_FOR).await;
            }
            let telling = self.store.report(&circuit, &outcome);
            let _noted = self.heard(&circuit, telling).await;
        }
    }

    /// The store's word, if it has one in time.
    async fn heard(
        &self,
        circuit: &CircuitName,
        word: impl Future<Output = Result<Admission, StoreFault>>,
    ) -> Option<Admission> {
        match timeout(ANSWER_WITHIN, word).await {
            Ok(Ok(admission)) => {
                self.solitude.heard();
                self.views.note(circuit, admission, Instant::now());
                Some(admission)
            }
            Ok(Err(fault)) => {
                self.solitude.lost(&fault);
                None
            }
            Err(_) => {
                let (operation, after) = ("a circuit", ANSWER_WITHIN);
                self.solitude
                    .lost(&StoreFault::TimedOut { operation, after });
                None
            }
        }
    }
}

/// A question whose answer may be lost: leave that was given to nobody is given back.
struct Doubt<'a> {
    reports: &'a mpsc::Sender<(CircuitName, Outcome)>,
    unsent: Option<(&'a CircuitName, &'a Ask)>,
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        let Some((circuit, ask)) = self.unsent else {
            return;
        };
        let outcome = Outcome {
            pass: ask.pass,
            generation: None,
            rules: ask.rules,
            ended: Ended::Neutral,
            retry_after: None,
            spent: Spent::Unsent,
        };
        tell(self.reports, circuit, outcome);
    }
}

fn tell(reports: &mpsc::Sender<(CircuitName, Outcome)>, circuit: &CircuitName, outcome: Outcome) {
    if reports.try_send((circuit.clone(), outcome)).is_err() {
        tracing::debug!(%circuit, "the fleet is not told of the end of an attempt");
    }
}

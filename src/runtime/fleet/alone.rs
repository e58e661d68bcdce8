//! A process that shares nothing: its own breaker is all there is, its limits are its own.

use std::{
    collections::HashMap,
    future::ready,
    sync::{Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::Fleet;
use crate::circuit::{Admission, Ask, CircuitName, Meter, Outcome};

/// Limits within this process, one meter for each circuit in its configuration.
#[derive(Debug, Default)]
pub struct Alone(Mutex<HashMap<CircuitName, Meter>>);

impl Alone {
    /// Asks for leave; it says nothing of where the circuit stands.
    #[must_use]
    pub fn take(&self, circuit: &CircuitName, ask: &Ask) -> Admission {
        let taken = self.with(circuit, |meter| {
            meter.take(ask.pass, ask.limits, ask.tokens, Instant::now())
        });
        match taken {
            Ok(()) => Admission::Admitted(None),
            Err(throttled) => Admission::Throttled(throttled),
        }
    }

    /// Takes note of what an attempt cost, and of the server's wish.
    pub fn settle(&self, circuit: &CircuitName, outcome: &Outcome) {
        self.with(circuit, |meter| {
            meter.settle(outcome.pass, outcome.spent);
            if let Some(wish) = outcome.retry_after {
                meter.hold(wish, Instant::now());
            }
        });
    }

    fn with<T>(&self, circuit: &CircuitName, step: impl FnOnce(&mut Meter) -> T) -> T {
        // A meter that a panic cut short is off by one call at worst.
        let mut meters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match meters.get_mut(circuit) {
            Some(meter) => step(meter),
            None => step(meters.entry(circuit.clone()).or_default()),
        }
    }
}

impl Fleet for Alone {
    fn admit<'a>(&'a self, circuit: &'a CircuitName, ask: &'a Ask) -> BoxFuture<'a, Admission> {
        Box::pin(ready(self.take(circuit, ask)))
    }

    fn report(&self, circuit: &CircuitName, outcome: Outcome) {
        self.settle(circuit, &outcome);
    }
}

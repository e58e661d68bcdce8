//! What the store said last of each circuit, as long as it is good for.
//!
//! A busy worker asks a few times a second and not before every attempt; one that was told to wait
//! does not ask again before its time. Never: a guess; what is not known is asked.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::circuit::{
    Admission, Ask, BreakerState, CircuitName, Refusal, Standing, Throttle, Throttled,
};

/// How long the word that a circuit is closed is good for: an outage that others found is known
/// here that much later at most.
const CLOSED_FOR: Duration = Duration::from_millis(250);

/// The last word on each circuit. As many as there are models in the configuration.
#[derive(Debug, Default)]
pub(super) struct Views(Mutex<HashMap<CircuitName, View>>);

/// A word and how long it is good for.
#[derive(Clone, Copy, Debug)]
struct View {
    said: Admission,
    until: Instant,
}

impl Views {
    /// Takes note of what the store said.
    pub(super) fn note(&self, circuit: &CircuitName, said: Admission, now: Instant) {
        let good_for = match said {
            Admission::Admitted(Some(Standing {
                state: BreakerState::Closed,
                ..
            })) => CLOSED_FOR,
            // Each probe needs leave of its own.
            Admission::Admitted(_) => Duration::ZERO,
            Admission::Refused(refusal) => refusal.retry_in,
            // Also where it is but one call's turn: of all who wait here one asks for the next, and a
            // large call is not overtaken by small ones for ever.
            Admission::Throttled(throttled) => throttled.wait,
        };
        let until = now + good_for;
        self.with(|views| {
            views.insert(circuit.clone(), View { said, until });
        });
    }

    /// What the store would answer, where that is known.
    pub(super) fn known(
        &self,
        circuit: &CircuitName,
        ask: &Ask,
        now: Instant,
    ) -> Option<Admission> {
        let view = self.with(|views| views.get(circuit).copied())?;
        let left = view.until.saturating_duration_since(now);
        if left.is_zero() {
            return None;
        }
        match view.said {
            // Limits are counted where all workers count.
            Admission::Admitted(_) if !ask.limits.is_none() => None,
            Admission::Admitted(_) => Some(view.said),
            Admission::Refused(refusal) => Some(Admission::Refused(Refusal {
                retry_in: left,
                ..refusal
            })),
            // Nor do they hold back who has none.
            Admission::Throttled(throttled)
                if ask.limits.is_none() && throttled.by != Throttle::RetryAfter =>
            {
                None
            }
            Admission::Throttled(throttled) => Some(Admission::Throttled(Throttled {
                wait: left,
                ..throttled
            })),
        }
    }

    fn with<T>(&self, step: impl FnOnce(&mut HashMap<CircuitName, View>) -> T) -> T {
        let mut views = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        step(&mut views)
    }
}

//! Circuit breaker: spares a model server that fails, and its callers the wait for it.
//!
//! Asked before every attempt. Never: a timer or a task; time passes when somebody asks, so that
//! nothing can wedge it: a ticket that is dropped says nothing, and a probe that never comes back
//! has failed when its lease ends.

mod circuits;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::time::Instant;

pub use self::circuits::Circuits;
use super::{
    Fault,
    observe::{self, Observe},
};
pub use crate::circuit::{BreakerRules, BreakerState, Change, CircuitName, Ended};
use crate::circuit::{CircuitOpen, Machine, Pass, Refusal};

/// One breaker, shared by everybody who calls the same model on the same host of a provider.
#[derive(Clone)]
pub struct Breaker(Arc<Inner>);

struct Inner {
    name: CircuitName,
    machine: Mutex<Machine>,
    observe: Arc<dyn Observe>,
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Breaker({}, {:?})", self.0.name, self.state())
    }
}

impl Breaker {
    /// A closed breaker.
    #[must_use]
    pub fn new(name: CircuitName, rules: BreakerRules, observe: Arc<dyn Observe>) -> Self {
        observe.circuit(&name, BreakerState::Closed);
        Self(Arc::new(Inner {
            name,
            machine: Mutex::new(Machine::new(rules, Instant::now())),
            observe,
        }))
    }

    /// Where it stands; an open one whose time is over says so until it is asked for leave.
    #[must_use]
    pub fn state(&self) -> BreakerState {
        self.with(|machine| (machine.state(), None))
    }

    /// Asks for leave to make one attempt.
    ///
    /// # Errors
    /// [`Fault::CircuitOpen`]: it is open, or half-open with all its probes out.
    pub fn admit(&self) -> Result<Ticket, Fault> {
        let now = Instant::now();
        let admitted = self.with(|machine| machine.admit(now));
        let pass = admitted.map_err(|CircuitOpen { until }| Fault::CircuitOpen {
            circuit: self.0.name.clone(),
            retry_in: until.saturating_duration_since(now),
        })?;
        Ok(Ticket {
            breaker: self.clone(),
            pass,
            ended: Ended::Neutral,
        })
    }

    /// Who knows more of the server lets a call through, in this state.
    pub(super) fn adopt(&self, state: BreakerState) {
        self.with(|machine| ((), machine.adopt(state, Instant::now())));
    }

    /// Who knows more of the server lets no call through.
    pub(super) fn adopt_refusal(&self, refusal: Refusal) {
        self.with(|machine| ((), machine.adopt_refusal(refusal, Instant::now())));
    }

    /// Nobody who knows more can be asked: what was adopted from them is found out anew. Tells
    /// whether anything was.
    pub(super) fn let_go(&self) -> bool {
        self.with(Machine::let_go)
    }

    fn with<T>(&self, step: impl FnOnce(&mut Machine) -> (T, Option<Change>)) -> T {
        // A panic elsewhere leaves a whole machine behind: each step is one assignment at its end.
        let mut machine = self
            .0
            .machine
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (answer, change) = step(&mut machine);
        // Told under the lock: two changes are told in their order.
        if let Some(change) = change {
            observe::circuit_changed(&self.0.name, change);
            self.0.observe.circuit(&self.0.name, machine.state());
        }
        answer
    }
}

/// Leave to make one attempt. Dropped without a word it says nothing about the server: a call that
/// was cancelled is nobody's fault.
#[derive(Debug)]
#[must_use = "an attempt ends as it went"]
pub struct Ticket {
    breaker: Breaker,
    pass: Pass,
    ended: Ended,
}

impl Ticket {
    /// Says how the attempt ended.
    pub fn end(mut self, ended: Ended) {
        self.ended = ended;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let (pass, ended) = (self.pass, self.ended);
        self.breaker
            .with(|machine| ((), machine.ended(pass, ended, Instant::now())));
    }
}

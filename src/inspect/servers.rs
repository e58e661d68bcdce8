//! The model servers that a fleet asks, as far as its workers share what they know of them.

use std::{sync::Arc, time::Duration};

use super::Onlooker;
use crate::{
    circuit::{Admission, BreakerRules, BreakerState, CircuitName, Ended, Outcome, PassId, Spent},
    clock::{Chance, Clock},
    config::Environment,
    puruto::WorkerSpec,
    runtime::{self, config::ProviderConfig, connector::Connector},
    store::{Circuits, StoreFault},
};

/// What is known of a model server that has trouble.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its circuit.
    pub name: String,
    /// What it has.
    pub trouble: Trouble,
}

/// What keeps calls from it.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    /// Its circuit breaker is open, or tries it.
    Open {
        /// Which of the two.
        state: BreakerState,
        /// Of the attempts before it opened.
        failed_percent: u32,
        /// When it is worth asking again.
        retry_in: Duration,
    },
    /// It asked to be left alone, or its limits are used up.
    Throttled {
        /// When the next call goes.
        wait: Duration,
    },
}

/// The circuits of the model servers that a Puruto calls, the one that is asked first first. A key
/// that is not at hand here is none of them.
#[must_use]
pub fn circuits_of(spec: &WorkerSpec, environment: &Environment) -> Vec<CircuitName> {
    let chance = Chance::system();
    let shared = runtime::Shared::new(Clock::system(), chance, Arc::new(()));
    let lookup = |name: &str| {
        environment
            .lookup(name)
            .or_else(|| Some("unknown".to_owned()))
    };
    let open = |config: &ProviderConfig| config.connect(lookup, &shared).ok();
    let opened = spec.work.models().into_iter().filter_map(open);
    let real = opened.filter(Connector::is_real);
    real.map(|it| it.circuit()).collect()
}

impl Onlooker {
    /// Where a circuit stands for whoever would call now.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    pub async fn circuit(&self, circuit: &CircuitName) -> Result<Admission, StoreFault> {
        let nothing = Outcome {
            pass: PassId::fresh(&self.chance),
            generation: None,
            rules: BreakerRules::default(),
            ended: Ended::Neutral,
            retry_after: None,
            spent: Spent::Unsent,
        };
        Circuits::report(&self.store, circuit, &nothing).await
    }

    /// What keeps calls from a server, if anything does.
    ///
    /// # Errors
    /// As [`Onlooker::circuit`].
    pub async fn trouble(&self, circuit: &CircuitName) -> Result<Option<Trouble>, StoreFault> {
        Ok(match self.circuit(circuit).await? {
            Admission::Admitted(_) => None,
            Admission::Refused(refusal) => Some(Trouble::Open {
                state: refusal.state,
                failed_percent: refusal.failed_percent,
                retry_in: refusal.retry_in,
            }),
            Admission::Throttled(throttled) => Some(Trouble::Throttled {
                wait: throttled.wait,
            }),
        })
    }
}

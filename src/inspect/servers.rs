//! The model servers that a fleet asks, as far as its workers share what they know of them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::Onlooker;
use crate::{
    circuit::{
        Admission, BreakerRules, BreakerState, CircuitName, Ended, Outcome, PassId, RateLimits,
        Spent,
    },
    clock::{Chance, Clock},
    config::Environment,
    contract::PurutoName,
    puruto::{Fleet, WorkerSpec},
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

/// A model server that Purutos of the fleet ask.
#[derive(Clone, Debug)]
pub struct ModelServer {
    /// The circuit by which its callers know it.
    pub circuit: CircuitName,
    /// What its account allows, as it is configured.
    pub limits: RateLimits,
    /// Who asks it.
    pub targets: Vec<PurutoName>,
}

/// The model servers that the Purutos of a fleet ask, by the names of their circuits.
#[must_use]
pub fn model_servers(fleet: &Fleet, environment: &Environment) -> Vec<ModelServer> {
    let mut servers = BTreeMap::<String, ModelServer>::new();
    for puruto in fleet.targets() {
        let spec = puruto.worker.as_ref();
        for (circuit, limits) in spec.map_or_else(Vec::new, |it| servers_of(it, environment)) {
            let server = servers.entry(circuit.as_str().to_owned());
            let server = server.or_insert_with(|| ModelServer {
                circuit,
                limits,
                targets: Vec::new(),
            });
            if server.targets.last() != Some(&puruto.name) {
                server.targets.push(puruto.name.clone());
            }
        }
    }
    servers.into_values().collect()
}

/// The circuits of the model servers that a Puruto calls, the one that is asked first first. A key
/// that is not at hand here is none of them.
#[must_use]
pub fn circuits_of(spec: &WorkerSpec, environment: &Environment) -> Vec<CircuitName> {
    let servers = servers_of(spec, environment).into_iter();
    servers.map(|(circuit, _)| circuit).collect()
}

fn servers_of(spec: &WorkerSpec, environment: &Environment) -> Vec<(CircuitName, RateLimits)> {
    let chance = Chance::system();
    let shared = runtime::Shared::new(Clock::system(), chance, Arc::new(()));
    let lookup = |name: &str| {
        environment
            .lookup(name)
            .or_else(|| Some("unknown".to_owned()))
    };
    let open = |config: &ProviderConfig| {
        let connector = config.connect(lookup, &shared).ok()?;
        Connector::is_real(&connector).then(|| (connector.circuit(), limits_of(config)))
    };
    spec.work.models().into_iter().filter_map(open).collect()
}

const fn limits_of(config: &ProviderConfig) -> RateLimits {
    match config {
        ProviderConfig::Simulated(_) => RateLimits::NONE,
        ProviderConfig::OpenAi(config) => config.limits,
        ProviderConfig::Ollama(config) => config.limits,
        ProviderConfig::MiniMax(config) => config.limits,
    }
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

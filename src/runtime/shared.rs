//! What all runtimes of a process share.
//!
//! Never: anything that belongs to one target.

use std::sync::Arc;

use super::{
    breaker::Circuits,
    budget::RetryBudget,
    connector::transport::Pools,
    fleet::{Alone, Fleet},
    observe::Observe,
};
use crate::clock::{Chance, Clock};

/// What all runtimes of a process share; a clone shares the same.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The time of day, for log events and dates of servers.
    pub clock: Clock,
    /// Jitter.
    pub chance: Chance,
    /// Counts what happens to calls.
    pub observe: Arc<dyn Observe>,
    /// The breakers.
    pub circuits: Circuits,
    /// How many retries they make at most.
    pub budget: RetryBudget,
    /// What others learn of the servers that they call.
    pub fleet: Arc<dyn Fleet>,
    /// The connections.
    pub pools: Pools,
}

impl Shared {
    /// What runtimes share, with nothing spent or learned yet, and pools of the default size.
    #[must_use]
    pub fn new(clock: Clock, chance: Chance, observe: Arc<dyn Observe>) -> Self {
        Self {
            clock,
            chance,
            observe,
            circuits: Circuits::default(),
            budget: RetryBudget::default(),
            fleet: Arc::new(Alone::default()),
            pools: Pools::default(),
        }
    }
}

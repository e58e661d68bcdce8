//! Which calls share a breaker: those to one model on one host of one provider.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use super::{Breaker, BreakerRules};
use crate::runtime::observe::Observe;

/// Names a breaker: provider, host and model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CircuitName(Arc<str>);

impl CircuitName {
    /// The breaker of `model` on `host` of `provider`.
    #[must_use]
    pub fn new(provider: &str, host: &str, model: &str) -> Self {
        Self(format!("{provider} {host} {model}").into())
    }

    /// The name as it is logged and counted.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CircuitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The breakers of a process. As many as there are models in its configuration.
#[derive(Clone, Debug, Default)]
pub struct Circuits(Arc<Mutex<HashMap<CircuitName, Breaker>>>);

impl Circuits {
    /// The breaker of this name; the first who asks decides its rules and who is told of it.
    #[must_use]
    pub fn breaker(
        &self,
        name: &CircuitName,
        rules: BreakerRules,
        observe: &Arc<dyn Observe>,
    ) -> Breaker {
        let mut breakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let breaker = breakers
            .entry(name.clone())
            .or_insert_with(|| Breaker::new(name.clone(), rules, Arc::clone(observe)));
        breaker.clone()
    }
}

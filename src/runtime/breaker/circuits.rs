//! Which calls share a breaker: those to one model on one host of one provider.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::{Breaker, BreakerRules, CircuitName};
use crate::runtime::observe::Observe;

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

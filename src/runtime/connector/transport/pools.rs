//! Which calls share a pool: those to one provider.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    pool::{HostPool, Origin, Pool},
    rules::PoolRules,
    tls::Tls,
};
use crate::runtime::observe::Observe;

/// The pools of a process, one a provider, and the certificates that they trust.
#[derive(Clone, Debug, Default)]
pub struct Pools(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    rules: PoolRules,
    pools: Mutex<HashMap<&'static str, Pool>>,
    tls: Mutex<Option<Tls>>,
}

impl Pools {
    /// Pools that hold these rules, all still empty.
    #[must_use]
    pub fn new(rules: PoolRules) -> Self {
        Self(Arc::new(Inner {
            rules,
            ..Inner::default()
        }))
    }

    #[cfg(test)]
    pub(super) fn trusting(rules: PoolRules, tls: Tls) -> Self {
        Self(Arc::new(Inner {
            rules,
            pools: Mutex::default(),
            tls: Mutex::new(Some(tls)),
        }))
    }

    /// What the pool of `provider` has for `origin`; the first who asks decides who is told of it.
    pub(in crate::runtime::connector) fn host(
        &self,
        provider: &'static str,
        origin: Origin,
        observe: &Arc<dyn Observe>,
    ) -> HostPool {
        let mut pools = self.0.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = pools
            .entry(provider)
            .or_insert_with(|| Pool::new(provider, self.0.rules, Arc::clone(observe)));
        pool.host(origin)
    }

    pub(super) fn rules(&self) -> &PoolRules {
        &self.0.rules
    }

    /// TLS with the certificates that this machine trusts, read once for all connections.
    ///
    /// # Errors
    /// A machine that has none.
    pub(super) fn tls(&self) -> Result<Tls, rustls::Error> {
        let mut known = self.0.tls.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(tls) => Ok(tls.clone()),
            None => {
                let tls = Tls::of_this_machine()?;
                Ok(known.insert(tls).clone())
            }
        }
    }
}

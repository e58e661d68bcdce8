//! What an endpoint is reached over: the process's pools, the proxies of its environment.
//!
//! Never: anything that is asked for anew with each call.

use std::sync::Arc;

use hyper::Uri;

use super::transport::{HostPool, Proxies, Route};
use crate::{clock::Clock, runtime::Shared};

/// The network as one configuration sees it.
#[derive(Debug)]
pub(in crate::runtime) struct Network<'s> {
    shared: &'s Shared,
    proxies: Proxies,
}

impl<'s> Network<'s> {
    /// The pools that runtimes share, over the proxies that `env` names.
    pub(in crate::runtime) fn of(shared: &'s Shared, env: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            shared,
            proxies: Proxies::named_in(env),
        }
    }

    pub(super) fn clock(&self) -> Clock {
        self.shared.clock.clone()
    }

    /// # Errors
    /// TLS is needed and cannot be had.
    pub(super) fn route(&self, origin: Uri) -> Result<Route, rustls::Error> {
        let pools = &self.shared.pools;
        let proxy = self.proxies.towards(&origin);
        Route::new(origin, proxy, pools)
    }

    pub(super) fn pool(&self, provider: &'static str, route: &Route) -> HostPool {
        let observe = Arc::clone(&self.shared.observe);
        self.shared.pools.host(provider, route.origin(), &observe)
    }
}

//! Leave to use a connection: so many calls at once in all, so many to one host.
//!
//! Whoever waits comes in the order in which it asked, the host's permit first and then one of all:
//! calls to a full host do not take what others could use. Never: a permit or a connection that
//! outlives the call which holds it, wherever that is dropped.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout},
};

use super::{idle::Idle, link::Link, rules::PoolRules};
use crate::runtime::{Fault, fault::Phase, observe::Observe};

/// How often connections that nobody uses are looked through.
const REAP_EVERY: Duration = Duration::from_secs(1);

/// Where connections lead: scheme, host, port and the proxy between.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::runtime) struct Origin(Arc<str>);

impl Origin {
    pub(super) fn new(name: &str) -> Self {
        Self(name.into())
    }
}

/// The pool of one provider; a clone is the same pool.
#[derive(Clone)]
pub(super) struct Pool(Arc<Inner>);

struct Inner {
    name: &'static str,
    rules: PoolRules,
    all: Arc<Semaphore>,
    hosts: Mutex<HashMap<Origin, Arc<Semaphore>>>,
    idle: Mutex<Resting>,
    observe: Arc<dyn Observe>,
}

struct Resting {
    links: Idle<Link>,
    reaped: bool,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (free, resting) = (self.0.all.available_permits(), self.0.resting().links.len());
        write!(f, "Pool({}, {free} free, {resting} idle)", self.0.name)
    }
}

impl Pool {
    pub(super) fn new(name: &'static str, rules: PoolRules, observe: Arc<dyn Observe>) -> Self {
        let (all, per_host) = (rules.connections.get(), rules.connections_per_host.get());
        Self(Arc::new(Inner {
            name,
            rules,
            all: Arc::new(Semaphore::new(all)),
            hosts: Mutex::default(),
            idle: Mutex::new(Resting {
                links: Idle::new(per_host, all),
                reaped: false,
            }),
            observe,
        }))
    }

    /// The part of the pool that leads to `origin`.
    pub(super) fn host(&self, origin: Origin) -> HostPool {
        let mut hosts = self.0.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let per_host = self.0.rules.connections_per_host.get();
        let permits = hosts
            .entry(origin.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(per_host)));
        HostPool {
            permits: Arc::clone(permits),
            pool: self.clone(),
            origin,
        }
    }
}

impl Inner {
    fn resting(&self) -> MutexGuard<'_, Resting> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of a pool that leads to one host.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct HostPool {
    pool: Pool,
    origin: Origin,
    permits: Arc<Semaphore>,
}

impl HostPool {
    pub(in crate::runtime::connector) fn rules(&self) -> &PoolRules {
        &self.pool.0.rules
    }

    /// Waits for leave to use a connection, `limit` at most.
    ///
    /// # Errors
    /// [`Fault::Timeout`] of the phase `Acquire`.
    pub(in crate::runtime) async fn acquire(&self, limit: Duration) -> Result<Permit, Fault> {
        let after = self.rules().acquire_timeout.min(limit);
        let asked = Instant::now();
        let both = timeout(after, self.both()).await;
        let Inner { name, observe, .. } = &*self.pool.0;
        observe.connection_waited(name, asked.elapsed());
        match both {
            Ok((of_host, of_all)) => {
                observe.connection_acquired(name);
                Ok(Permit(Some(Box::new(Held {
                    pool: self.pool.clone(),
                    origin: self.origin.clone(),
                    _of_host: of_host,
                    _of_all: of_all,
                }))))
            }
            Err(_) => Err(Fault::Timeout {
                phase: Phase::Acquire,
                after,
            }),
        }
    }

    async fn both(&self) -> (OwnedSemaphorePermit, OwnedSemaphorePermit) {
        let of_host = one(&self.permits).await;
        (of_host, one(&self.pool.0.all).await)
    }
}

async fn one(of: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    let permit = Arc::clone(of).acquire_owned().await;
    permit.expect("no pool closes its semaphores")
}

/// Leave to use one connection; given back when it is dropped. A box, since it is passed down
/// through every layer of a call.
#[derive(Debug)]
#[must_use = "a permit that is dropped is given back"]
pub struct Permit(Option<Box<Held>>);

#[derive(Debug)]
struct Held {
    pool: Pool,
    origin: Origin,
    _of_host: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Permit {
    /// For a model to which no connection leads.
    pub(in crate::runtime) const fn unpooled() -> Self {
        Self(None)
    }

    /// The connection to this host that was used last and still lives.
    pub(super) fn kept(&self) -> Option<Link> {
        let held = self.0.as_ref()?;
        let mut resting = held.pool.0.resting();
        let now = Instant::now();
        while let Some(link) = resting.links.take(&held.origin, now) {
            if link.is_alive() {
                return Some(link);
            }
        }
        None
    }

    /// Keeps `link` for the next call for so long; it is there before the permit is given back, so
    /// that whoever waits for the permit finds it.
    pub(super) fn keep(self, link: Link, idle_for: Duration) {
        if let Some(held) = &self.0 {
            held.pool.keep(&held.origin, link, idle_for);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.pool.0.observe.connection_released(self.pool.0.name);
    }
}

impl Pool {
    fn keep(&self, origin: &Origin, link: Link, idle_for: Duration) {
        let mut resting = self.0.resting();
        let until = Instant::now() + idle_for;
        resting.links.put(origin, link, until);
        if !resting.reaped {
            resting.reaped = true;
            tokio::spawn(reap(Arc::downgrade(&self.0)));
        }
    }
}

/// Closes connections at the end of their time, until none is left. Holds no pool alive.
async fn reap(pool: Weak<Inner>) {
    loop {
        sleep(REAP_EVERY).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut resting = pool.resting();
        resting.links.expire(Instant::now(), Link::is_alive);
        if resting.links.len() == 0 {
            resting.reaped = false;
            return;
        }
    }
}

#[cfg(test)]
impl HostPool {
    /// How many permits are free, in all and of this host.
    pub(super) fn free(&self) -> (usize, usize) {
        let all = self.pool.0.all.available_permits();
        (all, self.permits.available_permits())
    }
}

//! The smaller parts of a worker, as its configuration and its Purutos' folders describe them.

use std::sync::Arc;

use super::{
    compose::Shared,
    fault::WorkerFault,
    handlers::{Handlers, InvalidPuruto},
};
use crate::{
    broker::StreamName,
    clock::{Chance, Clock, WRONG_CLOCK},
    config::{Config, Environment, RuntimeConfig},
    contract::{Limits, PurutoName},
    handler::crash::{CRASH_AT, CrashAt},
    pipeline::{DelegationRules, Served, Service, Slots},
    puruto::Fleet,
    runtime::{
        self,
        budget::{BudgetRules, RetryBudget},
        connector::transport::{ConnectionLimit, PoolRules, Pools},
        fleet::Alone,
    },
    store::redis::RedisStore,
    worker::FleetCircuits,
};

/// The targets that this process serves: those that are named, or all.
pub(super) fn targets(fleet: &Fleet, named: &[PurutoName]) -> Result<Vec<PurutoName>, WorkerFault> {
    if named.is_empty() {
        return Ok(fleet.targets().map(|it| it.name.clone()).collect());
    }
    let is_target = |name: &PurutoName| fleet.get(name).is_some_and(|it| it.worker.is_some());
    match named.iter().find(|name| !is_target(name)) {
        Some(name) => Err(WorkerFault::NoSuchTarget(name.clone())),
        None => Ok(named.to_vec()),
    }
}

/// What the process is called: as configured, else its host, its process id and some chance, since
/// in containers both can be the same elsewhere.
pub(super) fn worker_name(config: &Config, chance: &Chance) -> String {
    match &config.worker.id {
        Some(id) => id.as_str().to_owned(),
        None => {
            let host = host();
            let id = std::process::id();
            format!("{host}-{id}-{:04x}", chance.bits128() & 0xffff)
        }
    }
}

/// The machine's clock; wrong by as much as [`WRONG_CLOCK`] says, for tests.
pub(super) fn clock(environment: &Environment) -> Clock {
    let wrong = environment.get(WRONG_CLOCK);
    let wrong = wrong.and_then(|it| it.parse().ok());
    wrong.map_or_else(Clock::system, Clock::wrong_by)
}

/// The machine's own name.
pub(super) fn host() -> String {
    let names = rustix::system::uname();
    names.nodename().to_string_lossy().into_owned()
}

/// The stream that holds the requests.
pub(super) fn invoke_stream(config: &Config) -> String {
    StreamName::invoke(&config.nats.prefix).as_str().to_owned()
}

/// What this process serves, each with its slots.
pub(super) fn served(
    shared: &Shared<'_>,
    fleet: &Fleet,
    names: &[PurutoName],
    store: &RedisStore,
) -> Result<Vec<(Arc<Served>, Slots)>, InvalidPuruto> {
    let runtimes = runtimes(shared, store);
    let handlers = Handlers {
        shared,
        fleet,
        runtimes: &runtimes,
    };
    let purutos = names.iter().filter_map(|name| fleet.get(name));
    let served = purutos.filter_map(|puruto| Some((puruto, puruto.worker.as_ref()?)));
    served
        .map(|(puruto, spec)| {
            let served = Served {
                name: puruto.name.clone(),
                service: Service::Here {
                    actions: spec.actions.clone(),
                    handler: handlers.handler(puruto, spec)?,
                    budget: spec.budget,
                },
                metrics: shared.metrics.target(&puruto.name),
            };
            let slots = Slots::new(spec.concurrency.get().get());
            Ok((Arc::new(served), slots))
        })
        .collect()
}

/// How much may be delegated.
pub(super) fn delegation(config: &Config) -> DelegationRules {
    let config = &config.delegation;
    DelegationRules {
        // Its type allows no more.
        max_children: u16::try_from(config.max_children.get()).unwrap_or(u16::MAX),
        root: Limits {
            descendants: Some(config.max_descendants.get()),
            ..Limits::default()
        },
    }
}

/// Where this process is to die, for whoever wants to see what is left then.
pub(super) fn crash_at(environment: &Environment) -> Result<CrashAt, WorkerFault> {
    let point = environment.get(CRASH_AT).map(str::parse).transpose();
    Ok(CrashAt::new(point.map_err(WorkerFault::CrashAt)?))
}

/// What the runtimes of this process share.
fn runtimes(shared: &Shared<'_>, store: &RedisStore) -> runtime::Shared {
    let config = &shared.config.runtime;
    let budget = BudgetRules {
        percent: config.retry_budget.of_hundred(),
        // Its type allows no more.
        reserve: u32::try_from(config.retry_reserve.get()).unwrap_or(u32::MAX),
    };
    runtime::Shared {
        budget: RetryBudget::new(budget),
        fleet: circuits(shared, store),
        pools: Pools::new(pool_rules(config)),
        ..runtime::Shared::new(
            shared.clock.clone(),
            shared.chance.clone(),
            shared.metrics.runtime(),
        )
    }
}

/// What the fleet knows of its model servers, or this process alone.
fn circuits(shared: &Shared<'_>, store: &RedisStore) -> Arc<dyn runtime::fleet::Fleet> {
    if !shared.config.runtime.share_circuits {
        return Arc::new(Alone::default());
    }
    let (circuits, telling) = FleetCircuits::new(store.clone(), shared.metrics.clone());
    tokio::spawn(telling);
    Arc::new(circuits)
}

fn pool_rules(config: &RuntimeConfig) -> PoolRules {
    PoolRules {
        connections: ConnectionLimit::nearest(config.connections.get()),
        connections_per_host: ConnectionLimit::nearest(config.connections_per_host.get()),
        acquire_timeout: config.acquire_timeout,
        connect_timeout: config.connect_timeout,
        idle_timeout: config.idle_timeout,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Inputs, gather};

    #[test]
    fn the_defaults_of_the_configuration_are_those_of_the_pools() {
        let nowhere = Inputs {
            folder: Path::new("/nowhere"),
            file: None,
            environment: &Environment::default(),
            flags: &[],
        };
        let config = gather(&nowhere).expect("defaults").config;
        assert_eq!(pool_rules(&config.runtime), PoolRules::default());
    }
}

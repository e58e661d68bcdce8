//! A worker's servers: waited for at the start, refused at once when they will not do.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{compose::Shared, fault::WorkerFault, preflight};
use crate::{
    broker::{
        BrokerFault,
        nats::{NatsBroker, NatsClient, NatsOptions, Observer},
    },
    cli::connect::{nats_options, redis_options},
    contract::PurutoName,
    store::{StoreFault, redis::RedisStore},
    telemetry::{health::Setter, metrics::Metrics},
};

/// Between tries to reach a server that is not there at the start.
const CONNECT_AGAIN: Duration = Duration::from_secs(1);

/// A worker's connections but that of its heartbeat.
pub(super) struct Servers {
    pub(super) broker: Arc<NatsBroker>,
    /// A worker is a caller as well, for whoever asks it over core NATS.
    pub(super) caller: NatsClient,
    pub(super) claims: RedisStore,
}

/// Connects to both servers. One that is not there yet is waited for; one that will not do for
/// `targets` is refused at once.
pub(super) async fn connect(
    shared: &Shared<'_>,
    targets: &[PurutoName],
    check: &Setter,
) -> Result<Servers, WorkerFault> {
    let (broker, caller) = loop {
        let mut options = nats_options(shared.config, "worker", &shared.worker, &shared.chance);
        options.observer = observer(&shared.metrics);
        match Box::pin(both_sides(options, targets)).await {
            Ok(both) => break both,
            Err(fault @ (BrokerFault::Unsuitable(_) | BrokerFault::Denied { .. })) => {
                return Err(fault.into());
            }
            Err(fault) => {
                shared.metrics.broker_faulted(&fault);
                wait_for_server(shared, check, &fault).await;
            }
        }
    };
    let claims = loop {
        match claims(shared).await {
            Ok(claims) => break claims,
            Err(fault @ StoreFault::Unsuitable(_)) => return Err(fault.into()),
            Err(fault) => {
                shared.metrics.store_faulted(&fault);
                wait_for_server(shared, check, &fault).await;
            }
        }
    };
    preflight::announce(claims.report(), broker.durability().await);
    check.ok();
    Ok(Servers {
        broker: Arc::new(broker),
        caller,
        claims,
    })
}

async fn claims(shared: &Shared<'_>) -> Result<RedisStore, StoreFault> {
    let claims = RedisStore::connect(redis_options(shared.config)?, shared.chance.clone()).await?;
    preflight::will_do(claims.report())?;
    Ok(claims)
}

/// The caller has a connection of its own, so that nothing that is sent there can harm the others.
async fn both_sides(
    options: NatsOptions,
    targets: &[PurutoName],
) -> Result<(NatsBroker, NatsClient), BrokerFault> {
    let caller = options.clone();
    let broker = NatsBroker::open(options).await?;
    broker.try_permissions(targets).await?;
    broker.prepare().await?;
    Ok((broker, NatsClient::connect(caller).await?))
}

async fn wait_for_server(shared: &Shared<'_>, check: &Setter, fault: &dyn std::error::Error) {
    tracing::warn!(%fault, "not serving yet, trying again");
    check.failing(fault.to_string());
    sleep(shared.chance.around(CONNECT_AGAIN, 0.5)).await;
}

fn observer(metrics: &Metrics) -> Observer {
    let metrics = metrics.clone();
    Observer::new(move |_, incident| metrics.broker_incident(incident))
}

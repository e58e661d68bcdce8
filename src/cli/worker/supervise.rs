//! The supervisor that every worker has, on the worker's own servers.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::compose::Shared;
use crate::{
    broker::nats::NatsBroker,
    pipeline::SessionWatch,
    store::redis::RedisStore,
    worker::{Supervisor, attend},
};

/// Stands for supervisor of the fleet, and answers whoever is it, until `end`.
pub(super) fn start(
    shared: &Shared<'_>,
    broker: &Arc<NatsBroker>,
    store: &RedisStore,
    sessions: &SessionWatch,
    end: &CancellationToken,
) {
    let supervisor = Supervisor {
        broker: Arc::clone(broker),
        store: store.clone(),
        sessions: sessions.clone(),
        chance: shared.chance.clone(),
        metrics: shared.metrics.clone(),
    };
    let attending = attend(
        Arc::clone(broker),
        store.clone(),
        sessions.clone(),
        shared.metrics.clone(),
    );
    tokio::spawn(end.clone().run_until_cancelled_owned(supervisor.run()));
    tokio::spawn(end.clone().run_until_cancelled_owned(attending));
}

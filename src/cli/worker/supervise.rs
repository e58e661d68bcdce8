//! The supervisor that every worker has, on the worker's own servers.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::compose::Shared;
use crate::{
    broker::nats::NatsBroker,
    puruto::Fleet,
    store::redis::RedisStore,
    worker::{Audit, LaneCare, Supervisor, Unserved, Worker, attend},
};

/// Stands for supervisor of the fleet beside `worker`, and answers whoever is it, until `end`.
pub(super) fn start(
    shared: &Shared<'_>,
    fleet: &Fleet,
    worker: &Worker<Arc<NatsBroker>, RedisStore>,
    store: &RedisStore,
    end: &CancellationToken,
) {
    let supervisor = Supervisor {
        broker: Arc::clone(&worker.broker),
        store: store.clone(),
        sessions: worker.sessions.clone(),
        lanes: LaneCare {
            broker: Arc::clone(&worker.broker),
            subjects: shared.config.nats.prefix.clone(),
            clock: shared.clock.clone(),
            metrics: shared.metrics.clone(),
        },
        unserved: Unserved {
            pipeline: worker.pipeline.clone(),
            broker: Arc::clone(&worker.broker),
            store: store.clone(),
            folders: fleet.targets().map(|it| it.name.clone()).collect(),
            subjects: shared.config.nats.prefix.clone(),
            clock: shared.clock.clone(),
            metrics: shared.metrics.clone(),
        },
        leading: worker.leading.clone(),
        chance: shared.chance.clone(),
        metrics: shared.metrics.clone(),
    };
    let attending = attend(
        Arc::clone(&worker.broker),
        store.clone(),
        worker.sessions.clone(),
        shared.metrics.clone(),
    );
    let audit = Audit {
        store: store.clone(),
        in_flight: worker.in_flight.clone(),
        sessions: worker.sessions.clone(),
        metrics: shared.metrics.clone(),
    };
    tokio::spawn(end.clone().run_until_cancelled_owned(audit.run()));
    tokio::spawn(end.clone().run_until_cancelled_owned(supervisor.run()));
    tokio::spawn(end.clone().run_until_cancelled_owned(attending));
}

//! A worker's session: its heartbeat on a thread and a connection of its own, and its readiness.

use std::{sync::Arc, thread::JoinHandle};

use tokio::{
    sync::{mpsc, watch},
    task::spawn_blocking,
};
use tokio_util::sync::CancellationToken;

use super::{compose::Shared, fault::WorkerFault};
use crate::{
    broker::{
        BrokerFault,
        nats::{EpochVerdict, NatsBroker},
    },
    cli::connect::redis_options,
    clock::WallTime,
    contract::PurutoName,
    pipeline::{EpochWatch, Session},
    store::{Epoch, RequestKey, redis::RedisStore},
    telemetry::health::Setter,
    worker::{Heartbeat, HeartbeatTimes, announce},
};

/// The heartbeat's thread, and what it tells the walk.
pub(super) struct Beat {
    pub(super) sessions: watch::Receiver<Option<Arc<Session>>>,
    pub(super) epochs: EpochWatch,
    thread: JoinHandle<()>,
    stop: CancellationToken,
}

impl Beat {
    /// Starts the thread; the requests to cancel come through what is returned beside it.
    pub(super) fn start(
        shared: &Shared<'_>,
        names: &[PurutoName],
        broker: &Arc<NatsBroker>,
    ) -> Result<(Self, mpsc::UnboundedReceiver<RequestKey>), WorkerFault> {
        let (opened, newly_opened) = mpsc::unbounded_channel();
        let (cancelled, newly_cancelled) = mpsc::unbounded_channel();
        let (announced, sessions) = watch::channel(None);
        let epochs = EpochWatch::default();
        let stop = CancellationToken::new();
        let heartbeat = Heartbeat {
            worker: shared.worker.clone(),
            targets: names.to_vec(),
            times: HeartbeatTimes {
                ttl: shared.config.redis.session_ttl,
                every: shared.config.redis.session_renew,
                margin: shared.config.redis.session_margin,
            },
            clock: shared.clock.clone(),
            chance: shared.chance.clone(),
            opened,
            cancelled,
            stop: stop.clone(),
            metrics: shared.metrics.clone(),
        };
        let (options, chance) = (redis_options(shared.config)?, shared.chance.clone());
        let thread =
            heartbeat.spawn(move || RedisStore::connect(options.clone(), chance.clone()))?;
        let (broker, clock) = (Arc::clone(broker), shared.clock.clone());
        let emptied = async move |epoch: &Epoch| emptied_until(&broker, epoch, clock.now()).await;
        let announcing = announce(
            newly_opened,
            announced,
            epochs.clone(),
            shared.chance.clone(),
            emptied,
        );
        tokio::spawn(announcing);
        let beat = Self {
            sessions,
            epochs,
            thread,
            stop,
        };
        Ok((beat, newly_cancelled))
    }

    /// The thread closes the session, within the bound of one call.
    pub(super) async fn end(self) {
        self.stop.cancel();
        let ended = spawn_blocking(|| self.thread.join()).await;
        if !matches!(ended, Ok(Ok(()))) {
            tracing::warn!("the heartbeat did not end cleanly; the session expires by itself");
        }
    }
}

async fn emptied_until(
    broker: &NatsBroker,
    epoch: &Epoch,
    now: WallTime,
) -> Result<Option<WallTime>, BrokerFault> {
    match broker.epoch_verdict(epoch, now).await? {
        EpochVerdict::Same => Ok(None),
        EpochVerdict::Differs { until } => Ok(Some(until)),
    }
}

/// Keeps the readiness check equal to whether there is a session.
pub(super) async fn show(mut sessions: watch::Receiver<Option<Arc<Session>>>, check: Setter) {
    loop {
        let session = sessions.borrow_and_update().clone();
        match &session {
            Some(session) if session.is_live() => check.ok(),
            Some(_) | None => check.failing("no session in redis yet"),
        }
        let fenced = async {
            match session {
                Some(session) => session.fenced.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = sessions.changed() => if changed.is_err() { return },
            () = fenced => {
                check.failing("the session was fenced, a new one is being opened");
                if sessions.changed().await.is_err() { return }
            }
        }
    }
}

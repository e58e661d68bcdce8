//! A worker for one request: the same walk, without pulling, for whoever wants it walked here.
//!
//! Its session is short: when the process dies, the next one waits for its claim that long at most.

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    compose::{Ground, Shared, pipeline},
    fault::WorkerFault,
    parts,
    session::Beat,
};
use crate::{
    broker::{Broker as _, StoredMessage, nats::NatsBroker},
    cli::connect::{nats_options, redis_options},
    clock::Chance,
    config::{Config, Environment},
    contract::{Lane, PurutoName},
    pipeline::{InFlight, Pipeline, Served, SessionWatch, Settled, Slots},
    policy::LivePolicies,
    puruto::{Fleet, Puruto},
    store::{RequestKey, redis::RedisStore},
    telemetry::metrics::Metrics,
};

/// For so long a claim outlives a process that died with it ...
pub(in crate::cli) const SESSION_TTL: Duration = Duration::from_secs(4);

/// ... and these go with it.
const SESSION_RENEW: Duration = Duration::from_millis(900);
const SESSION_MARGIN: Duration = Duration::from_secs(1);
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(800);

const _: () = assert!(
    SESSION_RENEW.as_millis() * 2 + SESSION_MARGIN.as_millis() < SESSION_TTL.as_millis()
        && RESPONSE_TIMEOUT.as_millis() < SESSION_RENEW.as_millis()
);

/// A worker for requests of one target, one at a time.
pub(in crate::cli) struct Single {
    pipeline: Pipeline<Arc<NatsBroker>, RedisStore>,
    served: Arc<Served>,
    slots: Slots,
    beat: Beat,
    sessions: SessionWatch,
    _cancels: DropGuard,
}

/// As configured, with a session that is found dead soon.
fn short_lived(config: &Config) -> Config {
    let mut config = config.clone();
    if config.redis.session_ttl > SESSION_TTL {
        config.redis.session_ttl = SESSION_TTL;
        config.redis.session_renew = SESSION_RENEW;
        config.redis.session_margin = SESSION_MARGIN;
        config.redis.response_timeout = config.redis.response_timeout.min(RESPONSE_TIMEOUT);
    }
    config
}

fn shared<'c>(
    config: &'c Config,
    environment: &'c Environment,
    target: &PurutoName,
) -> Result<Shared<'c>, WorkerFault> {
    let chance = Chance::system();
    Ok(Shared {
        config,
        environment,
        clock: parts::clock(environment),
        metrics: Metrics::new([target]),
        worker: parts::worker_name(config, &chance),
        crash: parts::crash_at(environment)?,
        chance,
    })
}

/// How the workers folder says that a target is served, and the route to its model that a new run
/// of it keeps to.
pub(in crate::cli) async fn looked_up(
    config: &Config,
    environment: &Environment,
    target: &PurutoName,
) -> Result<(Puruto, Option<String>), WorkerFault> {
    let fleet = Fleet::load(&config.worker.workers_dir).map_err(WorkerFault::Fleet)?;
    let names = parts::targets(&fleet, std::slice::from_ref(target))?;
    let shared = shared(config, environment, target)?;
    let store = RedisStore::connect(redis_options(config)?, shared.chance.clone()).await?;
    let served = parts::served(&shared, &fleet, &names, &store)?;
    let route = served.first().and_then(|(served, _)| served.route());
    let puruto = fleet.get(target).cloned();
    let puruto = puruto.ok_or_else(|| WorkerFault::NoSuchTarget(target.clone()))?;
    Ok((puruto, route))
}

/// Makes streams and lanes be there, as the first worker of a target does, so that it can be asked
/// before any worker has run.
pub(in crate::cli) async fn prepare(
    config: &Config,
    target: &PurutoName,
) -> Result<(), WorkerFault> {
    let chance = Chance::system();
    let options = nats_options(config, "client", target.as_str(), &chance);
    let broker = NatsBroker::connect(options).await?;
    for lane in Lane::ALL {
        broker.lane(target, lane).await?;
    }
    Ok(())
}

impl Single {
    /// Connects, and opens a session under which the request can be claimed.
    pub(in crate::cli) async fn open(
        config: &Config,
        environment: &Environment,
        target: &PurutoName,
    ) -> Result<Self, WorkerFault> {
        let config = &short_lived(config);
        let fleet = Fleet::load(&config.worker.workers_dir).map_err(WorkerFault::Fleet)?;
        let names = parts::targets(&fleet, std::slice::from_ref(target))?;
        let shared = shared(config, environment, target)?;
        let options = nats_options(config, "worker", &shared.worker, &shared.chance);
        let broker = Arc::new(NatsBroker::connect(options).await?);
        let store = RedisStore::connect(redis_options(config)?, shared.chance.clone()).await?;
        let mut served = parts::served(&shared, &fleet, &names, &store)?;
        let (served, _) = served
            .pop()
            .ok_or_else(|| WorkerFault::NoSuchTarget(target.clone()))?;
        let (beat, cancelled) = Beat::start(&shared, &names, &broker)?;
        let sessions = SessionWatch::new(beat.sessions.clone());
        let in_flight = InFlight::default();
        let stop = CancellationToken::new();
        let cancels = cancels(Arc::clone(&broker), in_flight.clone(), cancelled);
        tokio::spawn(stop.clone().run_until_cancelled_owned(cancels));
        let ground = Ground {
            broker,
            store,
            policies: LivePolicies::fixed(fleet.policies()),
            in_flight,
            sessions: sessions.clone(),
            epochs: beat.epochs.clone(),
            hand_over: CancellationToken::new(),
        };
        Ok(Self {
            pipeline: pipeline(&shared, ground),
            served,
            slots: Slots::new(1),
            beat,
            sessions,
            _cancels: stop.drop_guard(),
        })
    }

    /// Walks with a message as far as it goes now; whether it is gone then.
    pub(in crate::cli) async fn walk(&mut self, message: StoredMessage, lane: Lane) -> bool {
        self.sessions.opened().await;
        let (Ok(delivery), Some(slot)) = (message.into_delivery(lane), self.slots.take()) else {
            return false;
        };
        let served = Arc::clone(&self.served);
        match Box::pin(self.pipeline.process(delivery, served, slot)).await {
            Settled::Acked { tidy } => {
                if let Some(key) = tidy {
                    self.pipeline.tidy(&key).await;
                }
                true
            }
            Settled::Unconfirmed | Settled::GivenBack | Settled::Lapsed => false,
        }
    }

    /// Closes its session.
    pub(in crate::cli) async fn close(self) {
        self.beat.end().await;
    }
}

/// Brings a cancel to the request that it is for.
async fn cancels(
    broker: Arc<NatsBroker>,
    in_flight: InFlight,
    mut from_renewals: mpsc::UnboundedReceiver<RequestKey>,
) {
    loop {
        let key = tokio::select! {
            key = broker.next_cancel() => key,
            Some(key) = from_renewals.recv() => key,
        };
        in_flight.cancel(&key);
    }
}

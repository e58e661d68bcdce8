//! The composition root of the walk: here its ports get their real adapters, and nowhere else.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{
    fault::WorkerFault,
    parts,
    presence::{self, Known},
    servers::{Servers, connect},
    session::{self, Beat},
    signals, supervise,
};
use crate::{
    broker::nats::NatsBroker,
    cli::{connect::max_attempts, observed},
    clock::{Chance, Clock},
    config::{self, Config, Environment},
    contract::PurutoName,
    handler::crash::CrashAt,
    pipeline::{EpochWatch, EventsOf, InFlight, LastChances, Pipeline, Ports, SessionWatch},
    policy::{self, Change, LivePolicies},
    puruto::Fleet,
    store::redis::RedisStore,
    telemetry::{
        health::{Health, Setter},
        http::Shown,
        labels::ReloadOutcome,
        metrics::Metrics,
    },
    worker::{Drained, Leading, Timing, Worker},
};

/// What every part of the process shares.
pub(super) struct Shared<'c> {
    pub(super) config: &'c Config,
    pub(super) environment: &'c Environment,
    pub(super) clock: Clock,
    pub(super) chance: Chance,
    pub(super) metrics: Metrics,
    pub(super) worker: String,
    pub(super) crash: CrashAt,
}

/// The ends of the process's life: pulling ends, then waiting ends, then everything.
#[derive(Default)]
struct Ends {
    drain: CancellationToken,
    hand_over: CancellationToken,
    all: CancellationToken,
}

/// What a worker that has its servers is not ready without.
struct Checks {
    session: Setter,
    pulling: Setter,
}

pub(super) async fn work(
    config: &Config,
    environment: &Environment,
) -> Result<Drained, WorkerFault> {
    let fleet = Fleet::load(&config.worker.workers_dir).map_err(WorkerFault::Fleet)?;
    let names = parts::targets(&fleet, &config.worker.targets)?;
    let chance = Chance::system();
    let shared = Shared {
        config,
        environment,
        clock: parts::clock(environment),
        metrics: Metrics::new(&names),
        worker: parts::worker_name(config, &chance),
        crash: parts::crash_at(environment)?,
        chance,
    };
    let ends = Ends::default();
    let health = Health::default();
    let servers = health.check("servers");
    let checks = Checks {
        session: health.check("session"),
        pulling: health.check("pulling"),
    };
    let shown = Shown {
        metrics: shared.metrics.clone(),
        health,
    };
    let stop = ends.all.clone();
    observed::serve("worker", config.worker.telemetry, shown, stop).await?;
    tokio::spawn(signals::listen(ends.drain.clone(), ends.hand_over.clone()));
    let connected = ends
        .drain
        .run_until_cancelled(Box::pin(connect(&shared, &names, &servers)))
        .await;
    // Told to stop before it had begun: nothing runs yet.
    let Some(connected) = connected else {
        return Ok(Drained::Finished);
    };
    let drained = serve(&shared, &fleet, &names, connected?, (&ends, checks)).await;
    ends.all.cancel();
    drained
}

async fn serve(
    shared: &Shared<'_>,
    fleet: &Fleet,
    names: &[PurutoName],
    servers: Servers,
    (ends, checks): (&Ends, Checks),
) -> Result<Drained, WorkerFault> {
    let Servers {
        broker,
        caller,
        claims,
    } = servers;
    let served = parts::served(shared, fleet, names, &claims)?;
    let told = (Arc::clone(&broker), shared.worker.clone());
    tokio::spawn(signals::hear_operator(told.0, told.1, ends.drain.clone()));
    let policies = watch_policies(shared, fleet);
    let (beat, cancelled) = Beat::start(shared, names, &broker)?;
    tokio::spawn(session::show(beat.sessions.clone(), checks.session));
    let sessions = SessionWatch::new(beat.sessions.clone());
    let in_flight = InFlight::default();
    let known = Known {
        broker: Arc::clone(&broker),
        caller,
        policies: policies.clone(),
        served: served.clone(),
        in_flight: in_flight.clone(),
        sessions: sessions.clone(),
    };
    let present = presence::announce(shared, known, &ends.drain).await?;
    let pipeline = pipeline(
        shared,
        Ground {
            broker: Arc::clone(&broker),
            store: claims.clone(),
            policies,
            in_flight: in_flight.clone(),
            sessions: sessions.clone(),
            epochs: beat.epochs.clone(),
            hand_over: ends.hand_over.clone(),
        },
    );
    tracing::info!(worker = %shared.worker, targets = names.len(), "serving");
    let worker = Worker {
        pipeline,
        broker,
        served,
        in_flight,
        sessions,
        cancelled,
        leading: Leading::default(),
        timing: timing(shared.config),
        pulling: checks.pulling,
        drain: ends.drain.clone(),
        hand_over: ends.hand_over.clone(),
    };
    supervise::start(shared, fleet, &worker, &claims, &ends.all);
    let drained = worker.run().await;
    present.end().await;
    beat.end().await;
    Ok(drained?)
}

/// What a walk stands on beside what the whole process shares.
pub(super) struct Ground {
    pub(super) broker: Arc<NatsBroker>,
    pub(super) store: RedisStore,
    pub(super) policies: LivePolicies,
    pub(super) in_flight: InFlight,
    pub(super) sessions: SessionWatch,
    pub(super) epochs: EpochWatch,
    pub(super) hand_over: CancellationToken,
}

/// The walk on this ground.
pub(super) fn pipeline(
    shared: &Shared<'_>,
    ground: Ground,
) -> Pipeline<Arc<NatsBroker>, RedisStore> {
    Pipeline::new(Ports {
        broker: ground.broker,
        claims: ground.store,
        policies: ground.policies,
        subjects: shared.config.nats.prefix.clone(),
        invoke_stream: parts::invoke_stream(shared.config),
        clock: shared.clock.clone(),
        chance: shared.chance.clone(),
        worker: shared.worker.clone(),
        in_flight: ground.in_flight,
        sessions: ground.sessions,
        last_chances: LastChances::new(max_attempts(shared.config)),
        epochs: ground.epochs,
        delegation: parts::delegation(shared.config),
        crash: shared.crash,
        hand_over: ground.hand_over,
        events: events_of(shared.config.events.of),
        metrics: shared.metrics.clone(),
    })
}

const fn timing(config: &Config) -> Timing {
    Timing {
        progress_every: config.worker.progress_interval,
        drain_timeout: config.worker.drain_timeout,
    }
}

/// The policies as they are, and as they will be.
fn watch_policies(shared: &Shared<'_>, fleet: &Fleet) -> LivePolicies {
    let (policies, reloader) = policy::watch(&shared.config.worker.workers_dir, fleet.policies());
    let metrics = shared.metrics.clone();
    tokio::spawn(reloader.run(move |change| metrics.policy_reloaded(reloaded(change))));
    policies
}

const fn events_of(of: config::EventsOf) -> EventsOf {
    match of {
        config::EventsOf::All => EventsOf::All,
        config::EventsOf::Delegations => EventsOf::Delegations,
        config::EventsOf::None => EventsOf::None,
    }
}

const fn reloaded(change: &Change) -> ReloadOutcome {
    match change {
        Change::Loaded { .. } | Change::Removed { .. } => ReloadOutcome::Loaded,
        Change::Kept { .. } => ReloadOutcome::Kept,
    }
}

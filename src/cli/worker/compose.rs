//! The composition root of the walk: here its ports get their real adapters, and nowhere else.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{
    parts::{self, InvalidPuruto},
    presence::{self, Known},
    signals, supervise,
};
use crate::{
    broker::{
        BrokerFault,
        nats::{EpochVerdict, Incident, NatsBroker, NatsClient, NatsOptions, Observer},
    },
    cli::connect::{nats_options, redis_options},
    clock::{Chance, Clock, WallTime},
    config::{Config, Environment, Offered},
    contract::PurutoName,
    pipeline::{EpochWatch, InFlight, Pipeline, Ports, Session, SessionWatch},
    policy::{self, Change, Finding},
    puruto::Fleet,
    store::{Epoch, RequestKey, StoreFault, redis::RedisStore},
    telemetry::{
        health::{Health, Setter},
        http::{self, Shown},
        labels::ReloadOutcome,
        metrics::Metrics,
    },
    worker::{Drained, Heartbeat, HeartbeatTimes, Timing, Worker, announce},
};

/// Between tries to reach a server that is not there at the start.
const CONNECT_AGAIN: Duration = Duration::from_secs(1);

/// What keeps a worker from starting, or from stopping cleanly.
#[derive(Debug, thiserror::Error)]
pub enum WorkerFault {
    /// The system refused something.
    #[error("the system refused: {0}")]
    Io(#[from] io::Error),
    /// The workers folder has mistakes.
    #[error("{}", listed(.0))]
    Fleet(Vec<Finding>),
    /// A target was named that the workers folder has not.
    #[error("there is no target {0} in the workers folder; `puruto check` lists what is there")]
    NoSuchTarget(PurutoName),
    /// A Puruto cannot be served as its folder says.
    #[error(transparent)]
    Puruto(#[from] InvalidPuruto),
    /// The broker will not do.
    #[error(transparent)]
    Broker(#[from] BrokerFault),
    /// The store will not do.
    #[error(transparent)]
    Store(#[from] StoreFault),
    /// The address of the observability endpoints is taken or not ours.
    #[error(
        "cannot serve metrics on {address} ({error}): set worker.telemetry to another address, port 0 or off"
    )]
    Telemetry {
        /// The address.
        address: std::net::SocketAddr,
        /// Why.
        error: io::Error,
    },
}

fn listed(findings: &[Finding]) -> String {
    let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// What every part of the process shares.
pub(super) struct Shared<'c> {
    pub(super) config: &'c Config,
    pub(super) environment: &'c Environment,
    pub(super) clock: Clock,
    pub(super) chance: Chance,
    pub(super) metrics: Metrics,
    pub(super) worker: String,
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
        clock: Clock::system(),
        metrics: Metrics::new(&names),
        worker: parts::worker_name(config, &chance),
        chance,
    };
    let ends = Ends::default();
    let health = Health::default();
    let servers = health.check("servers");
    let checks = Checks {
        session: health.check("session"),
        pulling: health.check("pulling"),
    };
    serve_telemetry(&shared, health, ends.all.clone()).await?;
    tokio::spawn(signals::listen(ends.drain.clone(), ends.hand_over.clone()));
    let connected = ends
        .drain
        .run_until_cancelled(Box::pin(connect(&shared, &servers)))
        .await;
    // Told to stop before it had begun: nothing runs yet.
    let Some(connected) = connected else {
        return Ok(Drained::Finished);
    };
    let drained = serve(&shared, &fleet, &names, connected?, (&ends, checks)).await;
    ends.all.cancel();
    drained
}

async fn serve_telemetry(
    shared: &Shared<'_>,
    health: Health,
    stop: CancellationToken,
) -> Result<(), WorkerFault> {
    let Offered::At(address) = shared.config.worker.telemetry else {
        return Ok(());
    };
    let shown = Shown {
        metrics: shared.metrics.clone(),
        health,
    };
    let bound = http::bind(address, shown, stop).await;
    let (address, server) = bound.map_err(|error| WorkerFault::Telemetry { address, error })?;
    tracing::info!(%address, "serving /metrics, /livez and /readyz");
    tokio::spawn(server);
    Ok(())
}

/// Connects to both servers. One that is not there yet is waited for; one that will not do is
/// refused at once.
async fn connect(
    shared: &Shared<'_>,
    check: &Setter,
) -> Result<(Arc<NatsBroker>, NatsClient, RedisStore), WorkerFault> {
    let (broker, caller) = loop {
        let mut options = nats_options(shared.config, "worker", &shared.worker, &shared.chance);
        options.observer = observer(&shared.metrics);
        match Box::pin(both_sides(options)).await {
            Ok(both) => break both,
            Err(fault @ BrokerFault::Unsuitable(_)) => return Err(fault.into()),
            Err(fault) => {
                shared.metrics.broker_faulted(&fault);
                wait_for_server(shared, check, &fault).await;
            }
        }
    };
    let claims = loop {
        match RedisStore::connect(redis_options(shared.config)?, shared.chance.clone()).await {
            Ok(claims) => break claims,
            Err(fault @ StoreFault::Unsuitable(_)) => return Err(fault.into()),
            Err(fault) => {
                shared.metrics.store_faulted(&fault);
                wait_for_server(shared, check, &fault).await;
            }
        }
    };
    check.ok();
    Ok((Arc::new(broker), caller, claims))
}

/// A worker is a caller as well, for whoever asks it over core NATS: on a connection of its own,
/// so that nothing that is sent there can harm the others.
async fn both_sides(options: NatsOptions) -> Result<(NatsBroker, NatsClient), BrokerFault> {
    let caller = options.clone();
    Ok((
        NatsBroker::connect(options).await?,
        NatsClient::connect(caller).await?,
    ))
}

async fn wait_for_server(shared: &Shared<'_>, check: &Setter, fault: &dyn std::error::Error) {
    tracing::warn!(%fault, "not serving yet, trying again");
    check.failing(fault.to_string());
    sleep(shared.chance.around(CONNECT_AGAIN, 0.5)).await;
}

fn observer(metrics: &Metrics) -> Observer {
    let metrics = metrics.clone();
    Observer::new(move |_, incident| match incident {
        Incident::Reconnected | Incident::Rebuilt => metrics.broker_reconnected(),
        Incident::PullStalled => metrics.pull_stalled(),
        Incident::Disconnected
        | Incident::SlowConsumer
        | Incident::PermissionDenied(_)
        | Incident::LameDuck
        | Incident::Error(_) => {}
    })
}

/// The heartbeat's channels into the walk.
struct Beat {
    sessions: watch::Receiver<Option<Arc<Session>>>,
    cancelled: mpsc::UnboundedReceiver<RequestKey>,
    epochs: EpochWatch,
    thread: std::thread::JoinHandle<()>,
    stop: CancellationToken,
}

async fn serve(
    shared: &Shared<'_>,
    fleet: &Fleet,
    names: &[PurutoName],
    (broker, caller, claims): (Arc<NatsBroker>, NatsClient, RedisStore),
    (ends, checks): (&Ends, Checks),
) -> Result<Drained, WorkerFault> {
    let served = parts::served(shared, fleet, names)?;
    let (policies, reloader) = policy::watch(&shared.config.worker.workers_dir, fleet.policies());
    let metrics = shared.metrics.clone();
    tokio::spawn(reloader.run(move |change| metrics.policy_reloaded(reloaded(change))));
    let beat = start_heartbeat(shared, names, &broker)?;
    tokio::spawn(show_session(beat.sessions.clone(), checks.session));
    let sessions = SessionWatch::new(beat.sessions);
    supervise::start(shared, &broker, &claims, &sessions, &ends.all);
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
    let pipeline = Pipeline::new(Ports {
        broker: Arc::clone(&broker),
        claims,
        policies,
        subjects: shared.config.nats.prefix.clone(),
        invoke_stream: parts::invoke_stream(shared.config),
        clock: shared.clock.clone(),
        chance: shared.chance.clone(),
        worker: shared.worker.clone(),
        in_flight: in_flight.clone(),
        sessions: sessions.clone(),
        epochs: beat.epochs,
        hand_over: ends.hand_over.clone(),
        metrics: shared.metrics.clone(),
    });
    tracing::info!(worker = %shared.worker, targets = names.len(), "serving");
    let worker = Worker {
        pipeline,
        broker,
        served,
        in_flight,
        sessions,
        cancelled: beat.cancelled,
        timing: Timing {
            progress_every: shared.config.worker.progress_interval,
            drain_timeout: shared.config.worker.drain_timeout,
        },
        pulling: checks.pulling,
        drain: ends.drain.clone(),
        hand_over: ends.hand_over.clone(),
    };
    let drained = worker.run().await;
    present.end().await;
    end_heartbeat(beat.thread, &beat.stop).await;
    Ok(drained?)
}

/// The thread closes the session, within the bound of one call.
async fn end_heartbeat(thread: std::thread::JoinHandle<()>, stop: &CancellationToken) {
    stop.cancel();
    if tokio::task::spawn_blocking(|| thread.join()).await.is_err() {
        tracing::warn!("the heartbeat did not end cleanly; the session expires by itself");
    }
}

fn start_heartbeat(
    shared: &Shared<'_>,
    names: &[PurutoName],
    broker: &Arc<NatsBroker>,
) -> Result<Beat, WorkerFault> {
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
        chance: shared.chance.clone(),
        opened,
        cancelled,
        stop: stop.clone(),
        metrics: shared.metrics.clone(),
    };
    let (options, chance) = (redis_options(shared.config)?, shared.chance.clone());
    let thread = heartbeat.spawn(move || RedisStore::connect(options.clone(), chance.clone()))?;
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
    Ok(Beat {
        sessions,
        cancelled: newly_cancelled,
        epochs,
        thread,
        stop,
    })
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
async fn show_session(mut sessions: watch::Receiver<Option<Arc<Session>>>, check: Setter) {
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

const fn reloaded(change: &Change) -> ReloadOutcome {
    match change {
        Change::Loaded { .. } | Change::Removed { .. } => ReloadOutcome::Loaded,
        Change::Kept { .. } => ReloadOutcome::Kept,
    }
}

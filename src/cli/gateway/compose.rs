//! The composition root of the gateway: here its ports get their real adapters.

use std::{io, net::SocketAddr, num::NonZeroU32, sync::Arc, time::Duration};

use axum::Router;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{dashboard, doors::Doors, fault::GatewayFault, readiness::Servers};
use crate::{
    broker::{BrokerFault, nats::NatsClient},
    cli::{
        connect::{nats_options, redis_options},
        observed,
        session::{World, settings},
        worker::signals,
    },
    client::Client,
    config::{Config, HttpUrl},
    gateway::{
        auth::{CallerRate, Gate},
        executions::{Desk, Hub},
        fleet::Fleet,
        problem::Problem,
        server::{self, Guard},
        skills::{self, LiveSkills, Skills},
        v1::Front,
    },
    policy::{self, LivePolicies, PolicySet},
    puruto,
    store::{StoreFault, redis::RedisStore},
    telemetry::{
        health::{Health, Setter},
        http::Shown,
        metrics::Metrics,
    },
};

/// Between tries to reach a server that is not there at the start.
const CONNECT_AGAIN: Duration = Duration::from_secs(1);

/// What every part of the process shares.
struct Shared<'w> {
    config: &'w Config,
    world: &'w World,
    metrics: Metrics,
    /// Ends everything that runs beside the server.
    all: CancellationToken,
}

pub(super) async fn serve(config: &Config, world: &World) -> Result<(), GatewayFault> {
    let shared = Shared {
        config,
        world,
        metrics: Metrics::new([]),
        all: CancellationToken::new(),
    };
    let _ended = shared.all.clone().drop_guard();
    // Mistakes first: they need no server to be found.
    let (gate, upkeep) = Gate::open(&config.gateway, world.clock.clone())?;
    let skills = watch_skills(&shared)?;
    let policies = watch_policies(&shared);
    let health = Health::default();
    let (servers, listening) = (Servers::checked_in(&health), health.check("listening"));
    be_observed(&shared, health).await?;
    let drain = CancellationToken::new();
    tokio::spawn(signals::listen(drain.clone(), CancellationToken::new()));
    let connected = drain.run_until_cancelled(attended(&shared, &servers)).await;
    let Some(connected) = connected else {
        return Ok(());
    };
    let (nats, store) = connected?;
    let settings = settings(config, policies.clone(), &world.clock, &world.chance);
    let fleet: Arc<dyn Fleet> = Arc::new(Client::new(nats, store, settings));
    let kept = config.nats.results_max_age;
    let hub = Hub::new(Arc::clone(&fleet), kept, drain.clone());
    shared.beside(hub.clone().run());
    shared.beside(upkeep.run());
    let server = server::open(&config.gateway).await?;
    let address = bound(config, server.local_addr())?;
    let public = public_url(config, &address.to_string());
    let dashboard = dashboard(&shared, &servers, &public);
    let Some(dashboard) = drain.run_until_cancelled(dashboard).await else {
        return Ok(());
    };
    let front = Front {
        desk: Desk::new(fleet, hub, kept),
        gate,
        rate: Arc::new(CallerRate::new(rate(config))),
        skills,
        caller: config.gateway.caller.clone(),
        wait_max: config.gateway.wait_max,
        public,
    };
    listening.ok();
    tracing::info!(%address, "serving");
    let guard = guard(&shared, &drain);
    let doors = Doors {
        front,
        dashboard: dashboard?,
        purutos: Arc::new(purutos(&shared)),
        policies,
        stop: drain.clone(),
    };
    let routes = server::guarded(doors.routes(config, world), &config.gateway, guard);
    let counted = shared.metrics.http();
    server
        .serve(routes, move || counted.connection_opened(), drain)
        .await;
    Ok(())
}

/// Where the gateway listens.
fn bound(config: &Config, local: io::Result<SocketAddr>) -> Result<SocketAddr, server::OpenFault> {
    local.map_err(|error| server::OpenFault::Address {
        address: config.gateway.listen,
        error,
    })
}

/// What stands around every route.
fn guard(shared: &Shared<'_>, drain: &CancellationToken) -> Guard {
    Guard {
        metrics: shared.metrics.clone(),
        tell: |refusal| axum::response::IntoResponse::into_response(Problem::of_guard(refusal)),
        stop: drain.clone(),
    }
}

/// The dashboard, if it is served: on connections of its own, which what it hears may break for a
/// moment.
async fn dashboard(
    shared: &Shared<'_>,
    servers: &Servers,
    public: &HttpUrl,
) -> Result<Router, GatewayFault> {
    let Shared { config, world, .. } = shared;
    if !config.gateway.dashboard {
        return Ok(Router::new());
    }
    let connected = connect(shared, servers).await?;
    let stop = shared.all.clone();
    Ok(dashboard::routes(config, world, connected, public, stop))
}

impl Shared<'_> {
    /// Runs something until the gateway ends.
    fn beside(&self, task: impl Future<Output = ()> + Send + 'static) {
        let all = self.all.clone();
        tokio::spawn(async move { all.run_until_cancelled(task).await });
    }
}

/// How callers reach the gateway: as configured, else where it listens.
pub(in crate::cli) fn public_url(config: &Config, address: &str) -> HttpUrl {
    let scheme = match config.gateway.tls_certificate {
        Some(_) => "https",
        None => "http",
    };
    let own = || format!("{scheme}://{address}").parse().expect("an address");
    config.gateway.public_url.clone().unwrap_or_else(own)
}

fn rate(config: &Config) -> NonZeroU32 {
    let rate = u32::try_from(config.gateway.rate.get()).ok();
    rate.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MAX)
}

fn watch_skills(shared: &Shared<'_>) -> Result<LiveSkills, GatewayFault> {
    let folder = &shared.config.gateway.skills_dir;
    let start = Skills::load(folder).map_err(GatewayFault::Skills)?;
    tracing::info!(skills = start.len(), folder = %folder.display(), "skills are read");
    if start.is_empty() {
        tracing::warn!(folder = %folder.display(), "no skill can be invoked: gateway.skills_dir holds none");
    }
    let (live, reloader) = skills::watch(folder, start);
    shared.beside(reloader.run());
    Ok(live)
}

/// The policies as they are, and as they will be. Mistakes in those of others are not ours.
fn watch_policies(shared: &Shared<'_>) -> LivePolicies {
    let folder = &shared.config.worker.workers_dir;
    let (start, findings) = PolicySet::load(folder);
    for finding in findings {
        tracing::warn!(%finding, "a policy is not as it should be");
    }
    let (policies, reloader) = policy::watch(folder, start);
    shared.beside(reloader.run(|_change| {}));
    policies
}

/// What the targets say of themselves; where their folders have mistakes, nothing is known of them.
fn purutos(shared: &Shared<'_>) -> puruto::Fleet {
    let folder = &shared.config.worker.workers_dir;
    puruto::Fleet::load(folder).unwrap_or_else(|findings| {
        for finding in findings {
            tracing::warn!(%finding, "what targets say of themselves is not known");
        }
        puruto::Fleet::default()
    })
}

async fn be_observed(shared: &Shared<'_>, health: Health) -> Result<(), GatewayFault> {
    let shown = Shown {
        metrics: shared.metrics.clone(),
        health,
    };
    let offered = shared.config.gateway.telemetry;
    observed::serve("gateway", offered, shown, shared.all.clone()).await?;
    Ok(())
}

/// Connects, and from then on shows whether the servers answer.
async fn attended(
    shared: &Shared<'_>,
    servers: &Servers,
) -> Result<(NatsClient, RedisStore), GatewayFault> {
    let (nats, store) = connect(shared, servers).await?;
    let chance = shared.world.chance.clone();
    shared.beside(servers.clone().keep(nats.clone(), store.clone(), chance));
    Ok((nats, store))
}

/// Connects to both servers. One that is not there yet is waited for; one that will not do is
/// refused at once.
async fn connect(
    shared: &Shared<'_>,
    servers: &Servers,
) -> Result<(NatsClient, RedisStore), GatewayFault> {
    let nats = loop {
        match connect_nats(shared).await {
            Ok(nats) => break nats,
            Err(fault @ (BrokerFault::Unsuitable(_) | BrokerFault::Denied { .. })) => {
                return Err(fault.into());
            }
            Err(fault) => wait_for_server(shared, &servers.nats, &fault).await,
        }
    };
    servers.nats.ok();
    let store = loop {
        match connect_redis(shared).await {
            Ok(store) => break store,
            Err(fault @ StoreFault::Unsuitable(_)) => return Err(fault.into()),
            Err(fault) => wait_for_server(shared, &servers.redis, &fault).await,
        }
    };
    servers.redis.ok();
    Ok((nats, store))
}

async fn connect_nats(shared: &Shared<'_>) -> Result<NatsClient, BrokerFault> {
    let chance = &shared.world.chance;
    let name = format!("{:08x}", chance.bits128() >> 96);
    NatsClient::connect(nats_options(shared.config, "gateway", &name, chance)).await
}

async fn connect_redis(shared: &Shared<'_>) -> Result<RedisStore, StoreFault> {
    RedisStore::connect(redis_options(shared.config)?, shared.world.chance.clone()).await
}

async fn wait_for_server(shared: &Shared<'_>, check: &Setter, fault: &dyn std::error::Error) {
    tracing::warn!(%fault, "not serving yet, trying again");
    check.failing(fault.to_string());
    sleep(shared.world.chance.around(CONNECT_AGAIN, 0.5)).await;
}

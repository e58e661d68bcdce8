//! Asks both servers, the workers and the workers folder; each that is away is a check of its own.

use crate::{
    broker::{Durability, Inspection, nats::NatsClient},
    cli::{
        connect::{nats_options, redis_options},
        failure::Failure,
        session::{World, connect_nats},
    },
    clock::WallTime,
    config::{Config, Gathered},
    contract::PurutoName,
    inspect::serving,
    installation::{
        Check, Guarantee, Level, clock_check, epoch_check, nats_checks, redis_checks, workers_check,
    },
    policy::Finding,
    puruto::{self, Fleet},
    store::{
        Epoch, Sessions as _, StoreFault,
        redis::{RedisStore, StoreReport},
    },
};

/// Everything that was looked at.
pub(super) struct Diagnosis {
    pub(super) checks: Vec<Check>,
    /// Nothing while a server is away.
    pub(super) guarantee: Option<Guarantee>,
}

struct Nats {
    inspection: Inspection,
    durability: Durability,
    /// Workers by target.
    serving: Vec<(PurutoName, usize)>,
}

struct Redis {
    report: StoreReport,
    epoch: Option<Epoch>,
    now: WallTime,
    asked_at: WallTime,
}

pub(super) async fn look(world: &World, gathered: &Gathered) -> Result<Diagnosis, Failure> {
    let config = &gathered.config;
    let (folder, targets) = folder(config);
    let mut checks = vec![folder];
    let nats = match Box::pin(nats(world, gathered, &targets)).await {
        Ok(nats) => {
            checks.extend(of_nats(&nats));
            Some(nats)
        }
        Err(failure) => {
            checks.push(away("nats", &failure.to_string(), "nats.url"));
            None
        }
    };
    let redis = match Box::pin(redis(world, config)).await {
        Ok(redis) => {
            checks.extend(redis_checks(&redis.report));
            checks.push(clock_check("redis", redis.asked_at, redis.now));
            Some(redis)
        }
        Err(fault) => {
            checks.push(away("redis", &fault.to_string(), "redis.url"));
            None
        }
    };
    let both = nats.zip(redis);
    if let Some((nats, redis)) = &both {
        let store = redis.epoch.as_ref().map(Epoch::as_str);
        checks.push(epoch_check(store, nats.inspection.epoch.as_deref()));
    }
    let guarantee =
        both.map(|(nats, redis)| Guarantee::of(&redis.report.persistence, nats.durability));
    Ok(Diagnosis { checks, guarantee })
}

fn away(server: &str, why: &str, key: &str) -> Check {
    let change = format!("start it, or correct {key}");
    Check::ok(server, "no answer", why).at(Level::Error, change)
}

/// What `puruto check` finds, and the targets that can be served all the same.
fn folder(config: &Config) -> (Check, Vec<PurutoName>) {
    let dir = &config.worker.workers_dir;
    let findings = puruto::check(dir);
    let errors = findings.iter().filter(|it| it.is_error()).count();
    let seen = format!("{errors} errors, {} warnings", findings.len() - errors);
    let check = Check::ok("workers folder", seen, format!("of {}", dir.display()));
    let worst = findings
        .iter()
        .find(|it| it.is_error())
        .or_else(|| findings.first());
    let check = match worst.map(Finding::to_string) {
        None => check,
        Some(first) => {
            let level = if errors > 0 {
                Level::Error
            } else {
                Level::Warning
            };
            check.at(level, format!("puruto check lists all; the first: {first}"))
        }
    };
    let fleet = Fleet::load(dir).ok();
    let targets = fleet.iter().flat_map(Fleet::targets);
    (check, targets.map(|it| it.name.clone()).collect())
}

async fn nats(world: &World, gathered: &Gathered, targets: &[PurutoName]) -> Result<Nats, Failure> {
    let client: NatsClient = connect_nats(world, gathered).await?;
    let topology = nats_options(&gathered.config, "client", "doctor", &world.chance).topology;
    let fault = |fault| Failure::Client(crate::client::ClientFault::Broker(fault));
    let inspected = client.inspect(&topology, targets, &world.clock).await;
    let inspection = inspected.map_err(fault)?;
    let subjects = &gathered.config.nats.prefix;
    let served = serving(&client, subjects).await.map_err(fault)?;
    let workers = |target: &PurutoName| served.iter().filter(|it| *it == target.as_str()).count();
    Ok(Nats {
        durability: Durability {
            storage: topology.storage,
            replicas: topology.replicas,
            sync: inspection.sync,
        },
        serving: targets.iter().map(|it| (it.clone(), workers(it))).collect(),
        inspection,
    })
}

fn of_nats(nats: &Nats) -> Vec<Check> {
    let mut checks = nats_checks(&nats.inspection, nats.durability);
    let clocks = nats.inspection.clocks;
    checks.extend(clocks.map(|(ours, theirs)| clock_check("nats", ours, theirs)));
    let serving = nats.serving.iter();
    checks.extend(serving.map(|(target, workers)| workers_check(target, *workers)));
    checks
}

async fn redis(world: &World, config: &Config) -> Result<Redis, StoreFault> {
    let store = RedisStore::connect(redis_options(config)?, world.chance.clone()).await?;
    let asked_at = world.clock.now();
    Ok(Redis {
        now: store.time().await?,
        asked_at,
        epoch: store.epoch().await?,
        report: store.report().clone(),
    })
}

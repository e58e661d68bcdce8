//! What every verb stands on: the process around it, and the configuration once it is gathered.

use std::{
    ffi::OsString,
    fmt,
    io::Read,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{
    connect::{nats_options, redis_options},
    failure::{Failure, unreachable_section},
    output::Output,
};
use crate::{
    broker::nats::NatsClient,
    client::{Client, ClientFault, LazyRecords, Patience, Settings},
    clock::{Chance, Clock},
    config::{self, Config, Environment, Flag, Gathered, Inputs},
    inspect::Onlooker,
    policy::{LivePolicies, PolicySet},
    store::{StoreFault, redis::RedisStore},
};

/// The process around a command, as values.
pub struct World {
    /// Its environment.
    pub environment: Environment,
    /// Its working folder; empty for wherever it runs.
    pub folder: PathBuf,
    /// Where it reads.
    pub stdin: Box<dyn Read>,
    /// Where it writes.
    pub output: Output,
    /// The time of day.
    pub clock: Clock,
    /// Where ids come from.
    pub chance: Chance,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("folder", &self.folder)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}

/// Flags of every verb.
#[derive(Args, Debug)]
pub(super) struct GlobalArgs {
    /// Read this file instead of config/fleet.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Where NATS is (also NATS_URL)
    #[arg(long, global = true, value_name = "URL")]
    nats: Option<String>,
    /// Where Redis is (also REDIS_URL)
    #[arg(long, global = true, value_name = "URL")]
    redis: Option<String>,
    /// Set any key of the configuration; repeatable
    #[arg(long, global = true, value_name = "SECTION.KEY=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
}

fn assignment(text: &str) -> Result<(String, String), &'static str> {
    let (key, value) = text.split_once('=').ok_or("expected SECTION.KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

impl GlobalArgs {
    /// The same for a worker process, but for the servers: whoever starts it names those.
    pub(super) fn for_workers(&self) -> Vec<OsString> {
        let file = self.config.iter().map(|file| ("--config", file.into()));
        let set = self.set.iter();
        let set = set.map(|(key, value)| ("--set", format!("{key}={value}").into()));
        let both = file.chain(set);
        both.flat_map(|(flag, value)| [flag.into(), value])
            .collect()
    }

    /// Refuses all of them, for a verb that heeds none; `why` that is.
    pub(super) fn refuse_all(&self, verb: &str, why: &str) -> Result<(), Failure> {
        let file = self.config.iter().map(|_| "--config".to_owned());
        let others = self.flags().into_iter().map(|it| as_typed(&it));
        refuse(file.chain(others), verb, why)
    }

    /// Refuses those that name a server, for a verb that starts its own.
    pub(super) fn refuse_servers(&self, verb: &str, why: &str) -> Result<(), Failure> {
        let flags = self.flags().into_iter();
        let servers = flags.filter(|it| it.key == "nats.url" || it.key == "redis.url");
        refuse(servers.map(|it| as_typed(&it)), verb, why)
    }

    pub(super) fn flags(&self) -> Vec<Flag> {
        let flag = |flag: &str, key: &str, value: &str| Flag {
            flag: flag.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        };
        let nats = self.nats.iter().map(|it| flag("--nats", "nats.url", it));
        let redis = self.redis.iter().map(|it| flag("--redis", "redis.url", it));
        let set = self.set.iter().map(|(key, it)| flag("--set", key, it));
        nats.chain(redis).chain(set).collect()
    }

    /// Gathers the configuration; `more` are the verb's own flags.
    pub(super) fn gather(&self, world: &World, more: Vec<Flag>) -> Result<Gathered, Failure> {
        let mut flags = self.flags();
        flags.extend(more);
        let inputs = Inputs {
            folder: &world.folder,
            file: self.config.as_deref(),
            environment: &world.environment,
            flags: &flags,
        };
        Ok(config::gather(&inputs)?)
    }
}

/// As it was typed, but for its value, which may be a secret.
fn as_typed(flag: &Flag) -> String {
    match flag.flag.as_str() {
        "--set" => format!("--set {}", flag.key),
        name => name.to_owned(),
    }
}

/// An option that has no effect is a mistake of whoever gave it.
fn refuse(given: impl Iterator<Item = String>, verb: &str, why: &str) -> Result<(), Failure> {
    let given: Vec<_> = given.collect();
    if given.is_empty() {
        return Ok(());
    }
    let given = given.join(", ");
    Err(Failure::Usage(format!(
        "`puruto {verb}` cannot heed {given}: {why}"
    )))
}

/// The flag by which several verbs name the workers folder.
pub(super) fn workers_dir_flag(dir: Option<&Path>) -> Vec<Flag> {
    let flag = |dir: &Path| Flag {
        flag: "--workers-dir".to_owned(),
        key: "worker.workers_dir".to_owned(),
        value: dir.display().to_string(),
    };
    dir.map(flag).into_iter().collect()
}

/// A caller's way to the real fleet.
pub(super) type FleetClient = Client<NatsClient, LazyRecords>;

/// Connects as configured.
pub(super) async fn connect(
    world: &World,
    gathered: &Gathered,
    policies: PolicySet,
) -> Result<FleetClient, Failure> {
    let nats = connect_nats(world, gathered).await?;
    let config = &gathered.config;
    let policies = LivePolicies::fixed(policies);
    let client = fleet_client(nats, config, policies, &world.clock, &world.chance);
    client.map_err(|fault| explain(gathered, fault.into()))
}

/// A caller who looks deeper: at what the store knows of waiting and delegated requests too.
pub(super) struct Whole {
    pub(super) client: Client<NatsClient, RedisStore>,
    nats: NatsClient,
    store: RedisStore,
}

impl Whole {
    /// The same as somebody who only looks.
    pub(super) fn onlooker(&self, world: &World, gathered: &Gathered) -> Onlooker {
        Onlooker {
            client: self.client.clone(),
            nats: self.nats.clone(),
            store: self.store.clone(),
            subjects: gathered.config.nats.prefix.clone(),
            workers_dir: gathered.config.worker.workers_dir.clone(),
            environment: world.environment.clone(),
            clock: world.clock.clone(),
            chance: world.chance.clone(),
        }
    }

    /// The same as a caller whom these policies bind.
    pub(super) fn asking_by(
        &self,
        world: &World,
        gathered: &Gathered,
        policies: PolicySet,
    ) -> Client<NatsClient, RedisStore> {
        let policies = LivePolicies::fixed(policies);
        let settings = settings(&gathered.config, policies, &world.clock, &world.chance);
        Client::new(self.nats.clone(), self.store.clone(), settings)
    }
}

/// Connects to both servers, as configured.
pub(super) async fn connect_whole(world: &World, gathered: &Gathered) -> Result<Whole, Failure> {
    let nats = connect_nats(world, gathered).await?;
    let config = &gathered.config;
    let refused = |fault: StoreFault| explain(gathered, fault.into());
    let redis = redis_options(config).map_err(refused)?;
    let store = RedisStore::connect(redis, world.chance.clone()).await;
    let store = store.map_err(refused)?;
    let policies = LivePolicies::fixed(PolicySet::default());
    let settings = settings(config, policies, &world.clock, &world.chance);
    Ok(Whole {
        client: Client::new(nats.clone(), store.clone(), settings),
        nats,
        store,
    })
}

/// Connects to the broker alone, as configured.
pub(super) async fn connect_nats(
    world: &World,
    gathered: &Gathered,
) -> Result<NatsClient, Failure> {
    let name = format!("{:08x}", world.chance.bits128() >> 96);
    let options = nats_options(&gathered.config, "client", &name, &world.chance);
    let connected = NatsClient::connect(options).await;
    connected.map_err(|fault| explain(gathered, fault.into()))
}

/// A caller over this connection.
pub(super) fn fleet_client(
    nats: NatsClient,
    config: &Config,
    policies: LivePolicies,
    clock: &Clock,
    chance: &Chance,
) -> Result<FleetClient, StoreFault> {
    let redis = redis_options(config)?;
    let settings = settings(config, policies, clock, chance);
    let records = LazyRecords::new(redis, chance.clone());
    Ok(Client::new(nats, records, settings))
}

pub(super) fn settings(
    config: &Config,
    policies: LivePolicies,
    clock: &Clock,
    chance: &Chance,
) -> Settings {
    Settings {
        subjects: config.nats.prefix.clone(),
        policies,
        patience: Patience {
            grace: config.client.grace,
            read_back: config.client.read_back_interval,
        },
        clock: clock.clone(),
        chance: chance.clone(),
    }
}

/// A fault of the client, with what its reader can do about it.
pub(super) fn explain(gathered: &Gathered, fault: ClientFault) -> Failure {
    let source = unreachable_section(&fault)
        .and_then(|section| gathered.effective.source_of(section, "url"));
    match source {
        Some(source) => Failure::NoConnection {
            what: fault.to_string(),
            source_of: source.to_string(),
        },
        None => Failure::Client(fault),
    }
}

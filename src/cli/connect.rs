//! How the configured servers are reached.

use std::num::NonZeroU8;

use crate::{
    broker::{
        nats::{NatsAuth, NatsOptions, NatsTls, Observer},
        topology::{Storage, TopologyOptions},
    },
    clock::Chance,
    config::{self, Config, NatsConfig},
    store::{
        Attempt, StoreFault,
        redis::{Partitions, RedisOptions, SentinelLogin, Spread},
    },
};

/// The broker as configured, for a process of this role and name.
pub(super) fn nats_options(
    config: &Config,
    role: &'static str,
    name: &str,
    chance: &Chance,
) -> NatsOptions {
    let nats = &config.nats;
    NatsOptions {
        urls: nats.url.iter().map(str::to_owned).collect(),
        auth: auth(nats),
        tls: NatsTls::default(),
        inbox: nats.inbox.as_ref().map(|inbox| inbox.as_str().to_owned()),
        subjects: nats.prefix.clone(),
        role,
        worker: name.to_owned(),
        topology: topology(nats),
        chance: chance.clone(),
        observer: Observer::default(),
    }
}

fn auth(nats: &NatsConfig) -> NatsAuth {
    match (&nats.credentials, &nats.token, &nats.user) {
        (Some(file), _, _) => NatsAuth::CredentialsFile(file.clone()),
        (None, Some(token), _) => NatsAuth::Token(token.expose().to_owned()),
        (None, None, Some(user)) => NatsAuth::UserPassword {
            user: user.clone(),
            password: nats
                .password
                .as_ref()
                .map_or("", |it| it.expose())
                .to_owned(),
        },
        (None, None, None) => NatsAuth::None,
    }
}

fn topology(nats: &NatsConfig) -> TopologyOptions {
    let replicas = u8::try_from(nats.replicas.get())
        .ok()
        .and_then(NonZeroU8::new);
    TopologyOptions {
        replicas: replicas.unwrap_or(NonZeroU8::MIN),
        storage: match nats.storage {
            config::Storage::File => Storage::File,
            config::Storage::Memory => Storage::Memory,
        },
        backlog_cap: nats.backlog.get(),
        results_max_age: nats.results_max_age,
        ack_wait: nats.ack_wait,
    }
}

/// How often a request is executed at most, as configured.
pub(super) fn max_attempts(config: &Config) -> Attempt {
    let most = config.worker.max_attempts.get();
    Attempt::new(u32::try_from(most).unwrap_or(u32::MAX))
}

/// The lease store as configured.
pub(super) fn redis_options(config: &Config) -> Result<RedisOptions, StoreFault> {
    let redis = &config.redis;
    let unsuitable = |what: String| StoreFault::Unsuitable(what);
    let prefix = redis.prefix.as_str().parse();
    let prefix = prefix.map_err(|error| unsuitable(format!("redis.prefix: {error}")))?;
    let partitions = u16::try_from(redis.partitions.get())
        .ok()
        .and_then(Partitions::new);
    let too_many = || {
        unsuitable(format!(
            "redis.partitions: {} is too many",
            redis.partitions.get()
        ))
    };
    Ok(RedisOptions {
        url: redis.url.clone(),
        sentinel_login: SentinelLogin {
            user: redis.sentinel_user.clone(),
            password: redis
                .sentinel_password
                .as_ref()
                .map(|it| it.expose().to_owned()),
        },
        prefix,
        partitions: partitions.ok_or_else(too_many)?,
        spread: Spread::OneNode,
        response_timeout: redis.response_timeout,
        connect_timeout: redis.connect_timeout,
        retention: redis.retention,
        session_ttl: redis.session_ttl,
        max_attempts: max_attempts(config),
    })
}

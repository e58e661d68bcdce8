//! What can be configured, one file a section.

mod client;
mod delegation;
mod events;
mod gateway;
mod log;
mod nats;
mod prices;
mod redis;
mod runtime;
mod worker;

pub use self::{
    client::ClientConfig, delegation::DelegationConfig, events::EventsConfig,
    gateway::GatewayConfig, log::LogConfig, nats::NatsConfig, prices::PricesConfig,
    redis::RedisConfig, runtime::RuntimeConfig, worker::WorkerConfig,
};
use super::{Key, Mistakes, layers::Layers};

/// The keys of every section.
pub(super) const KEYS: [&[Key]; 10] = [
    NatsConfig::KEYS,
    RedisConfig::KEYS,
    WorkerConfig::KEYS,
    RuntimeConfig::KEYS,
    DelegationConfig::KEYS,
    PricesConfig::KEYS,
    EventsConfig::KEYS,
    LogConfig::KEYS,
    ClientConfig::KEYS,
    GatewayConfig::KEYS,
];

/// Everything that can be configured.
#[derive(Clone, Debug)]
pub struct Config {
    /// The broker.
    pub nats: NatsConfig,
    /// The lease store.
    pub redis: RedisConfig,
    /// A worker process.
    pub worker: WorkerConfig,
    /// Calls to models.
    pub runtime: RuntimeConfig,
    /// How far requests may ask others.
    pub delegation: DelegationConfig,
    /// What models cost.
    pub prices: PricesConfig,
    /// What is told of requests while they are worked on.
    pub events: EventsConfig,
    /// What is logged.
    pub log: LogConfig,
    /// A caller.
    pub client: ClientConfig,
    /// The door for whoever speaks HTTP.
    pub gateway: GatewayConfig,
}

impl Config {
    /// Reads every section from `layers`.
    pub(super) fn read(layers: &Layers, mistakes: &mut Mistakes) -> Self {
        Self {
            nats: NatsConfig::read(layers, mistakes),
            redis: RedisConfig::read(layers, mistakes),
            worker: WorkerConfig::read(layers, mistakes),
            runtime: RuntimeConfig::read(layers, mistakes),
            delegation: DelegationConfig::read(layers, mistakes),
            prices: PricesConfig::read(layers, mistakes),
            events: EventsConfig::read(layers, mistakes),
            log: LogConfig::read(layers, mistakes),
            client: ClientConfig::read(layers, mistakes),
            gateway: GatewayConfig::read(layers, mistakes),
        }
    }
}

//! The effective configuration: gathered, read, checked.
//!
//! Layers, weakest first: the defaults, a TOML file, what `puruto dev` left behind, the
//! environment, the flags. Every mistake is reported at once, with its key, value and place. This
//! is the one module that reads the process's environment; it hands it on as a value.
//! Never: a default that stands anywhere else, or a secret in an error or in what is shown.

mod address;
mod bounds;
mod devenv;
mod effective;
mod environment;
mod file;
mod gather;
mod key;
mod layers;
mod mistake;
mod section;
mod sections;
mod setting;
mod value;

#[cfg(test)]
mod tests;

pub use self::{
    address::{HttpUrl, NatsUrls, Offered},
    devenv::DEV_ENV,
    effective::{Effective, Entry},
    environment::Environment,
    gather::{Flag, Gathered, Inputs, gather},
    key::{Key, keys},
    layers::Source,
    mistake::{Mistake, Mistakes},
    sections::{
        ClientConfig, Config, DelegationConfig, EventsConfig, GatewayConfig, LogConfig, NatsConfig,
        PricesConfig, RedisConfig, RuntimeConfig, WorkerConfig,
    },
    value::{
        EventsOf, InboxName, LogStyle, Percent, RedisPrefix, Secret, Storage, Whole, WorkerName,
    },
};

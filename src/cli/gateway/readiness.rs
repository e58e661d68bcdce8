//! Whether the gateway's servers answer: asked again and again, for as long as it serves.
//!
//! Never: a connection of its own; it asks over those that serve callers.

use std::{fmt, time::Duration};

use tokio::time::sleep;

use crate::{
    broker::nats::NatsClient,
    clock::Chance,
    store::redis::RedisStore,
    telemetry::health::{Health, Setter},
};

/// Between two questions to a server. What one waits for its answer is bounded by the connection.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// The checks of both servers.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    pub(super) nats: Setter,
    pub(super) redis: Setter,
}

impl Servers {
    pub(super) fn checked_in(health: &Health) -> Self {
        Self {
            nats: health.check("nats"),
            redis: health.check("redis"),
        }
    }

    /// Keeps the checks equal to whether each server answers.
    pub(super) async fn keep(self, nats: NatsClient, store: RedisStore, chance: Chance) {
        let pause = || sleep(chance.around(ASK_EVERY, 0.5));
        let ask_nats = async {
            loop {
                pause().await;
                show(&self.nats, nats.answers().await);
            }
        };
        let ask_redis = async {
            loop {
                pause().await;
                show(&self.redis, store.epoch().await);
            }
        };
        // Side by side: neither waits for the other's answer.
        tokio::join!(ask_nats, ask_redis);
    }
}

fn show<T>(check: &Setter, answer: Result<T, impl fmt::Display>) {
    match answer {
        Ok(_) => check.ok(),
        Err(fault) => check.failing(fault.to_string()),
    }
}

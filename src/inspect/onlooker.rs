//! What somebody looks at a fleet with: connections to both servers, and the workers folder.

use std::{fmt, path::PathBuf};

use crate::{
    broker::nats::NatsClient,
    client::Client,
    clock::{Chance, Clock},
    config::Environment,
    contract::Subjects,
    store::redis::RedisStore,
};

/// What somebody looks at a fleet with. A clone shares the connections.
#[derive(Clone)]
pub struct Onlooker {
    /// A caller over both connections.
    pub client: Client<NatsClient, RedisStore>,
    /// The broker.
    pub nats: NatsClient,
    /// The store.
    pub store: RedisStore,
    /// The grammar of the fleet's subjects.
    pub subjects: Subjects,
    /// The folder of the fleet's Purutos, which says what models they ask.
    pub workers_dir: PathBuf,
    /// What the models' addresses may be taken from.
    pub environment: Environment,
    /// The time of day.
    pub clock: Clock,
    /// Where fresh ids come from.
    pub chance: Chance,
}

impl fmt::Debug for Onlooker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Onlooker")
            .field("subjects", &self.subjects)
            .field("workers_dir", &self.workers_dir)
            .finish_non_exhaustive()
    }
}

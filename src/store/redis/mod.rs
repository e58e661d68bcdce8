//! The store on a real Redis or Valkey.
//!
//! Owns the connection, the scripts on it, and the batches that go over it. Never: a decision about
//! a request; those are the scripts'.

mod answer;
mod batcher;
mod call;
mod circuits;
mod dial;
mod executions;
mod fault;
mod items;
mod keeper;
mod keys;
mod kin;
mod link;
mod options;
mod place;
mod ports;
mod report;
mod runs;
mod scripts;
mod sentinel;
mod supervision;
mod switch;
mod waits;

use std::sync::Arc;

use self::{
    batcher::{Batcher, Engine},
    dial::Dialer,
    items::{Committing, Settle},
    keys::Keys,
    link::Link,
};
pub use self::{
    options::{InvalidKeyPrefix, KeyPrefix, Partitions, RedisOptions, SentinelLogin, Spread},
    place::{InvalidRedisUrl, RedisUrl},
    report::{Fsync, Persistence, StoreReport},
};
use super::{Claim, StoreFault};
use crate::clock::Chance;

/// The name of the key that holds the data set's number of partitions.
const PARTITIONS: &str = "partitions";

/// The store on a real server, over one connection. Clones share it.
#[derive(Clone, Debug)]
pub struct RedisStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    engine: Arc<Engine>,
    claims: Batcher<Claim>,
    commits: Batcher<Committing>,
    settlements: Batcher<Settle>,
    options: RedisOptions,
    chance: Chance,
    report: StoreReport,
}

impl RedisStore {
    /// Connects, and makes sure that the server and its data set will do. The connection is kept by
    /// tasks of the current runtime, and made anew whenever it breaks.
    ///
    /// For `rediss://` the process must have installed a `rustls` crypto provider before.
    ///
    /// # Errors
    /// [`StoreFault::Unsuitable`] when the server is too old, refuses the user, or holds a data set
    /// with another number of partitions; [`StoreFault::Unready`] while it loads; otherwise it
    /// cannot be reached.
    pub async fn connect(options: RedisOptions, chance: Chance) -> Result<Self, StoreFault> {
        let dialer = Dialer::new(&options)?;
        let link = Link::connect(dialer, options.response_timeout, chance.clone()).await?;
        let report = StoreReport::ask(&link).await?;
        let keys = Keys::new(&options);
        check_partitions(&link, &keys).await?;
        let engine = Arc::new(Engine {
            link,
            keys,
            retention: options.retention,
            max_attempts: options.max_attempts,
        });
        Ok(Self(Arc::new(Inner {
            claims: Batcher::start(Arc::clone(&engine)),
            commits: Batcher::start(Arc::clone(&engine)),
            settlements: Batcher::start(Arc::clone(&engine)),
            engine,
            options,
            chance,
            report,
        })))
    }

    /// What the server said about itself when we connected.
    #[must_use]
    pub fn report(&self) -> &StoreReport {
        &self.0.report
    }
}

/// The first session to open decides the number of partitions; until then any will do.
async fn check_partitions(link: &Link, keys: &Keys) -> Result<(), StoreFault> {
    let mut command = redis::cmd("GET");
    command.arg(keys.home(PARTITIONS));
    let recorded = link.command("partitions", &command).await?;
    match answer::other_partitions(&recorded, keys.partitions) {
        None => Ok(()),
        Some(theirs) => Err(other_partitions(theirs, keys)),
    }
}

fn other_partitions(theirs: u64, keys: &Keys) -> StoreFault {
    let ours = keys.partitions;
    StoreFault::Unsuitable(format!(
        "the data set in redis has {theirs} partitions, this process is set to {ours}; \
         set the same number everywhere, or empty the data set"
    ))
}

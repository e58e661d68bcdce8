//! The store, reached when it is first asked: a caller that only invokes does not need it.

use tokio::sync::OnceCell;

use crate::{
    clock::Chance,
    contract::PurutoName,
    store::{
        CancelAnswer, Record, Records, RequestKey, StoreFault,
        redis::{RedisOptions, RedisStore},
    },
};

/// The records of a store that is connected to when it is first asked.
#[derive(Debug)]
pub struct LazyRecords {
    options: RedisOptions,
    chance: Chance,
    store: OnceCell<RedisStore>,
}

impl LazyRecords {
    /// The records of the store with these options.
    #[must_use]
    pub const fn new(options: RedisOptions, chance: Chance) -> Self {
        Self {
            options,
            chance,
            store: OnceCell::const_new(),
        }
    }

    /// A connection that failed is tried anew by whoever asks next.
    async fn store(&self) -> Result<&RedisStore, StoreFault> {
        let connect = || RedisStore::connect(self.options.clone(), self.chance.clone());
        self.store.get_or_try_init(connect).await
    }
}

impl Records for LazyRecords {
    async fn targets(&self) -> Result<Vec<PurutoName>, StoreFault> {
        self.store().await?.targets().await
    }

    async fn read(&self, keys: &[RequestKey]) -> Result<Vec<Option<Record>>, StoreFault> {
        self.store().await?.read(keys).await
    }

    async fn cancel(&self, key: &RequestKey) -> Result<CancelAnswer, StoreFault> {
        self.store().await?.cancel(key).await
    }
}

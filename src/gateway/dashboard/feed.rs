//! The index of the latest requests, for those who look at it.
//!
//! It is kept while somebody looks, and a while longer.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{keep::Keeper, recent::Recent};
use crate::{broker::nats::NatsClient, inspect::Onlooker};

/// How good the index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Listens {
    /// Nobody has looked for a while.
    Asleep,
    /// It reads what was kept.
    Filling,
    /// It has what was kept, and hears what comes.
    Live,
    /// It hears what comes, and could not read in time all that was kept.
    InPart,
    /// It hears nothing.
    Broken(String),
}

/// The index, and whoever looks at it.
#[derive(Debug)]
pub(super) struct Feed {
    nats: NatsClient,
    recent: Mutex<Recent>,
    listens: watch::Sender<Listens>,
    looked_at: watch::Sender<Instant>,
}

impl Feed {
    /// Begins to keep an index of the latest `most` requests, until `stop`.
    pub(super) fn start(
        onlooker: Onlooker,
        most: NonZeroUsize,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let feed = Arc::new(Self {
            nats: onlooker.nats.clone(),
            recent: Mutex::new(Recent::of(most)),
            listens: watch::Sender::new(Listens::Asleep),
            looked_at: watch::Sender::new(Instant::now()),
        });
        let keeper = Keeper::new(Arc::clone(&feed), onlooker, most);
        tokio::spawn(async move { stop.run_until_cancelled(keeper.keep()).await });
        feed
    }

    /// Looks at the index, which is kept for a while from now on; waits a moment for one that is
    /// being made.
    pub(super) async fn look<T>(&self, patience: Duration, at: impl FnOnce(&Recent) -> T) -> T {
        self.looked_at.send_replace(Instant::now());
        let mut listens = self.listens.subscribe();
        let made = listens.wait_for(|it| !matches!(it, Listens::Asleep | Listens::Filling));
        // Whoever is too impatient sees by `listens` that it is not all.
        timeout(patience, made).await.ok();
        at(&self.index())
    }

    /// How good the index is.
    pub(super) fn listens(&self) -> Listens {
        if !self.nats.is_connected() {
            return Listens::Broken("the connection to nats is broken".to_owned());
        }
        self.listens.borrow().clone()
    }

    /// The index itself, for whoever keeps it.
    pub(super) fn index(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who look how good it is.
    pub(super) fn now(&self, listens: Listens) {
        self.listens.send_replace(listens);
    }

    /// When somebody looked last.
    pub(super) fn looked_at(&self) -> watch::Receiver<Instant> {
        self.looked_at.subscribe()
    }
}

//! Keeps the index of the latest requests: hears what is published, and reads what was kept for
//! what happened before it listened or while it could not.
//!
//! It listens while somebody looks, and a while longer. Never: on a connection that others need; a
//! message that no client library can read takes the connection with it.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    fill::{Fill, Known},
    heard,
    recent::{Recent, Told},
};
use crate::{
    broker::{
        BrokerFault, StoredResult,
        nats::{NatsClient, ResultSubscription},
    },
    inspect::Onlooker,
};

/// How long it listens on when nobody looks.
const LISTENS_ON: Duration = Duration::from_secs(600);

/// How long it may read what was kept.
const FILL_WITHIN: Duration = Duration::from_secs(30);

/// Between tries.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How good the index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Listens {
    /// Nobody has looked for a while.
    Asleep,
    /// It reads what was kept.
    Filling,
    /// It has what was kept, and hears what comes.
    Live,
    /// It hears nothing.
    Broken(String),
}

/// The index, and whoever keeps it.
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
        let kept = Arc::clone(&feed);
        tokio::spawn(async move {
            let keeping = kept.keep(&onlooker, most);
            stop.run_until_cancelled(keeping).await;
        });
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
        at(&self.lock())
    }

    /// How good the index is.
    pub(super) fn listens(&self) -> Listens {
        if !self.nats.is_connected() {
            return Listens::Broken("the connection to nats is broken".to_owned());
        }
        self.listens.borrow().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn keep(&self, onlooker: &Onlooker, most: NonZeroUsize) {
        let mut looked_at = self.looked_at.subscribe();
        let mut known = Known::default();
        while looked_at.changed().await.is_ok() {
            while let Err(fault) = self.listen(onlooker, most, &mut known).await {
                tracing::warn!(%fault, "the dashboard does not hear what happens");
                self.listens
                    .send_replace(Listens::Broken(fault.to_string()));
                sleep(AGAIN_AFTER).await;
            }
            self.listens.send_replace(Listens::Asleep);
        }
    }

    /// Listens until nobody has looked for long.
    async fn listen(
        &self,
        onlooker: &Onlooker,
        most: NonZeroUsize,
        known: &mut Known,
    ) -> Result<(), BrokerFault> {
        let (nats, subjects) = (&onlooker.nats, &onlooker.subjects);
        let mut requests = nats.events(&subjects.invoke_all()).await?;
        let mut results = nats.all_results().await?;
        let mut events = nats.events(&subjects.events_all()).await?;
        self.fill(onlooker, most, known).await?;
        let mut looked_at = self.looked_at.subscribe();
        loop {
            let until = *looked_at.borrow_and_update() + LISTENS_ON;
            let now = || onlooker.clock.now();
            let told = tokio::select! {
                message = next(&mut requests) => message.map(|(subject, it)| {
                    heard::request(subjects, &subject, &it.body, now(), None)
                }),
                message = next(&mut results) => message.map(|(subject, it)| {
                    heard::result(subjects, &subject, &it.headers, &it.body, now())
                }),
                message = next(&mut events) => message.map(|(_, it)| heard::event(&it.body)),
                _ = looked_at.changed() => continue,
                () = sleep_until(until) => return Ok(()),
            };
            match told {
                Some(told) => told.into_iter().for_each(|told| self.lock().take(told)),
                // The connection was lost: what was missed is kept.
                None => self.fill(onlooker, most, known).await?,
            }
        }
    }

    /// Takes in what was kept since it last did, or as much of it as it can read in time.
    async fn fill(
        &self,
        onlooker: &Onlooker,
        most: NonZeroUsize,
        known: &mut Known,
    ) -> Result<(), BrokerFault> {
        self.listens.send_replace(Listens::Filling);
        let mut fill = Fill::new(onlooker, most, known);
        match timeout(FILL_WITHIN, fill.read()).await {
            Ok(read) => read?,
            Err(_) => tracing::warn!("the dashboard knows the older requests only in part"),
        }
        let told: Vec<Told> = fill.told();
        let mut recent = self.lock();
        told.into_iter().for_each(|told| recent.take(told));
        drop(recent);
        self.listens.send_replace(Listens::Live);
        Ok(())
    }
}

async fn next(subscription: &mut ResultSubscription) -> Option<(String, StoredResult)> {
    subscription.next().await
}

//! Keeps the index of the latest requests: hears what is published, and reads what was kept for
//! what happened before it listened or while it could not.
//!
//! Never: on a connection that others need; a message that no client library can read takes the
//! connection with it.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    feed::{Feed, Listens},
    fill::{Fill, Known},
    heard,
};
use crate::{
    broker::{BrokerFault, StoredResult, nats::ResultSubscription},
    inspect::Onlooker,
};

/// How long it listens on when nobody looks.
const LISTENS_ON: Duration = Duration::from_secs(600);

/// How long it may read what was kept.
const FILL_WITHIN: Duration = Duration::from_secs(30);

/// How long after a request that did not say its ids the queue is read, where it has some; others
/// may come until then.
const QUEUE_READ_AFTER: Duration = Duration::from_millis(500);

/// Between tries.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Whoever keeps the index.
pub(super) struct Keeper {
    feed: Arc<Feed>,
    onlooker: Onlooker,
    /// Requests that the index has room for.
    most: NonZeroUsize,
    known: Known,
}

/// What is listened to.
struct Heard {
    requests: ResultSubscription,
    results: ResultSubscription,
    events: ResultSubscription,
}

impl Keeper {
    pub(super) fn new(feed: Arc<Feed>, onlooker: Onlooker, most: NonZeroUsize) -> Self {
        Self {
            feed,
            onlooker,
            most,
            known: Known::default(),
        }
    }

    /// Keeps it for as long as somebody may look.
    pub(super) async fn keep(mut self) {
        let mut looked_at = self.feed.looked_at();
        while looked_at.changed().await.is_ok() {
            while let Err(fault) = self.listen().await {
                tracing::warn!(%fault, "the dashboard does not hear what happens");
                self.feed.now(Listens::Broken(fault.to_string()));
                sleep(AGAIN_AFTER).await;
            }
            self.feed.now(Listens::Asleep);
        }
    }

    /// Listens until nobody has looked for long.
    async fn listen(&mut self) -> Result<(), BrokerFault> {
        let mut heard = self.subscribe().await?;
        self.fill().await?;
        let mut looked_at = self.feed.looked_at();
        let mut queue_read_at = None;
        loop {
            let until = *looked_at.borrow_and_update() + LISTENS_ON;
            let (subjects, clock) = (&self.onlooker.subjects, &self.onlooker.clock);
            let told = tokio::select! {
                message = heard.requests.next() => message.map(|(subject, it)| {
                    let told = heard::request(subjects, &subject, &it.body, clock.now(), None);
                    if told.is_none() {
                        queue_read_at.get_or_insert_with(|| Instant::now() + QUEUE_READ_AFTER);
                    }
                    told
                }),
                message = heard.results.next() => message.map(|(subject, StoredResult { headers, body })| {
                    heard::result(subjects, &subject, &headers, &body, clock.now())
                }),
                message = heard.events.next() => message.map(|(_, it)| heard::event(&it.body)),
                () = at(queue_read_at) => {
                    queue_read_at = None;
                    self.read_queue().await?;
                    continue;
                }
                _ = looked_at.changed() => continue,
                () = sleep_until(until) => return Ok(()),
            };
            match told {
                Some(told) => told
                    .into_iter()
                    .for_each(|told| self.feed.index().take(told)),
                // The connection was lost: what was missed is kept.
                None => self.fill().await?,
            }
        }
    }

    async fn subscribe(&self) -> Result<Heard, BrokerFault> {
        let Onlooker { nats, subjects, .. } = &self.onlooker;
        Ok(Heard {
            requests: nats.events(&subjects.invoke_all()).await?,
            results: nats.all_results().await?,
            events: nats.events(&subjects.events_all()).await?,
        })
    }

    /// Takes in what was kept since it last did, or as much of it as it can read in time.
    async fn fill(&mut self) -> Result<(), BrokerFault> {
        self.feed.now(Listens::Filling);
        let mut fill = Fill::new(&self.onlooker, self.most, self.known);
        let listens = match timeout(FILL_WITHIN, fill.read()).await {
            Ok(read) => {
                read?;
                Listens::Live
            }
            Err(_) => {
                tracing::warn!("the dashboard knows the older requests only in part");
                Listens::InPart
            }
        };
        self.known = self.take(fill);
        self.feed.now(listens);
        Ok(())
    }

    /// Takes in the requests that came since it last did, or as many as it can read in time.
    async fn read_queue(&mut self) -> Result<(), BrokerFault> {
        let mut fill = Fill::new(&self.onlooker, self.most, self.known);
        match timeout(FILL_WITHIN, fill.requests()).await {
            Ok(read) => read?,
            Err(_) => tracing::warn!("the dashboard knows what is queued only in part"),
        }
        self.known = self.take(fill);
        Ok(())
    }

    fn take(&self, fill: Fill<'_>) -> Known {
        let (told, known) = fill.told();
        let mut recent = self.feed.index();
        told.into_iter().for_each(|told| recent.take(told));
        known
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

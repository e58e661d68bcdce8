//! Executions as they go on: whoever watches one is told of what happens to it.
//!
//! Results and events are heard over two subscriptions, however many are watched; records, which
//! nobody announces, are read in batches. What is heard is a reason to look; a reader that missed
//! something finds it in the record and in the streams.
//! Never: a promise that every state is seen; the last one always is.

mod watched;

#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

pub use self::watched::Watched;
use super::{Unfound, state::State};
use crate::{
    broker::ResultMessage,
    client::{Arrival, ClientFault},
    contract::Event,
    gateway::fleet::{Fleet, Subscribed},
    store::executions::Execution,
};

/// How often it is seen who is due to be looked at.
const TICK: Duration = Duration::from_millis(250);

/// Between two attempts to subscribe.
const SUBSCRIBE_AGAIN: Duration = Duration::from_secs(1);

/// Executions that are looked at in one call ...
const LOOKED_AT_ONCE: usize = 256;

/// ... and that are looked into at a time.
const LOOKED_INTO_AT_ONCE: usize = 32;

/// All executions that somebody watches here.
#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    fleet: Arc<dyn Fleet>,
    kept: Duration,
    /// Ends the waiting of whoever waits for an end.
    stop: CancellationToken,
    /// By the subject of the result.
    watched: Mutex<HashMap<String, Weak<Watched>>>,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hub")
    }
}

/// What is done with what is heard.
type Told = fn(&Inner, &ResultMessage);

impl Hub {
    /// A hub on this fleet, which keeps results for so long. Nothing is heard until it is
    /// [run](Hub::run); nobody waits longer than until `stop`.
    pub fn new(fleet: Arc<dyn Fleet>, kept: Duration, stop: CancellationToken) -> Self {
        Self(Arc::new(Inner {
            fleet,
            kept,
            stop,
            watched: Mutex::default(),
        }))
    }

    /// Hears and looks for as long as it is polled.
    pub async fn run(self) {
        let subjects = self.0.fleet.subjects();
        let (results, events) = (subjects.results_all(), subjects.events_all());
        tokio::join!(
            self.hear(&results, Inner::result),
            self.hear(&events, Inner::event),
            self.look_around(),
        );
    }

    /// Follows an execution from now on; what is known of it is read before this returns.
    pub async fn watch(&self, execution: &Execution) -> Result<Arc<Watched>, Unfound> {
        let watched = self.entry(execution);
        if watched.is_new() {
            let events = self.0.fleet.events(execution).await?;
            events.into_iter().for_each(|event| watched.happened(event));
            watched.look(&self.0).await?;
        }
        Ok(watched)
    }

    fn entry(&self, execution: &Execution) -> Arc<Watched> {
        let subjects = self.0.fleet.subjects();
        let place = subjects.result(&execution.correlation, &execution.key.request);
        let mut watched = self.0.watched();
        if let Some(known) = watched.get(&place).and_then(Weak::upgrade) {
            return known;
        }
        let fresh = Arc::new(Watched::new(execution, place.clone(), &self.0));
        watched.insert(place, Arc::downgrade(&fresh));
        fresh
    }

    /// Hears what is published under `filter`, for ever.
    async fn hear(&self, filter: &str, told: Told) {
        loop {
            match self.0.fleet.hear(filter).await {
                Ok(mut heard) => self.relay(&mut *heard, told).await,
                Err(fault) => tracing::warn!(%fault, "gateway_cannot_subscribe"),
            }
            sleep(SUBSCRIBE_AGAIN).await;
        }
    }

    async fn relay(&self, heard: &mut dyn Subscribed, told: Told) {
        // What was published before the subscription stood has been missed.
        self.0.look_at_all();
        loop {
            match heard.next().await {
                Arrival::Result(message) => told(&self.0, &message),
                Arrival::Reconnected => self.0.look_at_all(),
            }
        }
    }

    async fn look_around(&self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let due = self.0.due();
            for some in due.chunks(LOOKED_AT_ONCE) {
                if let Err(fault) = self.0.look_at(some).await {
                    tracing::debug!(%fault, "watched executions could not be looked at");
                }
            }
        }
    }
}

impl Inner {
    fn watched(&self) -> MutexGuard<'_, HashMap<String, Weak<Watched>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, place: &str) -> Option<Arc<Watched>> {
        self.watched().get(place).and_then(Weak::upgrade)
    }

    /// A result was published, in the place of an execution or aside from it.
    fn result(&self, message: &ResultMessage) {
        let place = &message.subject;
        let aside = || self.at(place.rsplit_once('.')?.0);
        if let Some(watched) = self.at(place).or_else(aside) {
            watched.answered(message, self.fleet.now());
        }
    }

    fn event(&self, message: &ResultMessage) {
        let Ok(event) = serde_json::from_slice::<Event>(&message.body) else {
            return;
        };
        let subjects = self.fleet.subjects();
        let place = subjects.result(&event.correlation_id, &event.request_id);
        if let Some(watched) = self.at(&place) {
            watched.happened(event);
        }
    }

    fn look_at_all(&self) {
        let all: Vec<_> = self.watched().values().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|watched| watched.look_deep_soon());
    }

    fn due(&self) -> Vec<Arc<Watched>> {
        // All of them, then those that are due: the last to let go of one needs the list.
        let mut all: Vec<_> = self.watched().values().filter_map(Weak::upgrade).collect();
        let now = Instant::now();
        all.retain(|watched| watched.is_due(now));
        all
    }

    /// Looks at the records of these; further where a record says that there is more to be known.
    async fn look_at(&self, some: &[Arc<Watched>]) -> Result<(), ClientFault> {
        let keys: Vec<_> = some.iter().map(|it| it.execution.key.clone()).collect();
        let records = self.fleet.records(&keys).await?;
        let now = self.fleet.now();
        let mut deep = Vec::new();
        for (watched, record) in some.iter().zip(records) {
            watched.rest();
            if watched.is_to_be_looked_at(record.as_ref(), now) {
                deep.push(Arc::clone(watched));
            } else if let Some(state) = record.as_ref().and_then(State::under_way) {
                watched.turn(Ok(state));
            }
        }
        stream::iter(deep)
            .map(|watched| async move {
                // A result that is kept no longer is news too.
                if let Err(Unfound::Fault(fault)) = watched.look(self).await {
                    tracing::debug!(%fault, "a watched execution could not be looked at");
                    watched.look_deep_soon();
                }
            })
            .buffer_unordered(LOOKED_INTO_AT_ONCE)
            .collect::<()>()
            .await;
        Ok(())
    }
}

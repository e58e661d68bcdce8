//! Follows what is told of one request: what is kept of it, then what comes.

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};

use super::{Arrival, Arrivals as _, Client, ClientFault, Happenings};
use crate::{
    contract::{CorrelationId, Event, PurutoName, RequestId},
    store::Records,
};

/// What is told of one request, each event once.
pub struct Following<E: Happenings> {
    exchange: Arc<E>,
    arrivals: E::Arrivals,
    filter: String,
    target: Option<PurutoName>,
    read_back: Duration,
    /// Two events of one request that say the same of the same moment are one.
    known: HashSet<Bytes>,
    ready: VecDeque<Event>,
    look_at: Instant,
}

impl<E: Happenings> fmt::Debug for Following<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Following").field(&self.filter).finish()
    }
}

impl<E: Happenings, R: Records> Client<E, R> {
    /// What is kept of what was told of the requests with this id, oldest first. What cannot be
    /// read, such as an event of a later kind, is passed over.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn events(
        &self,
        request: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<Vec<Event>, ClientFault> {
        let filter = self.settings.subjects.events_in_any_chain(request);
        let mut events = self.events_under(&filter).await?;
        events.retain(|event| target.is_none_or(|target| event.target == *target));
        Ok(events)
    }

    /// As [`Client::events`], of every request of a chain.
    pub(super) async fn events_of(&self, chain: &CorrelationId) -> Result<Vec<Event>, ClientFault> {
        let filter = self.settings.subjects.events_of(chain);
        self.events_under(&filter).await
    }

    pub(super) async fn events_under(&self, filter: &str) -> Result<Vec<Event>, ClientFault> {
        let stored = self.exchange.stored_events(filter).await?;
        let read = |body: &Bytes| serde_json::from_slice(body).ok();
        Ok(stored.iter().filter_map(|it| read(&it.body)).collect())
    }

    /// Follows what is told of the requests with this id, from the first that is kept on.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn follow(
        &self,
        request: &RequestId,
        target: Option<&PurutoName>,
    ) -> Result<Following<E>, ClientFault> {
        let filter = self.settings.subjects.events_in_any_chain(request);
        Ok(Following {
            exchange: Arc::clone(&self.exchange),
            arrivals: self.exchange.hear(&filter).await?,
            filter,
            target: target.cloned(),
            read_back: self.settings.patience.read_back,
            known: HashSet::new(),
            ready: VecDeque::new(),
            look_at: Instant::now(),
        })
    }
}

impl<E: Happenings> Following<E> {
    /// The next event; stays pending while there is none. Safe to drop and call again.
    ///
    /// # Errors
    /// The broker did not answer when the stream was read; asking again does no harm.
    pub async fn next(&mut self) -> Result<Event, ClientFault> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            tokio::select! {
                biased;
                () = sleep_until(self.look_at) => self.look().await?,
                arrival = self.arrivals.next() => match arrival {
                    Arrival::Result(message) => self.take(message.body),
                    Arrival::Reconnected => self.look_at = Instant::now(),
                },
            }
        }
    }

    /// Reads what is kept: at first, and for what was missed.
    async fn look(&mut self) -> Result<(), ClientFault> {
        let stored = self.exchange.stored_events(&self.filter).await?;
        stored
            .into_iter()
            .for_each(|message| self.take(message.body));
        self.look_at = Instant::now() + self.read_back;
        Ok(())
    }

    fn take(&mut self, body: Bytes) {
        let event: Option<Event> = serde_json::from_slice(&body).ok();
        let ours = |event: &Event| self.target.as_ref().is_none_or(|it| event.target == *it);
        if self.known.insert(body) {
            self.ready.extend(event.filter(ours));
        }
    }
}

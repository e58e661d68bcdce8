//! Looks for requests that lie in the stream: what is queued, is worked on, or waits.

use super::{Client, ClientFault, Exchange, Queue};
use crate::{
    broker::{StoredMessage, StreamName},
    contract::{CorrelationId, Draft, InvocationRequest, Lane, MintedIds, PurutoName, RequestId},
    store::{Records, RequestKey},
};

/// Messages that one search reads at most.
const SEARCH_MAX: usize = 20_000;

/// A request that lies in the stream.
#[derive(Clone, Debug)]
pub struct Queued {
    /// Whom it asks, by its subject.
    pub target: PurutoName,
    /// How urgent it is.
    pub lane: Lane,
    /// What it asks for.
    pub request: InvocationRequest,
    /// The message.
    pub message: StoredMessage,
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub enum Sought<'s> {
    /// The requests with this id.
    Request(&'s RequestId),
    /// The requests of a chain.
    Chain(&'s CorrelationId),
}

impl Sought<'_> {
    fn is(self, request: &InvocationRequest) -> bool {
        match self {
            Self::Request(id) => request.request_id == *id,
            Self::Chain(chain) => request.correlation_id == *chain,
        }
    }
}

impl Queued {
    /// Its record's name.
    #[must_use]
    pub fn key(&self) -> RequestKey {
        RequestKey {
            target: self.target.clone(),
            request: self.request.request_id.clone(),
        }
    }
}

impl<E: Exchange + Queue, R: Records> Client<E, R> {
    /// The requests among the first 20,000 that lie in the stream, of one target or of all, which
    /// are looked for; in the order in which they were published.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn queued(
        &self,
        sought: Sought<'_>,
        target: Option<&PurutoName>,
    ) -> Result<Vec<Queued>, ClientFault> {
        let subjects = &self.settings.subjects;
        let filters = match target {
            // The plain subject has no token behind it: no one filter covers all three lanes.
            Some(target) => Lane::ALL.map(|lane| subjects.invoke(target, lane)).to_vec(),
            None => vec![subjects.invoke_all()],
        };
        let mut found = Vec::new();
        for filter in filters {
            self.search(&filter, sought, &mut found).await?;
        }
        found.sort_by_key(|it| it.message.sequence);
        Ok(found)
    }

    async fn search(
        &self,
        filter: &str,
        sought: Sought<'_>,
        found: &mut Vec<Queued>,
    ) -> Result<(), ClientFault> {
        let mut from = 1;
        for _ in 0..SEARCH_MAX {
            let Some(message) = self.exchange.next_queued(from, filter).await? else {
                break;
            };
            from = message.sequence.saturating_add(1);
            let read = self.read_queued(message);
            found.extend(read.filter(|it| sought.is(&it.request)));
        }
        Ok(())
    }

    fn read_queued(&self, message: StoredMessage) -> Option<Queued> {
        let subjects = &self.settings.subjects;
        let (target, lane) = subjects.parse_invoke(&message.subject)?;
        let stream = StreamName::invoke(subjects);
        let stored_at = message.stored_at.unix_millis();
        let minted = MintedIds::of_message(stream.as_str(), message.sequence, stored_at);
        Some(Queued {
            target,
            lane,
            request: Draft::parse(&message.body).ok()?.complete(minted),
            message,
        })
    }

    /// How many requests lie in the lane of this one before it and are not delivered yet, counted
    /// up to `most`; `delivered` is the last sequence that the lane has given out.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn ahead_of(
        &self,
        queued: &Queued,
        delivered: u64,
        most: u64,
    ) -> Result<u64, ClientFault> {
        let filter = self.settings.subjects.invoke(&queued.target, queued.lane);
        let (mut from, mut ahead) = (delivered.saturating_add(1), 0);
        while ahead < most {
            match self.exchange.next_queued(from, &filter).await? {
                Some(message) if message.sequence < queued.message.sequence => {
                    from = message.sequence.saturating_add(1);
                    ahead += 1;
                }
                Some(_) | None => break,
            }
        }
        Ok(ahead)
    }
}

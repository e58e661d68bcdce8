//! Reads what was kept of the latest requests: their results, their events and those that lie in
//! the queue, the newest first.

use std::num::NonZeroUsize;

use super::{heard, recent::Told};
use crate::{
    broker::{
        BrokerFault, StoredMessage,
        nats::{Extent, Journal},
    },
    inspect::Onlooker,
};

/// Requests in the queue that are read one by one, at most.
const QUEUED_MAX: u64 = 20_000;

/// Sequences that are read before older ones are.
const WINDOW: u64 = 5_000;

/// Up to which sequences everything was read. Of requests, those that say their ids are heard as well.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    results: u64,
    events: u64,
    requests: u64,
}

/// One reading.
pub(super) struct Fill<'f> {
    onlooker: &'f Onlooker,
    most: u64,
    known: Known,
    told: Vec<Told>,
}

impl<'f> Fill<'f> {
    /// Reads what was kept of `most` requests and is not known.
    pub(super) fn new(onlooker: &'f Onlooker, most: NonZeroUsize, known: Known) -> Self {
        Self {
            onlooker,
            most: u64::try_from(most.get()).unwrap_or(u64::MAX),
            known,
            told: Vec::new(),
        }
    }

    /// What was read, in the order in which the requests were there, and what is known by it.
    pub(super) fn told(mut self) -> (Vec<Told>, Known) {
        self.told.sort_by_key(Told::began);
        (self.told, self.known)
    }

    /// Reads all of it. What was read before this is dropped stays read.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub(super) async fn read(&mut self) -> Result<(), BrokerFault> {
        self.requests().await?;
        let known = self.known;
        self.known.results = self.journal(Journal::Results, known.results).await?;
        self.known.events = self.journal(Journal::Events, known.events).await?;
        Ok(())
    }

    /// Reads the requests that lie in the queue. What was read before this is dropped stays read.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub(super) async fn requests(&mut self) -> Result<(), BrokerFault> {
        let nats = &self.onlooker.nats;
        let Some(extent) = nats.queued_extent().await? else {
            return Ok(());
        };
        let last = extent.last;
        let mut from = begin_queued(self.known.requests, extent, QUEUED_MAX.min(self.most));
        let all = self.onlooker.subjects.invoke_all();
        while from <= last {
            // By a call that survives what no client library can read.
            let Some(message) = nats.next_request(from, &all).await? else {
                break;
            };
            from = message.sequence.saturating_add(1);
            let told = heard::stored_request(&self.onlooker.subjects, &message);
            self.told.extend(told);
        }
        self.known.requests = last;
        Ok(())
    }

    /// Reads a journal from its end back to `known`, and says where its end was.
    async fn journal(&mut self, journal: Journal, known: u64) -> Result<u64, BrokerFault> {
        let Some(last) = self.onlooker.nats.last_kept(journal).await? else {
            return Ok(0);
        };
        let first = begin(known, last, self.most);
        let mut end = last;
        while end >= first {
            let begin = end.saturating_sub(WINDOW - 1).max(first);
            self.window(journal, begin, end).await?;
            end = begin - 1;
        }
        Ok(last)
    }

    async fn window(&mut self, journal: Journal, begin: u64, end: u64) -> Result<(), BrokerFault> {
        let mut from = begin;
        while from <= end {
            let messages = self.onlooker.nats.kept_from(journal, from).await?;
            let Some(newest) = messages.last() else {
                break;
            };
            from = newest.sequence.saturating_add(1);
            let within = messages.iter().filter(|it| it.sequence <= end);
            let subjects = &self.onlooker.subjects;
            self.told
                .extend(within.filter_map(|it| told(subjects, journal, it)));
        }
        Ok(())
    }
}

fn told(
    subjects: &crate::contract::Subjects,
    journal: Journal,
    message: &StoredMessage,
) -> Option<Told> {
    let StoredMessage { subject, body, .. } = message;
    match journal {
        Journal::Results => {
            let headers = message.headers.as_ref().ok()?;
            heard::result(subjects, subject, headers, body, message.stored_at)
        }
        Journal::Events => heard::event(body),
    }
}

/// The first sequence of interest: behind what is known, and not too far from the end. A stream
/// that ends before what is known was made anew.
fn begin(known: u64, last: u64, most: u64) -> u64 {
    let known = if known > last { 0 } else { known };
    known.saturating_add(1).max(last.saturating_sub(most) + 1)
}

/// The same in the queue, where few messages may lie far apart.
fn begin_queued(known: u64, queued: Extent, most: u64) -> u64 {
    let spread = if queued.messages <= most {
        queued.last.saturating_sub(queued.first) + 1
    } else {
        most
    };
    begin(known, queued.last, spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_begins_behind_what_is_known_and_not_too_far_back() {
        assert_eq!(begin(0, 10, 100), 1);
        assert_eq!(begin(0, 1_000, 100), 901);
        assert_eq!(begin(950, 1_000, 100), 951);
        assert_eq!(begin(1_000, 1_000, 100), 1_001);
        assert_eq!(begin(1_000, 7, 100), 1, "the stream was made anew");
    }

    #[test]
    fn a_request_that_has_waited_for_long_among_few_is_read_too() {
        let queued = |messages| Extent {
            messages,
            first: 500,
            last: 90_000,
        };
        assert_eq!(begin_queued(0, queued(2), 100), 500);
        assert_eq!(begin_queued(89_000, queued(2), 100), 89_001);
        assert_eq!(begin_queued(0, queued(101), 100), 89_901);
    }
}

//! The twin's stream of requests, with its consumers' bookkeeping.
//!
//! Never: waiting; whoever pulls asks when to look again.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;

use super::super::{ConsumerName, Headers};
use crate::clock::WallTime;

/// How long a delivery may stay unsettled; the same as the real consumers'.
pub(super) const ACK_WAIT: Duration = Duration::from_secs(15);

/// A message that is still in the stream.
struct Stored {
    subject: Box<str>,
    headers: Headers,
    body: Bytes,
    stored_at: WallTime,
    /// How often its consumer has delivered it.
    delivered: u64,
    /// When it may be delivered again; meaningless before the first delivery.
    again_at: Option<Instant>,
}

/// One delivery, before it is clothed as such.
pub(super) struct Handed {
    pub(super) sequence: u64,
    pub(super) delivered: u64,
    pub(super) consumer_sequence: u64,
    pub(super) pending: u64,
    pub(super) headers: Headers,
    pub(super) body: Bytes,
    pub(super) stored_at: WallTime,
}

/// What a consumer has to hand out.
pub(super) enum Next {
    /// This.
    Now(Handed),
    /// Nothing before this moment.
    At(Instant),
    /// Nothing until something changes.
    Nothing,
}

#[derive(Default)]
pub(super) struct Queue {
    last_sequence: u64,
    messages: BTreeMap<u64, Stored>,
    /// Consumers by name, with the number of deliveries they have made.
    consumers: HashMap<ConsumerName, u64>,
    duplicates: usize,
}

impl Queue {
    pub(super) fn store(
        &mut self,
        subject: &str,
        headers: Headers,
        body: Bytes,
        stored_at: WallTime,
    ) -> u64 {
        self.last_sequence += 1;
        let stored = Stored {
            subject: subject.into(),
            headers,
            body,
            stored_at,
            delivered: 0,
            again_at: None,
        };
        self.messages.insert(self.last_sequence, stored);
        self.last_sequence
    }

    pub(super) fn sequences(&self) -> Vec<u64> {
        self.messages.keys().copied().collect()
    }

    pub(super) fn create_consumer(&mut self, consumer: &ConsumerName) {
        self.consumers.entry(consumer.clone()).or_default();
    }

    /// Deletes the one consumer of `subject`.
    pub(super) fn delete_consumer(&mut self, consumer: &ConsumerName, subject: &str) {
        self.consumers.remove(consumer);
        for message in self.messages.values_mut() {
            if &*message.subject == subject {
                message.delivered = 0;
                message.again_at = None;
            }
        }
    }

    /// Removes a message, whoever acks it; `None` when the consumer is gone. A message that is not
    /// there any more is removed all the same.
    pub(super) fn remove(&mut self, consumer: &str, sequence: u64) -> Option<()> {
        let mut names = self.consumers.keys();
        names.find(|name| name.as_str() == consumer)?;
        self.messages.remove(&sequence);
        Some(())
    }

    /// Puts off the next delivery of a message that was delivered before.
    pub(super) fn delay(&mut self, sequence: u64, until: Instant) {
        if let Some(message) = self.messages.get_mut(&sequence)
            && message.again_at.is_some()
        {
            message.again_at = Some(until);
        }
    }

    /// Starts the ack wait of a delivered message anew.
    pub(super) fn extend(&mut self, sequence: u64, now: Instant) {
        self.delay(sequence, now + ACK_WAIT);
    }

    pub(super) fn duplicate_next(&mut self) {
        self.duplicates += 1;
    }

    /// What the consumer of `subject` hands out at `now`: first what is due again, then what is
    /// new, each oldest first.
    pub(super) fn hand_out(
        &mut self,
        consumer: &ConsumerName,
        subject: &str,
        now: Instant,
    ) -> Next {
        let waiting = || self.messages.iter().filter(|(_, m)| &*m.subject == subject);
        let due = waiting().find(|(_, m)| m.again_at.is_some_and(|at| at <= now));
        let fresh = || waiting().find(|(_, m)| m.again_at.is_none());
        match due.or_else(fresh) {
            Some((&sequence, _)) => self.deliver(consumer, sequence, now),
            None => waiting()
                .filter_map(|(_, m)| m.again_at)
                .min()
                .map_or(Next::Nothing, Next::At),
        }
    }

    fn deliver(&mut self, consumer: &ConsumerName, sequence: u64, now: Instant) -> Next {
        let Some(message) = self.messages.get_mut(&sequence) else {
            return Next::Nothing;
        };
        message.delivered += 1;
        let again_after = match self.duplicates.checked_sub(1) {
            Some(left) => {
                self.duplicates = left;
                Duration::ZERO
            }
            None => ACK_WAIT,
        };
        message.again_at = Some(now + again_after);
        let consumer_sequence = self.consumers.entry(consumer.clone()).or_default();
        *consumer_sequence += 1;
        let mut handed = Handed {
            sequence,
            delivered: message.delivered,
            consumer_sequence: *consumer_sequence,
            pending: 0,
            headers: message.headers.clone(),
            body: message.body.clone(),
            stored_at: message.stored_at,
        };
        handed.pending = self.undelivered_beside(sequence);
        Next::Now(handed)
    }

    fn undelivered_beside(&self, sequence: u64) -> u64 {
        let Some(subject) = self.messages.get(&sequence).map(|m| &m.subject) else {
            return 0;
        };
        let undelivered = |m: &&Stored| m.again_at.is_none() && m.subject == *subject;
        let count = self.messages.values().filter(undelivered).count();
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

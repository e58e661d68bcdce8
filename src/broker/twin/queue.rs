//! The twin's stream of requests, with its consumers' bookkeeping.
//!
//! Never: waiting; whoever pulls asks when to look again.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::Instant;

use super::super::{ConsumerName, Headers, LaneStanding, StoredMessage, SubjectCount};
use crate::clock::WallTime;

/// How long a delivery may stay unsettled; the same as the real consumers'.
pub(super) const ACK_WAIT: Duration = Duration::from_secs(15);

/// A message that is still in the stream.
struct Held {
    message: StoredMessage,
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
    messages: BTreeMap<u64, Held>,
    /// Consumers by name, with the number of deliveries they have made.
    consumers: HashMap<ConsumerName, u64>,
    /// Consumers that skip every message up to this sequence.
    ahead: HashMap<ConsumerName, u64>,
    /// How often a message is delivered at most.
    deliveries_max: Option<u64>,
    duplicates: usize,
}

impl Queue {
    /// Stores what `message` makes of the sequence that it gets.
    pub(super) fn store(&mut self, message: impl FnOnce(u64) -> StoredMessage) -> u64 {
        self.last_sequence += 1;
        let held = Held {
            message: message(self.last_sequence),
            delivered: 0,
            again_at: None,
        };
        self.messages.insert(self.last_sequence, held);
        self.last_sequence
    }

    pub(super) fn subjects(&self) -> Vec<SubjectCount> {
        let mut counts = BTreeMap::<_, u64>::new();
        for held in self.messages.values() {
            *counts.entry(held.message.subject.clone()).or_default() += 1;
        }
        let count = |(subject, messages)| SubjectCount { subject, messages };
        counts.into_iter().map(count).collect()
    }

    /// The first message from `from` on that is wanted.
    pub(super) fn first(
        &self,
        from: u64,
        is_wanted: impl Fn(&StoredMessage) -> bool,
    ) -> Option<StoredMessage> {
        let mut messages = self.messages.range(from..).map(|(_, held)| &held.message);
        messages.find(|message| is_wanted(message)).cloned()
    }

    pub(super) fn get(&self, sequence: u64) -> Option<StoredMessage> {
        let held = self.messages.get(&sequence)?;
        Some(held.message.clone())
    }

    /// Removes a message for good; whether it was there.
    pub(super) fn remove(&mut self, sequence: u64) -> bool {
        self.messages.remove(&sequence).is_some()
    }

    pub(super) fn sequences(&self) -> Vec<u64> {
        self.messages.keys().copied().collect()
    }

    pub(super) const fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// How the consumer of `subject` stands at `now`, if there is one.
    pub(super) fn lane_standing(
        &self,
        consumer: &ConsumerName,
        subject: &str,
        now: Instant,
    ) -> Option<LaneStanding> {
        self.consumers.get(consumer)?;
        let ahead = self.ahead.get(consumer).copied().unwrap_or_default();
        let mut standing = LaneStanding {
            pending: 0,
            unsettled: 0,
            delivered: ahead,
        };
        let lane = self.messages.iter();
        for (&sequence, held) in lane.filter(|(_, held)| &*held.message.subject == subject) {
            let is_offered = self.offers(consumer, sequence, held, now);
            if held.again_at.is_some() {
                standing.delivered = standing.delivered.max(sequence);
                standing.unsettled += u64::from(is_offered);
            } else {
                standing.pending += u64::from(is_offered);
            }
        }
        Some(standing)
    }

    /// Whether a consumer will still deliver a message, or waits for word of it.
    fn offers(&self, consumer: &ConsumerName, sequence: u64, held: &Held, now: Instant) -> bool {
        let Some(again_at) = held.again_at else {
            return self
                .ahead
                .get(consumer)
                .is_none_or(|ahead| sequence > *ahead);
        };
        let may_again = self.deliveries_max.is_none_or(|max| held.delivered < max);
        may_again || again_at > now
    }

    pub(super) const fn deliver_at_most(&mut self, times: u64) {
        self.deliveries_max = Some(times);
    }

    pub(super) fn put_ahead(&mut self, consumer: &ConsumerName, sequence: u64) {
        self.ahead.insert(consumer.clone(), sequence);
    }

    pub(super) fn create_consumer(&mut self, consumer: &ConsumerName) {
        self.consumers.entry(consumer.clone()).or_default();
    }

    /// Deletes the one consumer of `subject`.
    pub(super) fn delete_consumer(&mut self, consumer: &ConsumerName, subject: &str) {
        self.consumers.remove(consumer);
        self.ahead.remove(consumer);
        for message in self.messages.values_mut() {
            if &*message.message.subject == subject {
                message.delivered = 0;
                message.again_at = None;
            }
        }
    }

    /// Removes a message, whoever acks it; `None` when the consumer is gone. A message that is not
    /// there any more is removed all the same.
    pub(super) fn settle(&mut self, consumer: &str, sequence: u64) -> Option<()> {
        let mut names = self.consumers.keys();
        names.find(|name| name.as_str() == consumer)?;
        self.remove(sequence);
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
    /// new, each oldest first. What no client can read it keeps.
    pub(super) fn hand_out(
        &mut self,
        consumer: &ConsumerName,
        subject: &str,
        now: Instant,
    ) -> Next {
        let is_ours =
            |held: &Held| &*held.message.subject == subject && held.message.headers.is_ok();
        let waiting = || {
            let ours = self.messages.iter().filter(|(_, held)| is_ours(held));
            ours.filter(|(sequence, held)| self.offers(consumer, **sequence, held, now))
        };
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
        let Some(held) = self.messages.get_mut(&sequence) else {
            return Next::Nothing;
        };
        held.delivered += 1;
        let again_after = match self.duplicates.checked_sub(1) {
            Some(left) => {
                self.duplicates = left;
                Duration::ZERO
            }
            None => ACK_WAIT,
        };
        held.again_at = Some(now + again_after);
        let consumer_sequence = self.consumers.entry(consumer.clone()).or_default();
        *consumer_sequence += 1;
        let message = &held.message;
        let mut handed = Handed {
            sequence,
            delivered: held.delivered,
            consumer_sequence: *consumer_sequence,
            pending: 0,
            headers: message.headers.clone().unwrap_or_default(),
            body: message.body.clone(),
            stored_at: message.stored_at,
        };
        handed.pending = self.undelivered_beside(sequence);
        Next::Now(handed)
    }

    fn undelivered_beside(&self, sequence: u64) -> u64 {
        let Some(subject) = self.messages.get(&sequence).map(|m| &m.message.subject) else {
            return 0;
        };
        let undelivered = |m: &&Held| m.again_at.is_none() && m.message.subject == *subject;
        let count = self.messages.values().filter(undelivered).count();
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

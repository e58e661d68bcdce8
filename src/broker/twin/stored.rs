//! What lies in the twin's stream of requests, and its dead letters.

use std::collections::HashSet;

use bytes::Bytes;

use super::{BrokerTwin, Operation, PAYLOAD_MAX, State, timed_out};
use crate::{
    broker::{
        BrokerFault, BuriedLetter, DeadLetter, DeadLetters, Headers, Stored, StoredMessage,
        SubjectCount,
    },
    clock::WallTime,
    contract::Header,
};

/// As it is named in the ack subjects of deliveries.
pub(super) const STREAM: &str = "TWIN_INVOKE";

/// The stream of dead letters, as it would be stored.
#[derive(Default)]
pub(super) struct Graves {
    records: Vec<(Headers, Bytes, WallTime)>,
    message_ids: HashSet<String>,
}

impl Graves {
    fn bury(&mut self, letter: &DeadLetter, at: WallTime) {
        let (headers, body) = letter.to_record(STREAM, PAYLOAD_MAX);
        let message_id = headers.get(Header::MessageId).unwrap_or_default();
        if self.message_ids.insert(message_id.to_owned()) {
            self.records.push((headers, body, at));
        }
    }

    pub(super) fn letters(&self) -> Vec<BuriedLetter> {
        let stored = self.records.iter().zip(1..);
        let stored = stored.map(|((headers, body, at), sequence)| StoredMessage {
            sequence,
            subject: "puruto.dlq".into(),
            headers: Ok(headers.clone()),
            body: body.clone(),
            stored_at: *at,
        });
        stored
            .filter_map(|it| BuriedLetter::read(it).ok())
            .collect()
    }
}

impl BrokerTwin {
    fn look<T>(&self, look: impl FnOnce(&mut State) -> T) -> Result<T, BrokerFault> {
        let looked = self.change(|state| state.attempt(Operation::Stored, look));
        looked.map_err(|()| timed_out("look at what is stored"))
    }
}

impl Stored for BrokerTwin {
    async fn subjects(&self) -> Result<Vec<SubjectCount>, BrokerFault> {
        self.look(|state| state.queue.subjects())
    }

    async fn next(&self, from: u64, filter: &str) -> Result<Option<StoredMessage>, BrokerFault> {
        let wanted = |message: &StoredMessage| matches(filter, &message.subject);
        self.look(|state| state.queue.first(from, wanted))
    }

    async fn read(&self, sequence: u64) -> Result<Option<StoredMessage>, BrokerFault> {
        self.look(|state| state.queue.get(sequence))
    }

    async fn remove(&self, sequence: u64) -> Result<bool, BrokerFault> {
        self.look(|state| state.queue.remove(sequence))
    }
}

impl DeadLetters for BrokerTwin {
    async fn bury(&self, letter: &DeadLetter) -> Result<(), BrokerFault> {
        let at = self.shared.clock.now();
        let bury = |state: &mut State| state.graves.bury(letter, at);
        let buried = self.change(|state| state.attempt(Operation::Bury, bury));
        buried.map_err(|()| timed_out("bury"))
    }
}

/// Whether a subject lies under a filter: `*` is one token, `>` all that follow.
fn matches(filter: &str, subject: &str) -> bool {
    let (mut filter, mut subject) = (filter.split('.'), subject.split('.'));
    loop {
        match (filter.next(), subject.next()) {
            (None, None) => return true,
            (Some(">"), Some(_)) => return true,
            (Some(wanted), Some(token)) if wanted == "*" || wanted == token => {}
            (Some(_), Some(_) | None) | (None, Some(_)) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_matches_as_the_broker_matches() {
        for (filter, subject) in [("a.b", "a.b"), ("a.*", "a.b"), ("a.>", "a.b.c"), (">", "a")] {
            assert!(matches(filter, subject), "{filter} {subject}");
        }
        for (filter, subject) in [("a.b", "a.c"), ("a.*", "a.b.c"), ("a.>", "a"), ("a", "a.b")] {
            assert!(!matches(filter, subject), "{filter} {subject}");
        }
    }
}

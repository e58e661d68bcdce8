//! What lies in the twin's stream of requests, and its dead letters.

use std::collections::{BTreeMap, HashSet};

use super::{BrokerTwin, Operation, PAYLOAD_MAX, State, timed_out};
use crate::{
    broker::{
        BrokerFault, BuriedLetter, DeadLetter, DeadLetters, Stored, StoredMessage, SubjectCount,
    },
    clock::WallTime,
    contract::{Header, PurutoName},
};

/// As it is named in the ack subjects of deliveries.
pub(super) const STREAM: &str = "TWIN_INVOKE";

/// The stream of dead letters.
#[derive(Default)]
pub(super) struct Graves {
    last_sequence: u64,
    messages: BTreeMap<u64, StoredMessage>,
    message_ids: HashSet<String>,
}

impl Graves {
    fn bury(&mut self, letter: &DeadLetter, subject: String, at: WallTime) {
        let (headers, body) = letter.to_record(STREAM, PAYLOAD_MAX);
        let message_id = headers.get(Header::MessageId).unwrap_or_default();
        if !self.message_ids.insert(message_id.to_owned()) {
            return;
        }
        self.last_sequence += 1;
        let message = StoredMessage {
            sequence: self.last_sequence,
            subject: subject.into(),
            headers: Ok(headers),
            body,
            stored_at: at,
        };
        self.messages.insert(self.last_sequence, message);
    }

    pub(super) fn letters(&self) -> Vec<BuriedLetter> {
        let messages = self.messages.values().cloned();
        messages
            .filter_map(|it| BuriedLetter::read(it).ok())
            .collect()
    }

    fn next(&self, from: u64, filter: &str) -> Option<StoredMessage> {
        let mut messages = self.messages.range(from..).map(|(_, message)| message);
        messages
            .find(|message| matches(filter, &message.subject))
            .cloned()
    }
}

impl BrokerTwin {
    fn look<T>(&self, look: impl FnOnce(&mut State) -> T) -> Result<T, BrokerFault> {
        let looked = self.change(|state| state.attempt(Operation::Stored, look));
        looked.map_err(|()| timed_out("look at what is stored"))
    }

    /// The first dead letter from sequence `from` on, of one target or of all.
    ///
    /// # Errors
    /// As commanded.
    pub fn next_dead_letter(
        &self,
        from: u64,
        target: Option<&PurutoName>,
    ) -> Result<Option<StoredMessage>, BrokerFault> {
        let subjects = &self.shared.subjects;
        let filter = match target {
            Some(target) => subjects.dead_letters(Some(target)),
            None => subjects.dead_letters_all(),
        };
        self.look(|state| state.graves.next(from, &filter))
    }

    /// Removes a dead letter for good; `false` when it was not there any more.
    ///
    /// # Errors
    /// As commanded.
    pub fn remove_dead_letter(&self, sequence: u64) -> Result<bool, BrokerFault> {
        self.look(|state| state.graves.messages.remove(&sequence).is_some())
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
        let subject = self.shared.subjects.dead_letters(letter.target.as_ref());
        let bury = |state: &mut State| state.graves.bury(letter, subject, at);
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

//! Dead letters: buried, read, removed.

use super::{NatsClient, kept::Kept, stored, wire};
use crate::{
    broker::{BrokerFault, DeadLetter, StoredMessage, StreamName},
    contract::{PurutoName, Subjects},
};

/// Publishes a letter. Its message id is the message's own name, so the stream keeps the first.
pub(super) async fn bury(
    stream: &Kept,
    subjects: &Subjects,
    letter: &DeadLetter,
) -> Result<(), BrokerFault> {
    let subject = subjects.dead_letters(letter.target.as_ref());
    let limit = stream.payload_max();
    let (headers, body) = letter.to_record(StreamName::invoke(subjects).as_str(), limit);
    let headers = wire::to_wire(headers.iter());
    let kept = stream.publish(&subject, headers, body).await;
    kept.map(drop).map_err(|fault| fault.into_fault("bury"))
}

impl NatsClient {
    /// The first dead letter from sequence `from` on, of one target or of all; a message that is
    /// none, but lies there, counts as one.
    ///
    /// # Errors
    /// The broker did not answer in time, or there is no stream of dead letters.
    pub async fn next_dead_letter(
        &self,
        from: u64,
        target: Option<&PurutoName>,
    ) -> Result<Option<StoredMessage>, BrokerFault> {
        let filter = match target {
            Some(target) => self.subjects().dead_letters(Some(target)),
            None => self.subjects().dead_letters_all(),
        };
        stored::next(self.link(), &self.letters(), from, &filter).await
    }

    /// Removes a dead letter for good; `false` when it was not there any more.
    ///
    /// # Errors
    /// The broker did not confirm; it may be removed all the same.
    pub async fn remove_dead_letter(&self, sequence: u64) -> Result<bool, BrokerFault> {
        stored::remove(self.link(), &self.letters(), sequence).await
    }

    fn letters(&self) -> StreamName {
        StreamName::dead_letters(self.subjects())
    }
}

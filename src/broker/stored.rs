//! A message as it lies in a stream, read without a consumer.

use bytes::Bytes;

use super::{Delivery, HeaderFault, Headers, ack_subject::AckSubject, header_block};
use crate::{clock::WallTime, contract::Lane, store::AckToken};

/// Begins the token of a message that no consumer delivered; no ack subject begins so.
const TOKEN: &str = "stored:";

/// How often a message counts as delivered that is read without a consumer.
const DELIVERED: u64 = 1;

/// A message as it lies in a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    /// Its sequence in the stream.
    pub sequence: u64,
    /// The subject under which it was published. Bytes that are no UTF-8 are U+FFFD here, and such
    /// a text is the subject of no message.
    pub subject: Box<str>,
    /// Its headers, if a client library can read them.
    pub headers: Result<Headers, UnreadableHeaders>,
    /// Its body.
    pub body: Bytes,
    /// When it was stored.
    pub stored_at: WallTime,
}

/// Headers that no client library should be handed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableHeaders {
    /// What is wrong with them.
    pub fault: HeaderFault,
    /// The block as it was published.
    pub raw: Bytes,
}

/// How many messages lie under a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectCount {
    /// The subject, as in [`StoredMessage::subject`]; two that are no UTF-8 may read the same.
    pub subject: Box<str>,
    /// Its messages.
    pub messages: u64,
}

impl UnreadableHeaders {
    /// Reads a header block as it was published.
    ///
    /// # Errors
    /// The block itself when no client library should be handed it.
    pub(super) fn check(raw: Bytes) -> Result<Headers, Self> {
        header_block::parse(&raw).map_err(|fault| Self { fault, raw })
    }
}

impl StoredMessage {
    /// A delivery as it lies in its stream.
    #[must_use]
    pub fn of(delivery: &Delivery) -> Self {
        Self {
            sequence: delivery.sequence,
            subject: delivery.subject.clone(),
            headers: Ok(delivery.headers.clone()),
            body: delivery.body.clone(),
            stored_at: delivery.stored_at,
        }
    }

    /// The same as a delivery, to be walked with like one that a consumer made. An ack of it
    /// removes the message by its sequence; a nak or a word of progress does nothing, for it is
    /// not out.
    ///
    /// # Errors
    /// The message itself when its headers cannot be read.
    pub fn into_delivery(self, lane: Lane) -> Result<Delivery, Self> {
        let Ok(headers) = &self.headers else {
            return Err(self);
        };
        Ok(Delivery {
            headers: headers.clone(),
            lane,
            ack: AckToken::new(format!("{TOKEN}{}", self.sequence)),
            subject: self.subject,
            body: self.body,
            sequence: self.sequence,
            delivered: DELIVERED,
            stored_at: self.stored_at,
        })
    }

    /// Names the message for good: a stream that was made anew counts from 1 again, at a later
    /// time.
    pub(super) fn identity(&self, stream: &str) -> String {
        let stored_at = self.stored_at.unix_millis();
        format!("{stream}:{}:{stored_at}", self.sequence)
    }
}

/// The sequence that a token of [`StoredMessage::into_delivery`] names; `None` for an ack subject.
pub(super) fn sequence_of(token: &AckToken) -> Option<u64> {
    token.as_str().strip_prefix(TOKEN)?.parse().ok()
}

/// The sequence of the message that a token settles, whichever form it has; `None` for a text that
/// is no token.
#[must_use]
pub fn settled_by(token: &AckToken) -> Option<u64> {
    let delivered = || Some(AckSubject::parse(token.as_str())?.sequence);
    sequence_of(token).or_else(delivered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(headers: &'static [u8]) -> StoredMessage {
        StoredMessage {
            sequence: 7,
            subject: "puruto.invoke.a".into(),
            headers: UnreadableHeaders::check(Bytes::from_static(headers)),
            body: "{}".into(),
            stored_at: WallTime::from_unix_millis(5),
        }
    }

    #[test]
    fn a_stored_messages_token_is_its_own_and_no_ack_subject() {
        let stored = message(b"NATS/1.0\r\nA: b\r\n\r\n");
        let delivery = stored.clone().into_delivery(Lane::Low).unwrap();
        assert_eq!(sequence_of(&delivery.ack), Some(7));
        assert_eq!(AckSubject::parse(delivery.ack.as_str()), None);
        assert_eq!(StoredMessage::of(&delivery), stored);
        let delivered = AckToken::new("$JS.ACK.S.c.1.7.1.5000000.0");
        assert_eq!(sequence_of(&delivered), None);
        assert_eq!(settled_by(&delivery.ack), Some(7));
    }

    #[test]
    fn what_cannot_be_read_is_no_delivery() {
        let hostile = message(b"NATS/1.0\r\nA: b\rc\r\n\r\n");
        assert_eq!(
            hostile.clone().into_delivery(Lane::Normal).unwrap_err(),
            hostile
        );
    }
}

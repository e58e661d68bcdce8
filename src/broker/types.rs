//! What moves through the broker.

use std::{fmt, time::Duration};

use bytes::Bytes;

use crate::{clock::WallTime, contract::Header, contract::Lane, store::AckToken};

/// Headers by name, in the order in which they came. Names compare exactly, as the broker compares
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(Box<str>, Box<str>)>);

impl Headers {
    /// No headers.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The first value of a header.
    #[must_use]
    pub fn get(&self, header: Header) -> Option<&str> {
        self.get_named(header.as_str())
    }

    /// The first value of a header by its name on the wire.
    #[must_use]
    pub fn get_named(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(it, _)| &**it == name)?;
        Some(&found.1)
    }

    /// Adds a header. Control characters in the value would end the header line: they are left
    /// out.
    pub fn push(&mut self, header: Header, value: &str) {
        self.push_named(header.as_str(), value);
    }

    /// Adds a header by its name on the wire.
    pub fn push_named(&mut self, name: &str, value: &str) {
        let clean: String = value.chars().filter(|c| !c.is_control()).collect();
        self.0.push((name.into(), clean.into()));
    }

    /// Every header.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A request as the broker delivered it, owned until it is settled. Not `Clone`: it is settled
/// once.
#[must_use = "an unsettled delivery blocks its message until the ack wait passes"]
#[derive(Debug)]
pub struct Delivery {
    /// The subject under which it was published.
    pub subject: Box<str>,
    /// The lane through which it came.
    pub lane: Lane,
    /// Its headers.
    pub headers: Headers,
    /// Its body.
    pub body: Bytes,
    /// Where it is settled.
    pub ack: AckToken,
    /// Its sequence in the stream.
    pub sequence: u64,
    /// How often the broker has delivered it, from 1; [`Delivery::FOUND`] when nobody knows.
    pub delivered: u64,
    /// When the broker stored it.
    pub stored_at: WallTime,
}

impl Delivery {
    /// Instead of the count of deliveries: it was found to be delivered and is perhaps in another
    /// worker's hands. Whoever learns that it is, says nothing about it.
    pub const FOUND: u64 = 0;
}

/// A result on its way out: exactly the committed bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultMessage {
    /// Its one place.
    pub subject: String,
    /// What stands beside it.
    pub headers: Headers,
    /// The committed bytes.
    pub body: Bytes,
}

/// A result as it stands in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResult {
    /// What stands beside it.
    pub headers: Headers,
    /// The published bytes.
    pub body: Bytes,
}

/// What became of publishing a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Publishing {
    /// It was stored now.
    Stored,
    /// A message already stands there.
    AlreadyThere,
}

/// The broker's word that a published message is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishAck {
    /// Its sequence in the stream.
    pub sequence: u64,
    /// Whether the broker had a message with this id before and stored nothing now.
    pub duplicate: bool,
}

/// What a ping was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pong {
    /// It is there.
    Answered,
    /// The broker knows of no connection that listens for it.
    NoResponders,
    /// Nothing came in time, or the ping could not be sent: says nothing.
    Silent,
}

/// Why an ack was not confirmed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AckFault {
    /// Nobody listens under the ack subject: the consumer is gone, the message is not removed.
    #[error("the consumer of {token:?} is gone; its message stays in the stream")]
    NoConsumer {
        /// What was to be acked.
        token: AckToken,
    },
    /// A message that was to be removed by its sequence may or may not be there still.
    #[error(transparent)]
    NotRemoved(#[from] BrokerFault),
    /// No confirmation within the bound: the ack may or may not have counted.
    #[error("no confirmation of the ack within {}", humantime::format_duration(*after))]
    TimedOut {
        /// The bound.
        after: Duration,
    },
}

/// Why the broker did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokerFault {
    /// No connection.
    #[error("nats at {address} cannot be reached: {reason}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why.
        reason: String,
    },
    /// No answer within the bound; it may still have happened.
    #[error("nats did not answer {operation} within {}", humantime::format_duration(*after))]
    TimedOut {
        /// What was asked.
        operation: &'static str,
        /// The bound.
        after: Duration,
    },
    /// The server refused.
    #[error("nats refused {operation}: {reason}")]
    Refused {
        /// What was asked.
        operation: &'static str,
        /// The server's words.
        reason: String,
        /// JetStream's error code, if it gave one.
        code: Option<u64>,
    },
    /// The server does not permit its user a subject.
    #[error("nats does not permit {operation}: {reason}; see config/nats-users.conf")]
    Denied {
        /// What was asked.
        operation: &'static str,
        /// The server's words, which name the subject.
        reason: String,
    },
    /// The message is larger than the server takes.
    #[error("the message has {bytes} bytes; the server takes at most {limit}")]
    TooLarge {
        /// With headers.
        bytes: usize,
        /// The server's `max_payload`.
        limit: usize,
    },
    /// The server is not what the fleet can work with.
    #[error("{0}")]
    Unsuitable(String),
}

impl BrokerFault {
    /// A stable, low-cardinality name for metrics.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::TimedOut { .. } => "timed_out",
            Self::Refused { .. } => "refused",
            Self::Denied { .. } => "denied",
            Self::TooLarge { .. } => "too_large",
            Self::Unsuitable(_) => "unsuitable",
        }
    }
}

impl fmt::Display for PublishAck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stored as {}", self.sequence)
    }
}

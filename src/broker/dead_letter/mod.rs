//! A dead letter: a request that nobody will answer any more, as it came, and why.
//!
//! Never: a decision that one is dead, or whether it is replayed.

mod record;

use super::StoredMessage;
use crate::{
    clock::WallTime,
    contract::{CorrelationId, PurutoName, RequestId},
    store::Attempt,
};

/// Why a message is dead. The names are stable: operators filter by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeadReason {
    /// Its workers died, again and again.
    Poisoned,
    /// No client can read its subject or its headers.
    Unreadable,
    /// Its body is no JSON object, so there is nothing of a request in it.
    Malformed,
}

impl DeadReason {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::Poisoned, Self::Unreadable, Self::Malformed];

    /// Its stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Poisoned => "poisoned",
            Self::Unreadable => "unreadable",
            Self::Malformed => "malformed",
        }
    }
}

/// What is kept of a message that is dead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Why.
    pub reason: DeadReason,
    /// The same in words, for a person: never of the body.
    pub detail: Box<str>,
    /// Who was asked, if that can be told.
    pub target: Option<PurutoName>,
    /// The last execution that was begun, if one was.
    pub attempts: Option<Attempt>,
    /// The worker that had it last, if one had.
    pub last_worker: Option<Box<str>>,
    /// The request, if its id is known.
    pub request: Option<RequestId>,
    /// The chain, if its id is known.
    pub correlation: Option<CorrelationId>,
    /// The message itself.
    pub message: StoredMessage,
}

/// A dead letter as it lies in the stream of dead letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuriedLetter {
    /// Its sequence there.
    pub sequence: u64,
    /// Since when it lies there.
    pub buried_at: WallTime,
    /// The letter.
    pub letter: DeadLetter,
    /// What of the message did not fit.
    pub missing: Missing,
}

/// What of a message is not in its dead letter: a record may be no larger than any message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Nothing.
    Nothing,
    /// Headers, or the end of a header block that cannot be read.
    Headers,
    /// The end of the body, and headers.
    Body,
}

/// A message in the stream of dead letters that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {sequence} is no dead letter: {why}")]
pub struct NoDeadLetter {
    /// Its sequence there.
    pub sequence: u64,
    /// What is wrong with it.
    pub why: String,
}

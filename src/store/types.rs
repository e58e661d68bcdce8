//! What the scripts take and answer.

use std::{fmt, num::NonZeroU32, time::Duration};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::kin::Kin;
use crate::{
    clock::{Chance, WallTime},
    contract::{CorrelationId, Deadline, Fingerprint, PurutoName, RequestId, Spent},
};

/// Names a request's record: ids are unique per target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestKey {
    /// Who is asked.
    pub target: PurutoName,
    /// The request's own id.
    pub request: RequestId,
}

/// Names one life of a worker process; a fenced worker opens a new one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionId(Box<str>);

impl SessionId {
    /// A fresh session.
    #[must_use]
    pub fn fresh(chance: &Chance) -> Self {
        Self(format!("{:032x}", chance.bits128()).into())
    }

    /// A session that a record names.
    #[must_use]
    pub fn recorded(text: &str) -> Self {
        Self(text.into())
    }

    /// The id as text: 32 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Fences a claim: 128 random bits, compared for equality only. Counters go backwards when the
/// store loses data; chance does not repeat.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nonce(u128);

impl Nonce {
    /// A fresh nonce.
    #[must_use]
    pub fn fresh(chance: &Chance) -> Self {
        Self(chance.bits128())
    }

    /// A nonce as it is stored; `None` when the text is none.
    #[must_use]
    pub fn recorded(text: &str) -> Option<Self> {
        u128::from_str_radix(text, 16).ok().map(Self)
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nonce({self})")
    }
}

/// Tells one data set of the store from the next: written once, gone when the store was emptied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch(Box<str>);

impl Epoch {
    /// An epoch as it is stored.
    #[must_use]
    pub fn recorded(text: &str) -> Self {
        Self(text.into())
    }

    /// The epoch as it is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How often a request has been executed, counting from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt(NonZeroU32);

impl Attempt {
    /// The attempt with this number; zero counts as the first.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        match NonZeroU32::new(number) {
            Some(number) => Self(number),
            None => Self(NonZeroU32::MIN),
        }
    }

    /// Its number, from 1.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a delivery is settled: the reply subject that the broker gave it. Opaque to the store,
/// which keeps it so that someone else can settle for a dead worker.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AckToken(Box<str>);

impl AckToken {
    /// The token of a delivery.
    #[must_use]
    pub fn new(subject: impl Into<Box<str>>) -> Self {
        Self(subject.into())
    }

    /// The subject.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is that of a message that the broker delivered, so that it can be given back.
    pub(super) fn is_deliverys(&self) -> bool {
        self.0.starts_with("$JS.ACK.")
    }
}

impl fmt::Debug for AckToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a worker that gives a request back leaves for the next one: a short text, opaque to the
/// store; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried(Box<str>);

/// Longest text that is carried, in bytes.
const CARRIED_MAX: usize = 128;

impl Carried {
    /// This text; nothing where it is longer than 128 bytes.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let fits = text.len() <= CARRIED_MAX;
        Self(if fits { text } else { "" }.into())
    }

    /// The text; empty where nothing was left.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a worker says when it wants to own a request.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The request.
    pub key: RequestKey,
    /// The chain to which it belongs.
    pub correlation: CorrelationId,
    /// What it asks for: the same id with another fingerprint is a conflict.
    pub fingerprint: Fingerprint,
    /// The claiming session.
    pub session: SessionId,
    /// The claim's own nonce.
    pub nonce: Nonce,
    /// Where the delivery is settled.
    pub ack: AckToken,
    /// Until when the request may take; its record is kept beyond that.
    pub deadline: Deadline,
}

/// What a claim is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// The request is ours.
    Claimed(Claimed),
    /// The request is ours to answer, but not to run: as often as it may be executed its workers
    /// died with it.
    Exhausted(Exhausted),
    /// A live session owns it.
    Held(Held),
    /// It waits without an owner, and nothing has come of what it waits for. Its message is settled
    /// by this delivery from now on.
    Waiting,
    /// It has its result.
    Done {
        /// The committed bytes; `None` once the record is a tombstone and the results stream alone
        /// has them.
        result: Option<Bytes>,
        /// The chain under which the result was committed.
        correlation: CorrelationId,
        /// The execution that it came from.
        attempt: Attempt,
        /// What it had to do with others, if it had.
        kin: Option<Box<Kin>>,
    },
    /// The same id came before with another payload, in this chain.
    Conflict {
        /// The chain of the request that came first.
        correlation: CorrelationId,
    },
    /// Our own session is gone: whoever asks must fence itself.
    Fenced,
}

/// A claim that was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Which execution this is.
    pub attempt: Attempt,
    /// When the request was first claimed, by the store's clock.
    pub first_claimed: WallTime,
    /// The store's clock now; the difference is what `duration_ms` starts with.
    pub now: WallTime,
    /// Whether the request is flagged for cancel: it must not run, only end as cancelled.
    pub cancelled: bool,
    /// Whether the record was made by this claim.
    pub fresh: bool,
    /// What the last worker that gave the request back left for the next one.
    pub carried: Carried,
    /// What it has to do with others, if it has.
    pub kin: Option<Box<Kin>>,
}

/// A claim that was granted on a request that must not run again. It counts as no attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// The claim; its attempt is the last execution that there was.
    pub claimed: Claimed,
    /// The worker of that execution, or its session where the worker's name is not known.
    pub last_worker: Box<str>,
}

/// A claim that another session has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The owner.
    pub owner: SessionId,
}

/// The one result of a request, on its way into its record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Its bytes.
    pub result: Bytes,
    /// Whether it is the answer to a cancel: once a request is flagged for cancel, no other is
    /// taken.
    pub cancelled: bool,
    /// What the request spent beyond what its record says.
    pub spent: Spent,
}

/// What a commit is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitAnswer {
    /// The result is durable, by this call or by an earlier one with the same nonce.
    Committed,
    /// The claim is not ours any more: write nothing, tell the broker nothing.
    Lost,
    /// The request is flagged for cancel; only a cancelled result will be taken.
    Cancelled,
}

/// What a renewal is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Alive for another time to live; these of its requests were flagged for cancel since.
    Renewed {
        /// Requests to abort.
        cancelled: Vec<RequestKey>,
    },
    /// The session is gone: its claims are void.
    Fenced,
}

/// A session on the roster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Its name.
    pub session: SessionId,
    /// Whether it was renewed within its time to live.
    pub lives: bool,
    /// Whether it has said that it answers pings.
    pub answers_pings: bool,
}

/// Why the store did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreFault {
    /// No connection, or it broke.
    #[error("redis at {address} cannot be reached: {reason}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why.
        reason: String,
    },
    /// No answer within the bound; the command may still be carried out.
    #[error("redis did not answer {operation} within {}", humantime::format_duration(*after))]
    TimedOut {
        /// Which script or command.
        operation: &'static str,
        /// The bound.
        after: Duration,
    },
    /// It answers, but will not serve for now: loading, read-only, out of memory, master down.
    #[error("redis will not serve for now: {reason}")]
    Unready {
        /// The server's words.
        reason: String,
    },
    /// It answered what no script of ours answers.
    #[error("redis answered {operation} with {answer}, which is not understood")]
    Nonsense {
        /// Which script or command.
        operation: &'static str,
        /// The answer, cut short.
        answer: String,
    },
    /// It is not what the fleet can work with: too old, wrong policy, other partition count.
    #[error("{0}")]
    Unsuitable(String),
}

impl StoreFault {
    /// A stable, low-cardinality name for metrics.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::TimedOut { .. } => "timed_out",
            Self::Unready { .. } => "unready",
            Self::Nonsense { .. } => "nonsense",
            Self::Unsuitable(_) => "unsuitable",
        }
    }
}

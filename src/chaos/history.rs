//! What happened, one JSON object a line.
//!
//! Owns the vocabulary in which the harness, the workers' logs and the simulation tell the same
//! story. Names a request by its id, a claim by its nonce and a body by its digest; never holds a
//! prompt or an answer.

use std::{
    fmt,
    io::{self, BufRead, Write},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::schedule::{Fault, Hostile};
use crate::contract::{ErrorCode, Fingerprint, RequestId};

/// A moment of the run, in whole milliseconds since it began.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct At(u64);

impl At {
    /// This long after the beginning.
    #[must_use]
    pub fn of(since: Duration) -> Self {
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// This moment, `by` later.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(Self::of(by).0))
    }

    /// How long after `earlier`; zero if it is not later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} s", self.0 / 1_000, self.0 % 1_000)
    }
}

macro_rules! word {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Box<str>);

        impl $name {
            /// As it was told.
            #[must_use]
            pub fn new(text: impl Into<Box<str>>) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

word!(
    /// One worker process.
    WorkerId
);
word!(
    /// The nonce of one claim.
    ClaimId
);
word!(
    /// Stands for the bytes of a result.
    Digest
);

impl Digest {
    /// Of these bytes.
    #[must_use]
    pub fn of(body: &[u8]) -> Self {
        Self::new(Fingerprint::of_bytes(body).to_string())
    }
}

/// How a request has to end if nothing comes in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// With status ok.
    Done,
    /// With this error.
    Refused(ErrorCode),
}

impl Expected {
    /// Whether a result with this error, or with none, is what was expected.
    #[must_use]
    pub fn is(self, code: Option<ErrorCode>) -> bool {
        match self {
            Self::Done => code.is_none(),
            Self::Refused(expected) => code == Some(expected),
        }
    }
}

/// What a cancel was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelTold {
    /// The request was flagged: it must not end in any other way.
    Flagged,
    /// It was done already.
    AlreadyDone,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The broker confirmed that a request is stored; before that nothing is promised.
    Accepted {
        /// Which.
        request: RequestId,
        /// When it was first sent; it may have been stored from then on.
        sent: At,
        /// How long it may take.
        within: Duration,
        /// How it has to end.
        expected: Expected,
        /// Where in the stream it was stored.
        sequence: u64,
    },
    /// A cancel of the request was confirmed.
    CancelAsked {
        /// Which.
        request: RequestId,
        /// What was told.
        told: CancelTold,
    },
    /// A worker was granted a claim.
    Claimed {
        /// Who.
        worker: WorkerId,
        /// On what.
        request: RequestId,
        /// The claim.
        claim: ClaimId,
        /// When, by the store's clock.
        granted: At,
    },
    /// A handler began.
    Started {
        /// Where.
        worker: WorkerId,
        /// For which request.
        request: RequestId,
        /// Under which claim.
        claim: ClaimId,
    },
    /// A worker begins to ask the store to take a result.
    Committing {
        /// Who.
        worker: WorkerId,
        /// Of which request.
        request: RequestId,
        /// Under which claim.
        claim: ClaimId,
    },
    /// The store took it.
    Committed {
        /// Whose.
        worker: WorkerId,
        /// Of which request.
        request: RequestId,
        /// Under which claim.
        claim: ClaimId,
        /// Which bytes.
        digest: Digest,
    },
    /// The store refused it.
    Refused {
        /// Whose.
        worker: WorkerId,
        /// Of which request.
        request: RequestId,
        /// Under which claim.
        claim: ClaimId,
    },
    /// A worker sends a result to its place.
    Publishing {
        /// Who.
        worker: WorkerId,
        /// Of which request.
        request: RequestId,
        /// Which bytes.
        digest: Digest,
    },
    /// A worker knows that an answer can be had.
    Published {
        /// Who.
        worker: WorkerId,
        /// Of which request.
        request: RequestId,
        /// Whether it stands in the request's place; a contradiction is answered beside it.
        own: bool,
    },
    /// A worker took the message from the stream.
    Acked {
        /// Who.
        worker: WorkerId,
        /// Of which request.
        request: RequestId,
    },
    /// A model was asked, as the model itself saw it.
    ModelCalled {
        /// For which request.
        request: RequestId,
    },
    /// A caller heard a result.
    Heard {
        /// Of which request.
        request: RequestId,
        /// Which bytes.
        digest: Digest,
    },
    /// At the end, this stands in the request's place.
    Stands {
        /// Of which request.
        request: RequestId,
        /// Which bytes.
        digest: Digest,
        /// The code of its error, if it is one.
        code: Option<ErrorCode>,
        /// Which `IPC_ERROR` it is.
        kind: Option<String>,
    },
    /// A hostile message was stored.
    HostileStored {
        /// Where.
        sequence: u64,
        /// Which.
        message: Hostile,
    },
    /// At the end, this message is recorded as one that nobody could answer.
    DeadLettered {
        /// Where it was stored.
        sequence: u64,
    },
    /// At the end, this message is still in the stream.
    LeftInStream {
        /// Where.
        sequence: u64,
    },
    /// At the end, a session that is over is still on the roster: it holds something.
    DeadSessionHolds {
        /// Its name.
        session: String,
    },
    /// A secret stood where it must not.
    Leaked {
        /// Where.
        place: String,
    },
    /// A fault begins.
    FaultBegan {
        /// Which one of this run.
        number: usize,
        /// What it is.
        fault: Fault,
        /// Which process was struck, where it is a worker's.
        worker: Option<WorkerId>,
    },
    /// A fault has ended: the process runs again, the server answers, the line is whole.
    FaultEnded {
        /// Which one of this run.
        number: usize,
    },
    /// There will be no more faults, and all of them have ended.
    Calm,
}

impl Event {
    /// The request of which it tells.
    #[must_use]
    pub const fn request(&self) -> Option<&RequestId> {
        match self {
            Self::Accepted { request, .. }
            | Self::CancelAsked { request, .. }
            | Self::Claimed { request, .. }
            | Self::Started { request, .. }
            | Self::Committing { request, .. }
            | Self::Committed { request, .. }
            | Self::Refused { request, .. }
            | Self::Publishing { request, .. }
            | Self::Published { request, .. }
            | Self::Acked { request, .. }
            | Self::ModelCalled { request }
            | Self::Heard { request, .. }
            | Self::Stands { request, .. } => Some(request),
            Self::HostileStored { .. }
            | Self::DeadLettered { .. }
            | Self::LeftInStream { .. }
            | Self::DeadSessionHolds { .. }
            | Self::Leaked { .. }
            | Self::FaultBegan { .. }
            | Self::FaultEnded { .. }
            | Self::Calm => None,
        }
    }
}

/// A line of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    #[serde(rename = "at_ms")]
    pub at: At,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

/// Writes a history, a line an event.
///
/// # Errors
/// `to` cannot be written to.
pub fn write(history: &[Entry], mut to: impl Write) -> io::Result<()> {
    for entry in history {
        serde_json::to_writer(&mut to, entry)?;
        to.write_all(b"\n")?;
    }
    to.flush()
}

/// Reads a history.
///
/// # Errors
/// `from` cannot be read, or a line of it is no event.
pub fn read(from: impl BufRead) -> io::Result<Vec<Entry>> {
    from.lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::schedule::{Place, Side, Trouble};

    #[test]
    fn what_is_written_reads_back() {
        let fault = Fault::Partition {
            place: Place(2),
            from: Some(Side::Redis),
            trouble: Trouble::HalfOpen,
        };
        let events = [
            Event::FaultBegan {
                number: 1,
                fault,
                worker: Some(WorkerId::new("w3-1")),
            },
            Event::Accepted {
                request: "r-1".parse().expect("an id"),
                sent: At(12),
                within: Duration::from_secs(60),
                expected: Expected::Refused(ErrorCode::Denied),
                sequence: 7,
            },
            Event::Calm,
        ];
        let entries = events.map(|event| Entry {
            at: At(1_250),
            event,
        });
        let mut lines = Vec::new();
        write(&entries, &mut lines).expect("memory takes everything");
        let text = String::from_utf8_lossy(&lines);
        assert!(
            text.starts_with(r#"{"at_ms":1250,"event":"fault_began","number":1,"#),
            "{text}"
        );
        assert_eq!(read(&*lines).expect("a history"), entries);
    }
}

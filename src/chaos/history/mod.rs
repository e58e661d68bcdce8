//! What happened, one JSON object a line.
//!
//! Owns the vocabulary in which the harness, the workers' logs and the simulation tell the same
//! story. Names a request by its id, a claim by its nonce and a body by its digest; never holds a
//! prompt or an answer.

mod event;

use std::{
    fmt,
    io::{self, BufRead, Write},
    str::FromStr,
    time::Duration,
};

use serde::{Deserialize, Serialize};

pub use self::event::Event;
use crate::contract::{ErrorCode, Fingerprint, PurutoName, RequestId};

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

/// Where a request comes from, as the worker that began with it read it from the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Who delegated it.
    pub parent: RequestId,
    /// The first request of the chain.
    pub root: RequestId,
    /// How deep it stands.
    pub hop: u8,
    /// The targets and actions above it, the first one first, for a person.
    pub above: String,
}

/// A child as its parent's record has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kid {
    /// Its place among those of the same step, from 0.
    pub index: u16,
    /// Who is asked.
    pub target: PurutoName,
    /// Its id.
    pub request: RequestId,
}

/// A text that is no child: [`Kid`]s are written `index:target/request`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected index:target/request")]
pub struct InvalidKid;

impl FromStr for Kid {
    type Err = InvalidKid;

    fn from_str(text: &str) -> Result<Self, InvalidKid> {
        let read = || {
            let (index, rest) = text.split_once(':')?;
            let (target, request) = rest.split_once('/')?;
            Some(Self {
                index: index.parse().ok()?,
                target: target.parse().ok()?,
                request: request.parse().ok()?,
            })
        };
        read().ok_or(InvalidKid)
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
    use crate::chaos::schedule::{Fault, Place, Side, Trouble};

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
            Event::Started {
                worker: WorkerId::new("w3-1"),
                request: "r-1".parse().expect("an id"),
                claim: ClaimId::new("c-1"),
                origin: None,
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

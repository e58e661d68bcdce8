//! What is asked of a circuit before an attempt, and what it is told after it.

use std::{fmt, time::Duration};

use super::{BreakerRules, BreakerState, Ended, RateLimits, Throttled};
use crate::clock::Chance;

/// Names one attempt, so that what is said of it twice counts once: 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PassId(u128);

impl PassId {
    /// A fresh one.
    #[must_use]
    pub fn fresh(chance: &Chance) -> Self {
        Self(chance.bits128())
    }
}

impl fmt::Display for PassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for PassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PassId({self})")
    }
}

/// One life of a circuit: what ends in another than it began in counts for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation(pub u64);

/// Asks for leave to make one attempt.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The attempt.
    pub pass: PassId,
    /// When the circuit opens and closes; the lease of a probe is how long this attempt may take.
    pub rules: BreakerRules,
    /// What the account at the server allows.
    pub limits: RateLimits,
    /// How many tokens question and answer will probably have.
    pub tokens: u64,
}

/// What an [`Ask`] is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The attempt may be made.
    Admitted(Option<Standing>),
    /// The server fails and is left alone.
    Refused(Refusal),
    /// The attempt may be made later.
    Throttled(Throttled),
}

/// Where a circuit stands that lets calls through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Closed, or half-open and this call is a probe.
    pub state: BreakerState,
    /// Its life.
    pub generation: Generation,
}

/// Where a circuit stands that lets no call through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Open, or half-open with all its probes out.
    pub state: BreakerState,
    /// When it is worth asking again.
    pub retry_in: Duration,
    /// How many of the attempts had failed when it opened, in percent.
    pub failed_percent: u32,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The attempt.
    pub pass: PassId,
    /// The life of the circuit in which it was let through; `None` where nobody was asked.
    pub generation: Option<Generation>,
    /// The rules that it was asked under.
    pub rules: BreakerRules,
    /// What it says of the server.
    pub ended: Ended,
    /// How long the server asked to be left alone.
    pub retry_after: Option<Duration>,
    /// What it cost.
    pub spent: Spent,
}

/// What an attempt cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// Nothing: it was never made.
    Unsent,
    /// Nobody knows; what was expected stands.
    Unknown,
    /// So many tokens, as the server counts them.
    Tokens(u64),
}

//! What a broker is found to be, for whoever wants to know rather than to change it.

use super::{BrokerFault, drift::Drift};
use crate::{broker::SyncInterval, clock::WallTime};

/// What a broker is found to be.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The server's version, as it prints it.
    pub version: String,
    /// Whether the server will do.
    pub will_do: Result<(), BrokerFault>,
    /// What the user may not do of what a worker needs, each in words that name the subject.
    pub denied: Vec<String>,
    /// Largest message that it takes, in bytes.
    pub payload_max: usize,
    /// When it writes through to its disk.
    pub sync: SyncInterval,
    /// Our time of day and its own, of one moment; nothing while it has no stream to tell of.
    pub clocks: Option<(WallTime, WallTime)>,
    /// The streams of the fleet and the consumers of its targets.
    pub places: Vec<Inspected>,
    /// The store's epoch as the fleet remembers it.
    pub epoch: Option<String>,
}

/// A stream or consumer that the fleet needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspected {
    /// `stream PURUTO_INVOKE`, `consumer clerk-high`.
    pub name: String,
    /// How it is; nothing where it is not there.
    pub found: Option<Found>,
}

/// How a stream or consumer is.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Where it differs from what the fleet needs.
    pub drift: Vec<Drift>,
    /// What a consumer is doing; nothing for a stream.
    pub lane: Option<LaneState>,
}

/// What the consumer of a lane is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneState {
    /// Requests that no worker was given yet.
    pub queued: u64,
    /// Requests that workers were given and have not settled.
    pub running: u64,
    /// How many may be so at once; nothing for no limit.
    pub running_max: Option<u64>,
    /// Pulls that stand: workers that are free.
    pub pulls: u64,
    /// Whether it has delivered further than its stream reaches, as after a power loss: until the
    /// stream has caught up it delivers nothing.
    pub ahead: bool,
}

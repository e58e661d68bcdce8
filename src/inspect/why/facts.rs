//! What is found of a request that is not finished, and what of it keeps it from being so.

use std::time::Duration;

use crate::{
    contract::{ErrorCode, Lane},
    inspect::Server,
    store::RequestKey,
};

/// A request, with those that it waits for.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The request.
    pub key: RequestKey,
    /// Where it stands.
    pub stands: Stands,
    /// How long until its deadline, where that is known; nothing is left of one that has passed.
    pub left: Option<Duration>,
    /// What is known of the model servers that its target calls.
    pub servers: Vec<Server>,
}

/// Where it stands.
#[derive(Clone, Debug)]
pub enum Stands {
    /// It has its result.
    Done(Ending),
    /// There is neither a record of it nor a message.
    Unknown,
    /// Its message lies in its lane, and no worker has taken it yet.
    Queued {
        /// Its lane.
        lane: Lane,
        /// What lies before it.
        ahead: Ahead,
        /// How many workers serve its target.
        workers: usize,
    },
    /// A worker gave it back; it is delivered again.
    GivenBack {
        /// How many workers serve its target.
        workers: usize,
    },
    /// Somebody cancelled it, and it is about to end.
    Cancelling,
    /// A worker has it.
    Running {
        /// Who, where it can be told.
        worker: Option<String>,
        /// Since its first claim.
        since: Duration,
        /// Which execution this is, from 1.
        attempt: u32,
    },
    /// The worker that has it is dead.
    Orphaned {
        /// How many workers serve its target.
        workers: usize,
    },
    /// It waits for others.
    Waiting {
        /// How many have to end.
        wanted: u16,
        /// How many have.
        ended: usize,
        /// Those that have not.
        running: Vec<Facts>,
        /// How many more there are that have not.
        more: usize,
    },
    /// It waits for somebody's verdict.
    AwaitingVerdict,
}

/// How it ended.
#[derive(Clone, Debug)]
pub enum Ending {
    /// Well.
    Ok,
    /// With an error.
    Error {
        /// Which.
        code: ErrorCode,
        /// In words.
        message: String,
        /// The budget or limit of which it says that it is used up.
        good: Option<String>,
    },
    /// Its result is kept no longer.
    Forgotten,
}

/// How many requests lie before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// So many.
    Exactly(u64),
    /// So many, and more were not counted.
    AtLeast(u64),
    /// It was handed out already; whoever got it has not claimed it.
    Delivered,
    /// Nobody ever served its lane.
    NoLane,
}

//! What is found of a request that is not finished, and what of it keeps it from being so.

use std::time::Duration;

use crate::{
    contract::{ErrorCode, Lane},
    store::RequestKey,
};

/// A request, with those that it waits for.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) key: RequestKey,
    pub(super) stands: Stands,
    /// How long until its deadline, where that is known; nothing is left of one that has passed.
    pub(super) left: Option<Duration>,
    /// What is known of the model servers that its target calls.
    pub(super) servers: Vec<Server>,
}

/// Where it stands.
#[derive(Clone, Debug)]
pub(super) enum Stands {
    /// It has its result.
    Done(Ending),
    /// There is neither a record of it nor a message.
    Unknown,
    /// Its message lies in its lane, and no worker has taken it yet.
    Queued {
        lane: Lane,
        ahead: Ahead,
        workers: usize,
    },
    /// A worker gave it back; it is delivered again.
    GivenBack { workers: usize },
    /// Somebody cancelled it, and it is about to end.
    Cancelling,
    /// A worker has it.
    Running {
        /// Who, where it can be told.
        worker: Option<String>,
        /// Since its first claim.
        since: Duration,
        attempt: u32,
    },
    /// The worker that has it is dead.
    Orphaned { workers: usize },
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
pub(super) enum Ending {
    Ok,
    Error {
        code: ErrorCode,
        message: String,
        /// The budget or limit of which it says that it is used up.
        good: Option<String>,
    },
    /// Its result is kept no longer.
    Forgotten,
}

/// How many requests lie before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    Exactly(u64),
    AtLeast(u64),
    /// It was handed out already; whoever got it has not claimed it.
    Delivered,
    /// Nobody ever served its lane.
    NoLane,
}

/// What is known of a model server that has trouble.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) trouble: Trouble,
}

/// What keeps calls from it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trouble {
    /// Its circuit breaker is open.
    Open {
        failed_percent: u32,
        retry_in: Duration,
    },
    /// It asked to be left alone, or its limits are used up.
    Throttled { wait: Duration },
}

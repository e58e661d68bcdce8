//! A request's record as those see it who do not work on it.

use std::time::Duration;

use bytes::Bytes;

use super::{
    SessionId,
    kin::{Child, Lineage, Verdict, WaitsOn},
};
use crate::{
    clock::WallTime,
    contract::{CorrelationId, Spent},
};

/// What a cancel is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelAnswer {
    /// Nobody owns the request; it ends as cancelled when it is next delivered.
    Flagged,
    /// A session owns the request and has to be told.
    Owned(SessionId),
    /// It waits without an owner and ends as cancelled as soon as somebody looks; these children of
    /// it run on, and are to be cancelled as well.
    Waiting(Vec<Child>),
    /// The request is done; nothing was changed.
    AlreadyDone,
}

/// Where a request stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordState {
    /// Written down, by its parent or because it has a run; no worker has claimed it.
    Intended,
    /// Flagged for cancel before any worker claimed it.
    Flagged,
    /// A claim was made; `owner_alive` says whether its session still lives.
    Held {
        /// The owner.
        owner: SessionId,
        /// Whether the owner's session lives.
        owner_alive: bool,
        /// Whether it is flagged for cancel.
        cancelled: bool,
    },
    /// Given back, not claimed since.
    Released,
    /// It waits without an owner.
    Waiting {
        /// For what.
        on: WaitsOn,
        /// Whether it is flagged for cancel.
        cancelled: bool,
    },
    /// It has its result.
    Done {
        /// The committed bytes, unless the record is a tombstone.
        result: Option<Bytes>,
    },
}

/// A request's record as a caller may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it stands.
    pub state: RecordState,
    /// The chain to which it belongs, unless it was flagged before any worker saw it.
    pub correlation: Option<CorrelationId>,
    /// How often it was executed.
    pub attempts: u32,
    /// When it was first claimed, by the store's clock.
    pub first_claimed: Option<WallTime>,
    /// How long it has been since, by the store's clock; until the commit when it is done.
    pub age: Duration,
    /// Who delegated it, if anybody did.
    pub lineage: Option<Lineage>,
    /// What it and its ended children spent, and what is granted to children that run.
    pub spent: Spent,
    /// What was decided about it.
    pub verdict: Option<Verdict>,
}

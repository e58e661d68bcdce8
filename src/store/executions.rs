//! Executions: requests that somebody started who does not speak NATS, and who that was.
//!
//! Never: what becomes of one; its request's record and the stream of results tell that.

use std::{fmt, future::Future, time::Duration};

use serde::{Deserialize, Serialize};

use super::{RequestKey, StoreFault};
use crate::{
    clock::WallTime,
    contract::{CorrelationId, Deadline, Fingerprint, RequestId},
};

/// How long an execution is remembered after its deadline: longer than its result is kept, so that
/// whoever comes late learns that it is gone and not that it never was.
pub const EXECUTION_RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Executions of one owner that are listed at most; the oldest are listed no longer.
pub const LISTED_MAX: usize = 10_000;

/// Whose an execution is: the digest of a proven identity, so that no name of anybody stands in a
/// key. Two owners never see each other's executions, since the owner is part of each one's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner(Box<str>);

impl Owner {
    /// The owner with this digest.
    #[must_use]
    pub fn of_digest(digest: [u8; 16]) -> Self {
        Self(format!("{:032x}", u128::from_be_bytes(digest)).into())
    }

    /// 32 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A request that was started over HTTP. Its id is the request's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// The request.
    pub key: RequestKey,
    /// The chain to which it belongs.
    pub correlation: CorrelationId,
    /// By which name the caller asked: a skill's id, or what a door calls it.
    pub skill: Box<str>,
    /// What was asked for: the same id with another fingerprint is a conflict.
    pub fingerprint: Fingerprint,
    /// When it was started.
    pub created: WallTime,
    /// Until when it may take.
    pub deadline: Deadline,
}

/// What beginning an execution is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is written down, and its request is to be published.
    New,
    /// It was begun before, so; publishing its request again does no harm.
    Same(Execution),
    /// Its id was begun for another request.
    Conflict,
}

/// Whether an execution is found without its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Its owner finds it among theirs.
    Yes,
    /// Whoever knows its id finds it, and nobody else.
    No,
}

/// Where a list of executions goes on: behind this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedAfter {
    /// When it was started.
    pub created: WallTime,
    /// Its request's id.
    pub id: RequestId,
}

/// The executions of each owner.
pub trait Executions: Send + Sync + 'static {
    /// Writes an execution down before its request is published, unless its id was begun before. One
    /// that is not `listed` is found by whoever knows its id.
    ///
    /// # Errors
    /// The store did not answer in time or refused; beginning again does no harm.
    fn begin(
        &self,
        owner: &Owner,
        execution: &Execution,
        listed: Listed,
    ) -> impl Future<Output = Result<Begun, StoreFault>> + Send;

    /// The execution of this owner with this id; nothing where it is somebody else's.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn find(
        &self,
        owner: &Owner,
        id: &RequestId,
    ) -> impl Future<Output = Result<Option<Execution>, StoreFault>> + Send;

    /// An owner's listed executions, the latest first, at most `most`, behind `after`. Those of the
    /// same millisecond stand in the order of their ids, the last first.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn list(
        &self,
        owner: &Owner,
        after: Option<&ListedAfter>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Execution>, StoreFault>> + Send;
}

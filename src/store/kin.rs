//! What the store is told of a request that asks others, waits for them, or was asked by one.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{AckToken, Nonce, RequestKey};
use crate::{
    clock::WallTime,
    contract::{
        ActionName, Ancestry, ChildPlace, CorrelationId, Deadline, Fingerprint, Hop, Limits, Spent,
        Step,
    },
};

/// Where a request that somebody delegated comes from. The fleet writes it down before the request
/// is published; what a message says of its own origin is never believed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// Who delegated it.
    pub parent: RequestKey,
    /// Where it stands among the parent's children.
    pub place: ChildPlace,
    /// The first request of the chain.
    pub root: RequestKey,
    /// How deep it stands.
    pub hop: Hop,
    /// The requests above it, its parent included.
    pub ancestry: Ancestry,
    /// What it may spend, descendants included.
    pub limits: Limits,
}

/// A child as its parent's record keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// Its place.
    pub place: ChildPlace,
    /// The request.
    pub key: RequestKey,
    /// What it is asked to do.
    pub action: ActionName,
    /// What it asks for, so that no other answer is taken for its.
    pub fingerprint: Fingerprint,
    /// What it may spend.
    pub limits: Limits,
    /// Until when it may take.
    pub deadline: Deadline,
}

/// How a child ended, as its parent's record keeps it: the result itself stands in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildEnd {
    /// It has a result, whatever that says.
    Answered,
    /// Its parent went on without it.
    Dropped,
}

/// A delegation on its way into the record of the request that makes it: from then on the request
/// waits, and these children are owed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Park {
    /// Which of the request's delegations.
    pub step: Step,
    /// How many of the children are waited for.
    pub join: u16,
    /// The children, each with its message as it is to be published.
    pub children: Vec<(Child, Bytes)>,
}

/// What a request waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Which of its delegations.
    pub step: Step,
    /// How many of its children are waited for.
    pub join: u16,
    /// Whether all of them are known to be published.
    pub sent: bool,
    /// The children in the order of their indices, each with how it ended, if it did.
    pub children: Vec<(Child, Option<ChildEnd>)>,
}

impl Wait {
    /// Whether as many have ended as are waited for.
    #[must_use]
    pub fn is_over(&self) -> bool {
        let ended = self.children.iter().filter(|(_, end)| end.is_some());
        ended.count() >= usize::from(self.join)
    }

    /// Whether it waits for fewer than there are.
    #[must_use]
    pub fn has_spares(&self) -> bool {
        usize::from(self.join) < self.children.len()
    }

    /// The children that have not ended.
    pub fn running(&self) -> impl Iterator<Item = &Child> {
        let running = self.children.iter().filter(|(_, end)| end.is_none());
        running.map(|(child, _)| child)
    }
}

/// On what a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsOn {
    /// Requests that it delegated.
    Children,
    /// Somebody's verdict.
    Verdict,
}

/// What parking is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkAnswer {
    /// The children are owed, by this call or by an earlier one for the same step.
    Parked,
    /// The request is flagged for cancel: nothing was changed.
    Cancelled,
    /// The claim is not ours any more: nothing was changed.
    Lost,
}

/// What writing down a child's origin is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intended {
    /// It is written; the child may be published, and may have been before.
    Expected,
    /// The child has its result already.
    Done,
    /// Somebody used its id for another payload.
    Conflict,
}

/// What letting go of a waiting request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetGo {
    /// Nobody owns it until it is woken.
    Waiting,
    /// What it waits for is there already, or it is flagged for cancel: the claim stands.
    Ready,
    /// The claim is not ours any more.
    Lost,
}

/// What a parent's record says to the end of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The parent waits for nothing more: its message is to be given back to the broker at once.
    Wake(AckToken),
    /// It is written down; the parent waits for others, or somebody works on it.
    Noted,
    /// The parent does not wait for this child (any more).
    Ignored,
}

/// What somebody decided about a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the request may run.
    pub approved: bool,
    /// Who decided.
    pub by: String,
    /// What they had to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What they decided about.
    pub fingerprint: Fingerprint,
}

/// What a verdict is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerdictAnswer {
    /// It is written down; the request goes on.
    Taken,
    /// The same request was decided about before, so.
    Decided(Verdict),
    /// The request is another one than was decided about.
    Mismatch,
    /// It does not wait for a verdict.
    NotAsked,
}

/// Why a waiting request is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DueFor {
    /// It can go on: whoever serves its target has to get it.
    Wake,
    /// It is flagged for cancel, or its deadline has passed: it ends, whoever is free.
    End,
    /// Nothing was heard of its children for a while.
    Look,
}

/// A waiting request that is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The request.
    pub key: RequestKey,
    /// Where its message is settled.
    pub ack: AckToken,
    /// Why now.
    pub why: DueFor,
}

/// What a request has to do with others, as its claim is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kin {
    /// Who delegated it, if anybody did.
    pub lineage: Option<Lineage>,
    /// Whether it asked others and has not been told of all it waits for.
    pub waits: bool,
    /// Those of its delegations that are over.
    pub steps: Vec<Step>,
    /// What it and its ended children spent, and what is granted to children that run.
    pub spent: Spent,
    /// What was decided about it.
    pub verdict: Option<Verdict>,
}

/// A child's record before its first claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The child.
    pub child: Child,
    /// Its chain.
    pub correlation: CorrelationId,
    /// Where it comes from.
    pub lineage: Lineage,
}

/// That a child ended. What was granted to it is charged to its parent until then, also where the
/// parent has gone on without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildEnded {
    /// Its place among its parent's children.
    pub place: ChildPlace,
    /// How.
    pub end: ChildEnd,
    /// What it spent, its own descendants included.
    pub spent: Spent,
}

/// Names a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The request.
    pub key: RequestKey,
    /// The claim's nonce.
    pub nonce: Nonce,
}

/// A waiting request, as whoever lets go of it leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resting {
    /// Where its message is settled.
    pub ack: AckToken,
    /// Until when it may take.
    pub deadline: Deadline,
    /// When it is to be looked at if nothing was heard of what it waits for.
    pub look_at: WallTime,
}

//! The vocabulary of a history.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{At, CancelTold, ClaimId, Digest, Expected, Kid, Origin, WorkerId};
use crate::{
    chaos::schedule::{Fault, Hostile},
    contract::{ErrorCode, PurutoName, RequestId, Step},
    handler::crash::CrashPoint,
};

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
    /// It is known beforehand that this request will be delegated if its parent gets that far.
    Foreseen {
        /// Which.
        request: RequestId,
        /// By whom.
        parent: RequestId,
        /// How it has to end.
        expected: Expected,
    },
    /// A message with an origin that somebody made up was stored under the id of a child.
    Forged {
        /// The child.
        request: RequestId,
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
        /// Which execution of the request this is.
        #[serde(default)]
        attempt: u32,
    },
    /// A handler began.
    Started {
        /// Where.
        worker: WorkerId,
        /// For which request.
        request: RequestId,
        /// Under which claim.
        claim: ClaimId,
        /// Where it comes from; `None` for a caller's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Box<Origin>>,
    },
    /// A worker wrote down that a request waits, and which children it is owed.
    Parked {
        /// Who.
        worker: WorkerId,
        /// Which waits.
        request: RequestId,
        /// Under which claim.
        claim: ClaimId,
        /// Whose request it is.
        target: PurutoName,
        /// Which of its delegations this is.
        step: Step,
        /// How many of the children it waits for.
        join: u16,
        /// How long their messages are together.
        bytes: u64,
        /// The children, in order.
        children: Vec<Kid>,
    },
    /// A worker gave a waiting request out of its hands.
    LetGo {
        /// Who.
        worker: WorkerId,
        /// Which waits.
        request: RequestId,
        /// The claim that is over.
        claim: ClaimId,
    },
    /// A parent was told of the end of a child.
    ChildEnded {
        /// By whom.
        worker: WorkerId,
        /// The child.
        request: RequestId,
        /// Its parent.
        parent: RequestId,
        /// Whether the parent waits for nothing more.
        wakes: bool,
    },
    /// A handler is told what came of a delegation.
    Resumed {
        /// Where.
        worker: WorkerId,
        /// Which waits no more.
        request: RequestId,
        /// Under which claim.
        claim: ClaimId,
        /// The delegation.
        step: Step,
    },
    /// A request that nobody wants any more was flagged.
    Unwanted {
        /// By whom.
        worker: WorkerId,
        /// Which.
        request: RequestId,
        /// What was told.
        told: CancelTold,
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
    /// Requests of one target that had nothing to do but wait did so at once.
    WaitedTogether {
        /// How many there were.
        asked: usize,
        /// How many of them waited without an owner.
        waiting: usize,
        /// How many run slots the target has in the whole fleet.
        slots: usize,
        /// How many of them were taken.
        taken: usize,
    },
    /// A worker that was to die at this point of a walk did.
    DiedAt {
        /// Who.
        worker: WorkerId,
        /// Where.
        point: CrashPoint,
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
    /// Since then nothing is owed any more: whatever faults had left behind is over.
    Settled,
}

impl Event {
    /// The request of which it tells.
    #[must_use]
    pub const fn request(&self) -> Option<&RequestId> {
        match self {
            Self::Accepted { request, .. }
            | Self::CancelAsked { request, .. }
            | Self::Parked { request, .. }
            | Self::LetGo { request, .. }
            | Self::ChildEnded { request, .. }
            | Self::Resumed { request, .. }
            | Self::Unwanted { request, .. }
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
            // What may be of a request is not yet any of its story.
            | Self::Foreseen { .. }
            | Self::Forged { .. }
            | Self::WaitedTogether { .. }
            | Self::DiedAt { .. }
            | Self::Leaked { .. }
            | Self::FaultBegan { .. }
            | Self::FaultEnded { .. }
            | Self::Calm
            | Self::Settled => None,
        }
    }
}

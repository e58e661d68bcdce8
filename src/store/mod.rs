//! The seam to the lease store: who works on what, and what came out.
//!
//! Never: policy, and never a request's JSON; a port runs one script over opaque bytes and reports
//! what it answered. Each operation is idempotent by its nonce, because a call that timed out may
//! still be carried out.

/// Requests that were started over HTTP.
pub mod executions;
/// What binds a request to those that it asks, and to who asked it.
pub mod kin;
mod record;
/// The store on a real Redis or Valkey.
pub mod redis;
/// An agent's run, as it is kept.
pub mod run;
/// The store in memory, for the simulation and the contract suite.
pub mod twin;
mod types;
mod waits;

use std::{future::Future, time::Duration};

pub use self::types::{
    AckToken, Attempt, Carried, Claim, ClaimAnswer, Claimed, Commit, CommitAnswer, Epoch,
    Exhausted, Held, Nonce, Registered, Renewal, RequestKey, SessionId, StoreFault,
};
pub use self::{
    record::{CancelAnswer, Record, RecordState},
    run::Runs,
    waits::Waits,
};
use crate::{
    circuit::{Admission, Ask, CircuitName, Outcome},
    clock::WallTime,
    contract::PurutoName,
};

/// How long a session lives after it was opened or renewed.
pub const SESSION_TTL: Duration = Duration::from_secs(15);

/// How often a request is executed at most: one that took so many workers down with it would take
/// the next one as well.
pub const MAX_ATTEMPTS: Attempt = Attempt::new(5);

/// How long a record is kept after its request's deadline, settled or not: as long as the results
/// stream keeps the result.
pub const RETENTION: Duration = Duration::from_secs(72 * 60 * 60);

/// How long a cancel of a request that no worker has seen is remembered: longer than any request
/// may take.
pub const FLAG_RETENTION: Duration = Duration::from_secs(25 * 60 * 60);

/// A waiting request of whose children nothing was heard is looked at again after so long.
pub const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Claims and commits of the requests that a worker holds.
pub trait Claims: Send + Sync + 'static {
    /// Becomes the request's owner, or learns why not. The same nonce again gets the same answer.
    ///
    /// # Errors
    /// The store did not answer in time or refused; whether the claim was made is then unknown.
    fn claim(&self, claim: Claim) -> impl Future<Output = Result<ClaimAnswer, StoreFault>> + Send;

    /// Stores the one result of a request, fenced by the claim's nonce; it waits for nothing then.
    ///
    /// # Errors
    /// The store did not answer in time or refused; whether it committed is then unknown.
    fn commit(
        &self,
        key: &RequestKey,
        nonce: Nonce,
        commit: Commit,
    ) -> impl Future<Output = Result<CommitAnswer, StoreFault>> + Send;

    /// Published and acked: takes the request out of the session's held set and shrinks its record
    /// to a tombstone.
    ///
    /// # Errors
    /// The store did not answer in time or refused; settling again does no harm.
    fn settle(&self, key: &RequestKey) -> impl Future<Output = Result<(), StoreFault>> + Send;

    /// Gives a claim back without counting an attempt, and leaves something for whoever claims the
    /// request next; nothing leaves what stands there. A claim that is no longer ours is left alone.
    ///
    /// # Errors
    /// The store did not answer in time or refused; the session's end then frees the claim.
    fn release(
        &self,
        key: &RequestKey,
        nonce: Nonce,
        carried: &Carried,
    ) -> impl Future<Output = Result<(), StoreFault>> + Send;

    /// Replaces the bytes of a done record by those that stand in the results stream, which win.
    ///
    /// # Errors
    /// The store did not answer in time or refused; correcting again does no harm.
    fn correct(
        &self,
        key: &RequestKey,
        published: bytes::Bytes,
    ) -> impl Future<Output = Result<(), StoreFault>> + Send;
}

/// The life of a worker's session. Kept apart so that it can have a thread and a connection of its
/// own.
pub trait Sessions: Send + Sync + 'static {
    /// Opens `session` for a worker that serves `targets`, and reads the data set's epoch (written
    /// now if the data set has none).
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn open(
        &self,
        session: &SessionId,
        worker: &str,
        targets: &[PurutoName],
    ) -> impl Future<Output = Result<Epoch, StoreFault>> + Send;

    /// Renews it; never re-creates it.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn renew(
        &self,
        session: &SessionId,
    ) -> impl Future<Output = Result<Renewal, StoreFault>> + Send;

    /// The store's time of day, which is the fleet's.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn time(&self) -> impl Future<Output = Result<WallTime, StoreFault>> + Send;

    /// Ends it; its claims are free at once.
    ///
    /// # Errors
    /// The store did not answer in time or refused; its time to live then ends it.
    fn close(&self, session: &SessionId) -> impl Future<Output = Result<(), StoreFault>> + Send;
}

/// What the one worker that supervises the others asks and does. Its cost grows with the sessions,
/// never with the requests in flight.
pub trait Supervision: Send + Sync + 'static {
    /// Leads the fleet for `lease` from now, unless somebody else leads; whether it does.
    ///
    /// # Errors
    /// The store did not answer in time or refused; `candidate` may lead all the same.
    fn lead(
        &self,
        candidate: &SessionId,
        lease: Duration,
    ) -> impl Future<Output = Result<bool, StoreFault>> + Send;

    /// Writes down that `session` answers pings. A session that is gone is left alone.
    ///
    /// # Errors
    /// The store did not answer in time or refused; writing it again does no harm.
    fn answers_pings(
        &self,
        session: &SessionId,
    ) -> impl Future<Output = Result<(), StoreFault>> + Send;

    /// Every session that was opened and not yet forgotten, in no order.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn roster(&self) -> impl Future<Output = Result<Vec<Registered>, StoreFault>> + Send;

    /// Claims that `session` has and that are not done, each with its nonce: all of them while they
    /// are few, else some, by chance.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn held(
        &self,
        session: &SessionId,
    ) -> impl Future<Output = Result<Vec<(RequestKey, Nonce)>, StoreFault>> + Send;

    /// The targets that each of these sessions serves, in their order; none for one that is
    /// forgotten. A session serves the same for its whole life.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn serving(
        &self,
        sessions: &[SessionId],
    ) -> impl Future<Output = Result<Vec<Vec<PurutoName>>, StoreFault>> + Send;

    /// Whether any worker of this data set ever served each of these targets, in their order.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn ever_served(
        &self,
        targets: &[PurutoName],
    ) -> impl Future<Output = Result<Vec<bool>, StoreFault>> + Send;

    /// Ends a session for good and tells some of what it still holds, after striking out what was
    /// `given_back` to the broker. The same is told again until it is struck out or claimed by
    /// others; when nothing is left the session is forgotten.
    ///
    /// # Errors
    /// The store did not answer in time or refused; evicting again does no harm.
    fn evict(
        &self,
        session: &SessionId,
        given_back: &[RequestKey],
    ) -> impl Future<Output = Result<Vec<(RequestKey, AckToken)>, StoreFault>> + Send;
}

/// What a caller may see and do.
pub trait Records: Send + Sync + 'static {
    /// The targets that any worker of this data set ever served.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn targets(&self) -> impl Future<Output = Result<Vec<PurutoName>, StoreFault>> + Send;

    /// The records of these requests, in their order; `None` where there is none.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn read(
        &self,
        keys: &[RequestKey],
    ) -> impl Future<Output = Result<Vec<Option<Record>>, StoreFault>> + Send;

    /// Flags a request for cancel unless it is done. A request that no worker has claimed yet is
    /// flagged as well and ends as cancelled when it is delivered.
    ///
    /// # Errors
    /// The store did not answer in time or refused; cancelling again does no harm.
    fn cancel(
        &self,
        key: &RequestKey,
    ) -> impl Future<Output = Result<CancelAnswer, StoreFault>> + Send;
}

/// What the workers of a fleet share of the model servers that they call. Nothing of it lasts: a
/// store that was emptied has forgotten how they are.
pub trait Circuits: Send + Sync + 'static {
    /// Asks for leave to make one attempt. The same pass again is answered alike.
    ///
    /// # Errors
    /// The store did not answer in time or refused; whether leave was given is then unknown, and
    /// the attempt is to be reported as unsent.
    fn admit(
        &self,
        circuit: &CircuitName,
        ask: &Ask,
    ) -> impl Future<Output = Result<Admission, StoreFault>> + Send;

    /// Tells how an attempt ended, and learns where the circuit stands now: what it would answer
    /// whoever asks for nothing. The same pass told again counts no second time.
    ///
    /// # Errors
    /// The store did not answer in time or refused; whether it counted is then unknown.
    fn report(
        &self,
        circuit: &CircuitName,
        outcome: &Outcome,
    ) -> impl Future<Output = Result<Admission, StoreFault>> + Send;
}

/// Everything that a walk asks of the store.
pub trait WalkStore: Claims + Waits + Runs + Records {}

impl<S: Claims + Waits + Runs + Records> WalkStore for S {}

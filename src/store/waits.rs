//! The port to requests that wait without a worker.

use std::{future::Future, time::Duration};

use bytes::Bytes;

use super::{
    RequestKey, StoreFault,
    kin::{
        Child, ChildEnded, Due, Intended, Intent, LetGo, Owned, Park, ParkAnswer, Resting, Verdict,
        VerdictAnswer, Wait, Woken,
    },
};
use crate::contract::{CorrelationId, Step};

/// Requests that wait without a worker, and what they wait for: others that they delegated, or a
/// verdict.
pub trait Waits: Send + Sync + 'static {
    /// Writes down, at once, that a request waits and which children it is owed. Asking again for
    /// the same step changes nothing.
    ///
    /// # Errors
    /// The store did not answer in time or refused; whether it is written is then unknown.
    fn park(
        &self,
        owned: &Owned,
        park: &Park,
    ) -> impl Future<Output = Result<ParkAnswer, StoreFault>> + Send;

    /// Writes down where a child comes from, before it is published.
    ///
    /// # Errors
    /// The store did not answer in time or refused; writing it again does no harm.
    fn intend(&self, intent: &Intent) -> impl Future<Output = Result<Intended, StoreFault>> + Send;

    /// Gives up a claim whose request waits, without counting its attempt. The messages of its
    /// children are forgotten: they are published.
    ///
    /// # Errors
    /// The store did not answer in time or refused; the session's end then frees the claim.
    fn let_go(
        &self,
        owned: &Owned,
        resting: &Resting,
    ) -> impl Future<Output = Result<LetGo, StoreFault>> + Send;

    /// Tells a parent that a child ended: its slice is returned, and what it spent is counted. The
    /// same child told again counts no second time, and wakes a parent that still waits.
    ///
    /// # Errors
    /// The store did not answer in time or refused; telling it again does no harm.
    fn child_ended(
        &self,
        parent: &RequestKey,
        ended: &ChildEnded,
    ) -> impl Future<Output = Result<Woken, StoreFault>> + Send;

    /// What a request waits for, or waited for last; `None` where it never asked anybody.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn wait(
        &self,
        key: &RequestKey,
    ) -> impl Future<Output = Result<Option<Wait>, StoreFault>> + Send;

    /// The messages of a wait's children, in the order of their indices; empty once let go of.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn outbox(
        &self,
        key: &RequestKey,
    ) -> impl Future<Output = Result<Vec<(Child, Bytes)>, StoreFault>> + Send;

    /// What a request waited for has been told to its handler: it waits for nothing now. Children
    /// that have not ended count as dropped; they are told, to be cancelled.
    ///
    /// # Errors
    /// The store did not answer in time or refused; resuming again tells the same.
    fn resume(
        &self,
        owned: &Owned,
        step: Step,
    ) -> impl Future<Output = Result<Vec<Child>, StoreFault>> + Send;

    /// Every child that a request ever asked for, in the order of their places.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn children(
        &self,
        key: &RequestKey,
    ) -> impl Future<Output = Result<Vec<Child>, StoreFault>> + Send;

    /// Waiting requests that are to be looked at now, at most `most`. Each is told again after
    /// `again` unless somebody has claimed it by then; one of which nothing was heard after
    /// [`super::LOOK_AGAIN`].
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn due(
        &self,
        most: usize,
        again: Duration,
    ) -> impl Future<Output = Result<Vec<Due>, StoreFault>> + Send;

    /// Gives up a claim whose request waits for a verdict, as [`Waits::let_go`] does. `Ready` where
    /// there is one already.
    ///
    /// # Errors
    /// The store did not answer in time or refused; the session's end then frees the claim.
    fn ask_verdict(
        &self,
        owned: &Owned,
        resting: &Resting,
    ) -> impl Future<Output = Result<LetGo, StoreFault>> + Send;

    /// Decides about a request that waits for a verdict.
    ///
    /// # Errors
    /// The store did not answer in time or refused; deciding the same again does no harm.
    fn decide(
        &self,
        key: &RequestKey,
        verdict: &Verdict,
    ) -> impl Future<Output = Result<VerdictAnswer, StoreFault>> + Send;

    /// Writes down that a chain begins with `root`, so that it is found by its id.
    ///
    /// # Errors
    /// The store did not answer in time or refused; writing it again does no harm.
    fn note_root(
        &self,
        chain: &CorrelationId,
        root: &RequestKey,
    ) -> impl Future<Output = Result<(), StoreFault>> + Send;

    /// The requests that a chain is known to begin with: those that asked others.
    ///
    /// # Errors
    /// The store did not answer in time or refused.
    fn roots(
        &self,
        chain: &CorrelationId,
    ) -> impl Future<Output = Result<Vec<RequestKey>, StoreFault>> + Send;
}

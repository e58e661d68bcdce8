//! The store in memory, for the simulation and the contract suite.
//!
//! Owns what the suite and the simulation need beyond the ports: faults on command, sessions that
//! end on command, and the history that a checker reads. A user's fleet never runs on it. What the
//! scripts do stands in `data`, decided by a clock that is handed in.

mod data;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::task::yield_now;

use self::data::Data;
use super::{
    Attempt, CancelAnswer, Claim, ClaimAnswer, Claims, CommitAnswer, Epoch, Nonce, Record, Records,
    Renewal, RequestKey, SESSION_TTL, SessionId, Sessions, StoreFault,
};
use crate::{clock::Clock, contract::PurutoName};

/// The time-out that an injected fault reports.
const FAULT_AFTER: Duration = Duration::from_secs(2);

/// An operation of the ports, to say which one shall fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// [`Claims::claim`].
    Claim,
    /// [`Claims::commit`].
    Commit,
    /// [`Claims::settle`].
    Settle,
    /// [`Claims::release`].
    Release,
    /// [`Claims::correct`].
    Correct,
    /// [`Sessions::open`].
    Open,
    /// [`Sessions::renew`].
    Renew,
    /// [`Sessions::close`].
    Close,
    /// [`Records::targets`].
    Targets,
    /// [`Records::read`].
    Read,
    /// [`Records::cancel`].
    Cancel,
}

impl Op {
    const fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Commit => "commit",
            Self::Settle => "settle",
            Self::Release => "release",
            Self::Correct => "correct",
            Self::Open => "session_open",
            Self::Renew => "session_renew",
            Self::Close => "session_close",
            Self::Targets => "targets",
            Self::Read => "read",
            Self::Cancel => "cancel",
        }
    }
}

/// When a call fails: both look the same to whoever called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It times out and has not been carried out.
    BeforeEffect,
    /// It times out and has been carried out.
    AfterEffect,
}

/// A store in memory; clones share it, as workers share a server.
#[derive(Clone, Debug)]
pub struct StoreTwin {
    clock: Clock,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    data: Data,
    faults: Vec<(Op, Fault)>,
}

impl StoreTwin {
    /// An empty store whose time is `clock`'s; sessions live for [`SESSION_TTL`].
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        let shared = Shared {
            data: Data::new(SESSION_TTL),
            faults: Vec::new(),
        };
        Self {
            clock,
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// Makes the next `op` time out; called twice, the next two.
    pub fn fail_next(&self, op: Op, fault: Fault) {
        self.shared().faults.push((op, fault));
    }

    /// Ends a session as if its time to live had passed.
    pub fn expire_session(&self, session: &SessionId) {
        self.shared().data.close(session);
    }

    /// Loses everything, as an emptied Redis does; the history stays.
    pub fn empty(&self) {
        self.shared().data.empty();
    }

    /// Every claim that was granted, in order; a repeated call is not counted again.
    #[must_use]
    pub fn claims(&self) -> Vec<(RequestKey, Nonce, Attempt)> {
        self.shared().data.granted.clone()
    }

    /// Every result that was committed, in order; a repeated call is not counted again.
    #[must_use]
    pub fn commits(&self) -> Vec<(RequestKey, Nonce, Bytes)> {
        self.shared().data.committed.clone()
    }

    /// Every correction that changed a result, in order.
    #[must_use]
    pub fn corrections(&self) -> Vec<(RequestKey, Bytes)> {
        self.shared().data.corrected.clone()
    }

    /// The record of a request as a caller sees it.
    #[must_use]
    pub fn record(&self, key: &RequestKey) -> Option<Record> {
        self.shared().data.read(key, self.clock.now())
    }

    /// The requests that a session holds, also when it has ended.
    #[must_use]
    pub fn held_by(&self, session: &SessionId) -> Vec<RequestKey> {
        self.shared().data.held_by(session)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries `effect` out in one step, as a script is; others may run before it.
    async fn run<T>(
        &self,
        op: Op,
        effect: impl FnOnce(&mut Data, &Clock) -> T + Send,
    ) -> Result<T, StoreFault> {
        yield_now().await;
        let mut shared = self.shared();
        let fault = shared.take_fault(op);
        if fault == Some(Fault::BeforeEffect) {
            return Err(timed_out(op));
        }
        let answer = effect(&mut shared.data, &self.clock);
        match fault {
            Some(_) => Err(timed_out(op)),
            None => Ok(answer),
        }
    }
}

impl Shared {
    fn take_fault(&mut self, op: Op) -> Option<Fault> {
        let at = self.faults.iter().position(|(failing, _)| *failing == op)?;
        Some(self.faults.remove(at).1)
    }
}

const fn timed_out(op: Op) -> StoreFault {
    StoreFault::TimedOut {
        operation: op.name(),
        after: FAULT_AFTER,
    }
}

impl Claims for StoreTwin {
    async fn claim(&self, claim: Claim) -> Result<ClaimAnswer, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.claim(&claim, clock.now());
        self.run(Op::Claim, effect).await
    }

    async fn commit(
        &self,
        key: &RequestKey,
        nonce: Nonce,
        result: Bytes,
        cancelled: bool,
    ) -> Result<CommitAnswer, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| {
            data.commit(key, nonce, (result, cancelled), clock.now())
        };
        self.run(Op::Commit, effect).await
    }

    async fn settle(&self, key: &RequestKey) -> Result<(), StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.settle(key, clock.now());
        self.run(Op::Settle, effect).await
    }

    async fn release(&self, key: &RequestKey, nonce: Nonce) -> Result<(), StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.release(key, nonce, clock.now());
        self.run(Op::Release, effect).await
    }

    async fn correct(&self, key: &RequestKey, published: Bytes) -> Result<(), StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.correct(key, published, clock.now());
        self.run(Op::Correct, effect).await
    }
}

impl Sessions for StoreTwin {
    async fn open(
        &self,
        session: &SessionId,
        _worker: &str,
        targets: &[PurutoName],
    ) -> Result<Epoch, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.open(session, targets, clock.now());
        self.run(Op::Open, effect).await
    }

    async fn renew(&self, session: &SessionId) -> Result<Renewal, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.renew(session, clock.now());
        self.run(Op::Renew, effect).await
    }

    async fn close(&self, session: &SessionId) -> Result<(), StoreFault> {
        let effect = |data: &mut Data, _: &Clock| data.close(session);
        self.run(Op::Close, effect).await
    }
}

impl Records for StoreTwin {
    async fn targets(&self) -> Result<Vec<PurutoName>, StoreFault> {
        let effect = |data: &mut Data, _: &Clock| data.targets.iter().cloned().collect();
        self.run(Op::Targets, effect).await
    }

    async fn read(&self, keys: &[RequestKey]) -> Result<Vec<Option<Record>>, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| {
            let now = clock.now();
            keys.iter().map(|key| data.read(key, now)).collect()
        };
        self.run(Op::Read, effect).await
    }

    async fn cancel(&self, key: &RequestKey) -> Result<CancelAnswer, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.cancel(key, clock.now());
        self.run(Op::Cancel, effect).await
    }
}

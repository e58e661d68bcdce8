//! The store in memory, for the simulation and the contract suite.
//!
//! Owns what the suite and the simulation need beyond the ports: faults on command, sessions that
//! end on command, and the history that a checker reads. A user's fleet never runs on it. What the
//! scripts do stands in `data`, decided by a clock that is handed in.

mod circuits;
mod data;
mod entry;
mod executions;
mod fault;
mod ports;
mod relations;
mod runs;
mod supervision;
mod waits;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::task::yield_now;

use self::data::Data;
pub use self::fault::{Fault, Op};
use super::{Attempt, Nonce, Record, RequestKey, SESSION_TTL, SessionId, StoreFault};
use crate::clock::Clock;

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

    /// From now on a request is executed `most` times at most, instead of
    /// [`MAX_ATTEMPTS`](super::MAX_ATTEMPTS) times.
    pub fn limit_attempts(&self, most: Attempt) {
        self.shared().data.max_attempts = most;
    }

    /// Makes the next `op` time out; called twice, the next two.
    pub fn fail_next(&self, op: Op, fault: Fault) {
        self.shared().faults.push((op, fault));
    }

    /// Ends a session as if its time to live had passed.
    pub fn expire_session(&self, session: &SessionId) {
        self.shared().data.expire(session);
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
            return Err(op.timed_out());
        }
        let answer = effect(&mut shared.data, &self.clock);
        match fault {
            Some(_) => Err(op.timed_out()),
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

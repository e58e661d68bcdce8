//! Ports that pass every call on to the twins and strike at one chosen joint: the moment before an
//! effect or the moment after it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use puruto_fleet::{
    broker::{
        AckFault, Broker, BrokerFault, DeadLetter, DeadLetters, Publishing, ResultMessage,
        StoredResult,
        twin::{BrokerTwin, TwinLane},
    },
    contract::{Lane, PurutoName},
    store::{
        AckToken, Carried, Claim, ClaimAnswer, Claims, Commit, CommitAnswer, Nonce, RequestKey,
        StoreFault, twin::StoreTwin,
    },
};
use tokio::sync::Notify;

use crate::{mutants::Mutant, scenario::place, told::Teller};

/// What happens, and at which joint, counting from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mischief {
    /// Nothing.
    None,
    /// The worker dies there.
    Die(usize),
    /// The call times out there.
    TimeOut(usize),
    /// The worker sleeps there until another has taken over and ended, then goes on.
    Sleep(usize),
    /// The store loses everything there.
    EmptyStore(usize),
}

impl Mischief {
    const fn joint(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Die(joint)
            | Self::TimeOut(joint)
            | Self::Sleep(joint)
            | Self::EmptyStore(joint) => Some(joint),
        }
    }
}

/// One worker's joints.
#[derive(Clone, Debug)]
pub struct Joints(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    mischief: Mischief,
    passed: AtomicUsize,
    struck: AtomicBool,
    stopped: Notify,
    wake: Notify,
    store: StoreTwin,
    teller: Teller,
}

/// The call is to fail.
pub struct TimedOut;

impl Joints {
    pub fn new(mischief: Mischief, store: StoreTwin, teller: Teller) -> Self {
        Self(Arc::new(Inner {
            mischief,
            passed: AtomicUsize::new(0),
            struck: AtomicBool::new(false),
            stopped: Notify::new(),
            wake: Notify::new(),
            store,
            teller,
        }))
    }

    /// Whether the chosen joint was reached.
    pub fn struck(&self) -> bool {
        self.0.struck.load(Ordering::SeqCst)
    }

    /// Waits until the worker has died or fallen asleep.
    pub async fn stopped(&self) {
        self.0.stopped.notified().await;
    }

    /// Wakes a sleeper.
    pub fn wake(&self) {
        self.0.wake.notify_one();
    }

    pub async fn pass(&self) -> Result<(), TimedOut> {
        let joint = self.0.passed.fetch_add(1, Ordering::SeqCst);
        if self.0.mischief.joint() != Some(joint) {
            return Ok(());
        }
        self.0.struck.store(true, Ordering::SeqCst);
        let fault = self.0.teller.struck(self.0.mischief);
        match self.0.mischief {
            Mischief::None => {}
            Mischief::Die(_) => {
                self.0.stopped.notify_one();
                std::future::pending::<()>().await;
            }
            Mischief::Sleep(_) => {
                self.0.stopped.notify_one();
                self.0.wake.notified().await;
            }
            Mischief::TimeOut(_) => return Err(TimedOut),
            Mischief::EmptyStore(_) => self.0.store.empty(),
        }
        self.0.teller.recovered(fault);
        Ok(())
    }
}

const AFTER: Duration = Duration::from_secs(2);

pub fn store_timed_out(TimedOut: TimedOut) -> StoreFault {
    StoreFault::TimedOut {
        operation: "sim",
        after: AFTER,
    }
}

pub fn broker_timed_out(TimedOut: TimedOut) -> BrokerFault {
    BrokerFault::TimedOut {
        operation: "sim",
        after: AFTER,
    }
}

/// The store as one worker reaches it.
#[derive(Clone, Debug)]
pub struct SimClaims {
    pub twin: StoreTwin,
    pub joints: Joints,
    pub mutant: Mutant,
    /// For the mutant that acks too early.
    pub broker: BrokerTwin,
}

impl SimClaims {
    /// What the store answers, or what a broken fleet makes of it.
    fn told(&self, answer: CommitAnswer, nonce: Nonce, result: &[u8]) -> CommitAnswer {
        let teller = &self.joints.0.teller;
        match (answer, self.mutant) {
            (CommitAnswer::Lost, Mutant::NoNonceCheck) | (CommitAnswer::Committed, _) => {
                teller.committed(nonce, result);
                CommitAnswer::Committed
            }
            (CommitAnswer::Lost, Mutant::PublishFromMemory) => {
                teller.refused(nonce);
                CommitAnswer::Committed
            }
            (CommitAnswer::Lost, _) => {
                teller.refused(nonce);
                CommitAnswer::Lost
            }
            (CommitAnswer::Cancelled, _) => CommitAnswer::Cancelled,
        }
    }
}

impl Claims for SimClaims {
    async fn claim(&self, claim: Claim) -> Result<ClaimAnswer, StoreFault> {
        self.joints.pass().await.map_err(store_timed_out)?;
        let (nonce, ack) = (claim.nonce, claim.ack.clone());
        let answer = self.twin.claim(claim).await;
        if let Ok(ClaimAnswer::Claimed(_) | ClaimAnswer::Exhausted(_)) = answer {
            self.joints.0.teller.claimed(nonce);
            if self.mutant == Mutant::AckBeforeCommit && self.broker.ack(&ack).await.is_ok() {
                self.joints.0.teller.acked();
            }
        }
        self.joints.pass().await.map_err(store_timed_out)?;
        answer
    }

    async fn commit(
        &self,
        key: &RequestKey,
        nonce: Nonce,
        commit: Commit,
    ) -> Result<CommitAnswer, StoreFault> {
        self.joints.pass().await.map_err(store_timed_out)?;
        self.joints.0.teller.committing(nonce);
        let result = commit.result.clone();
        let answer = self.twin.commit(key, nonce, commit).await;
        let answer = answer.map(|it| self.told(it, nonce, &result));
        self.joints.pass().await.map_err(store_timed_out)?;
        answer
    }

    async fn settle(&self, key: &RequestKey) -> Result<(), StoreFault> {
        self.joints.pass().await.map_err(store_timed_out)?;
        let answer = self.twin.settle(key).await;
        self.joints.pass().await.map_err(store_timed_out)?;
        answer
    }

    async fn release(
        &self,
        key: &RequestKey,
        nonce: Nonce,
        carried: &Carried,
    ) -> Result<(), StoreFault> {
        self.joints.pass().await.map_err(store_timed_out)?;
        let answer = self.twin.release(key, nonce, carried).await;
        self.joints.pass().await.map_err(store_timed_out)?;
        answer
    }

    async fn correct(&self, key: &RequestKey, published: Bytes) -> Result<(), StoreFault> {
        self.joints.pass().await.map_err(store_timed_out)?;
        let answer = self.twin.correct(key, published).await;
        self.joints.pass().await.map_err(store_timed_out)?;
        answer
    }
}

/// The broker as one worker reaches it. Notes every ack together with whether a result stood then.
#[derive(Clone, Debug)]
pub struct SimBroker {
    pub twin: BrokerTwin,
    pub joints: Joints,
    /// Acks that came when no result stood (S4).
    pub too_early: Arc<AtomicUsize>,
}

impl DeadLetters for SimBroker {
    async fn bury(&self, letter: &DeadLetter) -> Result<(), BrokerFault> {
        self.joints.pass().await.map_err(broker_timed_out)?;
        let answer = self.twin.bury(letter).await;
        self.joints.pass().await.map_err(broker_timed_out)?;
        answer
    }
}

impl Broker for SimBroker {
    type Lane = TwinLane;

    async fn lane(&self, target: &PurutoName, lane: Lane) -> Result<TwinLane, BrokerFault> {
        self.twin.lane(target, lane).await
    }

    async fn publish_result(&self, message: &ResultMessage) -> Result<Publishing, BrokerFault> {
        let (teller, own) = (&self.joints.0.teller, message.subject == place());
        if own {
            teller.publishing(&message.body);
        }
        self.joints.pass().await.map_err(broker_timed_out)?;
        let answer = self.twin.publish_result(message).await;
        if own && answer == Ok(Publishing::Stored) {
            teller.heard(&message.body);
        }
        if answer.is_ok() {
            teller.published(own);
        }
        self.joints.pass().await.map_err(broker_timed_out)?;
        answer
    }

    async fn read_result(&self, subject: &str) -> Result<Option<StoredResult>, BrokerFault> {
        self.joints.pass().await.map_err(broker_timed_out)?;
        let read = self.twin.read_result(subject).await;
        if let Ok(Some(_)) = read {
            self.joints.0.teller.published(subject == place());
        }
        read
    }

    async fn reply(&self, inbox: &str, message: &ResultMessage) {
        self.twin.reply(inbox, message).await;
    }

    async fn broadcast(&self, subject: &str, body: Bytes) -> Result<(), BrokerFault> {
        self.twin.broadcast(subject, body).await
    }

    async fn ack(&self, token: &AckToken) -> Result<(), AckFault> {
        let timed_out = |TimedOut| AckFault::TimedOut { after: AFTER };
        self.joints.pass().await.map_err(timed_out)?;
        if self.twin.results().is_empty() {
            self.too_early.fetch_add(1, Ordering::SeqCst);
        }
        let answer = self.twin.ack(token).await;
        if answer.is_ok() {
            self.joints.0.teller.acked();
        }
        self.joints.pass().await.map_err(timed_out)?;
        answer
    }

    async fn nak(&self, token: &AckToken, delay: Duration) {
        if self.joints.pass().await.is_ok() {
            self.twin.nak(token, delay).await;
        }
    }

    async fn in_progress(&self, token: &AckToken) {
        self.twin.in_progress(token).await;
    }

    fn payload_max(&self) -> usize {
        self.twin.payload_max()
    }

    async fn next_cancel(&self) -> RequestKey {
        self.twin.next_cancel().await
    }
}

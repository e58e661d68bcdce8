//! The broker's twin: JetStream's promises in memory, for the simulation and the contract suite.
//!
//! Owns one stream of requests, one place a result, and a history of everything that was ever sent
//! to it. It redelivers, duplicates, drops and fails on command. Like the real one it fences no
//! ack: a stale token settles the message that its sequence names. Time is tokio's, so a paused
//! runtime moves ack waits and delays.
//!
//! Never: a user's fleet runs on it.

mod asking;
mod failures;
mod history;
mod lane;
mod lanes;
mod presence;
mod queue;
mod stored;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::{sync::Notify, time::Instant};

pub use self::{
    failures::{FailAt, Operation},
    history::{Settlement, SettlementKind},
    lane::TwinLane,
};
use self::{history::History, presence::Attendance, queue::Queue, stored::Graves};
use super::{
    AckFault, Broker, BrokerFault, BuriedLetter, ConsumerName, Headers, Publishing, ResultMessage,
    StoredMessage, StoredResult, UnreadableHeaders, ack_subject::AckSubject, stored::sequence_of,
};
use crate::{
    clock::Clock,
    contract::{Lane, PurutoName, Subjects},
    store::{AckToken, RequestKey},
};

/// What a failed call names as its bound; the twin itself fails at once.
const CALL_BOUND: Duration = Duration::from_secs(5);

/// What a server takes unless it is configured otherwise.
const PAYLOAD_MAX: usize = 1024 * 1024;

/// JetStream in memory. A clone is a further connection to the same broker: it shares everything
/// but hears only the cancels announced after it was made.
pub struct BrokerTwin {
    shared: Arc<Shared>,
    heard: AtomicUsize,
}

struct Shared {
    state: Mutex<State>,
    changed: Notify,
    clock: Clock,
    subjects: Subjects,
}

#[derive(Default)]
struct State {
    queue: Queue,
    results: HashMap<String, StoredResult>,
    history: History,
    failures: HashMap<Operation, VecDeque<FailAt>>,
    naks_to_drop: usize,
    cancels: Vec<RequestKey>,
    /// The message ids that it knows, where it is to know any.
    known_ids: Option<HashMap<String, u64>>,
    graves: Graves,
    attendance: Attendance,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for BrokerTwin {
    fn clone(&self) -> Self {
        let announced = self.shared.state().cancels.len();
        Self {
            shared: Arc::clone(&self.shared),
            heard: AtomicUsize::new(announced),
        }
    }
}

impl fmt::Debug for BrokerTwin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrokerTwin")
    }
}

/// What a test commands.
impl BrokerTwin {
    /// An empty broker; `clock` says when a message was stored.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                changed: Notify::new(),
                clock,
                subjects: Subjects::default(),
            }),
            heard: AtomicUsize::new(0),
        }
    }

    /// Stores a request; its sequence.
    pub fn publish(&self, subject: &str, headers: Headers, body: impl Into<Bytes>) -> u64 {
        self.store(subject, Ok(headers), body.into())
    }

    /// Stores a request with whatever bytes as its header block; its sequence.
    pub fn publish_raw(
        &self,
        subject: &str,
        header_block: impl Into<Bytes>,
        body: impl Into<Bytes>,
    ) -> u64 {
        let headers = UnreadableHeaders::check(header_block.into());
        self.store(subject, headers, body.into())
    }

    fn store(
        &self,
        subject: &str,
        headers: Result<Headers, UnreadableHeaders>,
        body: Bytes,
    ) -> u64 {
        let stored_at = self.shared.clock.now();
        let message = |sequence| StoredMessage {
            sequence,
            subject: subject.into(),
            headers,
            body,
            stored_at,
        };
        self.change(|state| state.queue.store(message))
    }

    /// Lets the ack wait or nak delay of a delivered message pass now.
    pub fn redeliver_now(&self, sequence: u64) {
        self.change(|state| state.queue.delay(sequence, Instant::now()));
    }

    /// The message that is delivered next is delivered a second time at once.
    pub fn duplicate_next(&self) {
        self.change(|state| state.queue.duplicate_next());
    }

    /// The next such call that is not already to fail times out.
    pub fn fail_next(&self, operation: Operation, at: FailAt) {
        self.change(|state| state.failures.entry(operation).or_default().push_back(at));
    }

    /// The next nak is lost on its way.
    pub fn drop_next_nak(&self) {
        self.change(|state| state.naks_to_drop += 1);
    }

    /// Deletes a lane's consumer: acks to it find nobody, and its deliveries count from 1 again
    /// once the lane has been pulled from, which creates it anew.
    pub fn delete_consumer(&self, target: &PurutoName, lane: Lane) {
        let subject = self.shared.subjects.invoke(target, lane);
        let consumer = ConsumerName::of(target, lane);
        self.change(|state| state.queue.delete_consumer(&consumer, &subject));
    }

    fn change<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let done = act(&mut self.shared.state());
        self.shared.changed.notify_waiters();
        done
    }
}

/// What a test reads.
impl BrokerTwin {
    /// The sequences of the requests that are still in the stream.
    #[must_use]
    pub fn pending(&self) -> Vec<u64> {
        self.shared.state().queue.sequences()
    }

    /// The results by subject.
    #[must_use]
    pub fn results(&self) -> HashMap<String, StoredResult> {
        self.shared.state().results.clone()
    }

    /// Everything that was ever sent to settle a delivery, in order, whether or not it arrived.
    #[must_use]
    pub fn settlements(&self) -> Vec<Settlement> {
        self.shared.state().history.settlements.clone()
    }

    /// Every attempt to publish a result, in order, whether or not it arrived.
    #[must_use]
    pub fn publishes(&self) -> Vec<ResultMessage> {
        self.shared.state().history.publishes.clone()
    }

    /// The dead letters, in order.
    #[must_use]
    pub fn dead_letters(&self) -> Vec<BuriedLetter> {
        self.shared.state().graves.letters()
    }

    /// Everything that was sent to whoever listened, in order.
    #[must_use]
    pub fn broadcasts(&self) -> Vec<(String, Bytes)> {
        self.shared.state().history.broadcasts.clone()
    }

    /// Every result that was sent to an inbox, in order.
    #[must_use]
    pub fn replies(&self) -> Vec<(String, ResultMessage)> {
        self.shared.state().history.replies.clone()
    }
}

impl State {
    /// Runs `effect` unless this call is to fail before it; `Err` when its answer is lost.
    fn attempt<T>(
        &mut self,
        operation: Operation,
        effect: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, ()> {
        let failure = self
            .failures
            .get_mut(&operation)
            .and_then(VecDeque::pop_front);
        match failure {
            None => Ok(effect(self)),
            Some(FailAt::BeforeEffect) => Err(()),
            Some(FailAt::AfterEffect) => {
                effect(self);
                Err(())
            }
        }
    }

    fn store_result(&mut self, message: &ResultMessage) -> Publishing {
        if self.results.contains_key(&message.subject) {
            return Publishing::AlreadyThere;
        }
        let stored = StoredResult {
            headers: message.headers.clone(),
            body: message.body.clone(),
        };
        self.results.insert(message.subject.clone(), stored);
        Publishing::Stored
    }
}

fn timed_out(operation: &'static str) -> BrokerFault {
    BrokerFault::TimedOut {
        operation,
        after: CALL_BOUND,
    }
}

impl Broker for BrokerTwin {
    type Lane = TwinLane;

    async fn lane(&self, target: &PurutoName, lane: Lane) -> Result<TwinLane, BrokerFault> {
        Ok(TwinLane::new(Arc::clone(&self.shared), target, lane))
    }

    async fn publish_result(&self, message: &ResultMessage) -> Result<Publishing, BrokerFault> {
        let mut state = self.shared.state();
        state.history.publishes.push(message.clone());
        state
            .attempt(Operation::PublishResult, |state| {
                state.store_result(message)
            })
            .map_err(|()| timed_out("publish result"))
    }

    async fn read_result(&self, subject: &str) -> Result<Option<StoredResult>, BrokerFault> {
        let read = |state: &mut State| state.results.get(subject).cloned();
        let mut state = self.shared.state();
        state
            .attempt(Operation::ReadResult, read)
            .map_err(|()| timed_out("read result"))
    }

    async fn reply(&self, inbox: &str, message: &ResultMessage) {
        let mut state = self.shared.state();
        state.history.replies.push((inbox.into(), message.clone()));
    }

    async fn broadcast(&self, subject: &str, body: Bytes) -> Result<(), BrokerFault> {
        self.change(|state| state.history.broadcasts.push((subject.into(), body)));
        Ok(())
    }

    async fn ack(&self, token: &AckToken) -> Result<(), AckFault> {
        let mut state = self.shared.state();
        state.history.settled(token, SettlementKind::Ack);
        let remove = |state: &mut State| {
            if let Some(sequence) = sequence_of(token) {
                state.queue.remove(sequence);
                return Some(());
            }
            let at = AckSubject::parse(token.as_str())?;
            state.queue.settle(at.consumer, at.sequence)
        };
        match state.attempt(Operation::Ack, remove) {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(AckFault::NoConsumer {
                token: token.clone(),
            }),
            Err(()) => Err(AckFault::TimedOut { after: CALL_BOUND }),
        }
    }

    async fn nak(&self, token: &AckToken, delay: Duration) {
        self.change(|state| {
            state.history.settled(token, SettlementKind::Nak { delay });
            if state.naks_to_drop > 0 {
                state.naks_to_drop -= 1;
            } else if let Some(at) = AckSubject::parse(token.as_str()) {
                state.queue.delay(at.sequence, Instant::now() + delay);
            }
        });
    }

    async fn in_progress(&self, token: &AckToken) {
        self.change(|state| {
            state.history.settled(token, SettlementKind::Progress);
            if let Some(at) = AckSubject::parse(token.as_str()) {
                state.queue.extend(at.sequence, Instant::now());
            }
        });
    }

    fn payload_max(&self) -> usize {
        PAYLOAD_MAX
    }

    async fn next_cancel(&self) -> RequestKey {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            // Enabled before looking, so that an announcement in between is not missed.
            changed.as_mut().enable();
            if let Some(request) = self.unheard_cancel() {
                return request;
            }
            changed.await;
        }
    }
}

impl BrokerTwin {
    fn unheard_cancel(&self) -> Option<RequestKey> {
        let state = self.shared.state();
        let next = state.cancels.get(self.heard.load(Ordering::SeqCst))?;
        self.heard.fetch_add(1, Ordering::SeqCst);
        Some(next.clone())
    }
}

//! The seam to the broker: where requests come from and results go.
//!
//! Never: policy. A port moves bytes, reports faults, and waits no longer than its bound.

mod ack_subject;
mod dead_letter;
mod drift;
mod durability;
mod header_block;
mod inspection;
mod lanes;
/// How NATS tools find services, as data.
pub mod micro;
mod names;
/// The real broker: JetStream.
pub mod nats;
mod needs;
mod stored;
/// Streams and consumers as data.
pub mod topology;
/// The twin of the simulation and the contract suite.
pub mod twin;
mod types;
mod version;

use std::{future::Future, sync::Arc, time::Duration};

use bytes::Bytes;

pub use self::{
    dead_letter::{BuriedLetter, DeadLetter, DeadReason, Missing, NoDeadLetter},
    drift::Drift,
    durability::{Durability, SyncInterval},
    header_block::HeaderFault,
    inspection::{Found, Inspected, Inspection, LaneState},
    lanes::{LaneStanding, Lanes},
    names::{ConsumerName, StreamName},
    stored::{StoredMessage, SubjectCount, UnreadableHeaders, settled_by},
    types::{
        AckFault, BrokerFault, Delivery, Headers, Pong, PublishAck, Publishing, ResultMessage,
        StoredResult,
    },
};
use crate::{
    contract::{Lane, PurutoName},
    store::{AckToken, RequestKey, SessionId},
};

/// A worker's side of the broker.
pub trait Broker: Send + Sync + 'static {
    /// One lane of one target, pulled from.
    type Lane: Pull;

    /// Opens a lane for pulling; its consumer exists since the topology was reconciled.
    ///
    /// # Errors
    /// The broker cannot be reached or has no such consumer.
    fn lane(
        &self,
        target: &PurutoName,
        lane: Lane,
    ) -> impl Future<Output = Result<Self::Lane, BrokerFault>> + Send;

    /// Publishes a result where no message may stand yet.
    ///
    /// # Errors
    /// Whether it was stored is unknown unless the fault says so; publishing again does no harm.
    fn publish_result(
        &self,
        message: &ResultMessage,
    ) -> impl Future<Output = Result<Publishing, BrokerFault>> + Send;

    /// What stands under a result subject.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn read_result(
        &self,
        subject: &str,
    ) -> impl Future<Output = Result<Option<StoredResult>, BrokerFault>> + Send;

    /// Sends the result to an inbox as well; best effort.
    fn reply(&self, inbox: &str, message: &ResultMessage) -> impl Future<Output = ()> + Send;

    /// Sends to whoever listens now; nothing is kept. Waits for room only, and no longer than its
    /// bound.
    ///
    /// # Errors
    /// There was no room in time, or the message can never be sent; nobody may have heard it.
    fn broadcast(
        &self,
        subject: &str,
        body: Bytes,
    ) -> impl Future<Output = Result<(), BrokerFault>> + Send;

    /// Removes a delivery for good and waits until the broker has confirmed it. A delivery that was
    /// made of a [`StoredMessage`] is removed by its sequence.
    ///
    /// # Errors
    /// The broker did not confirm; the message may come again.
    fn ack(&self, token: &AckToken) -> impl Future<Output = Result<(), AckFault>> + Send;

    /// Asks for redelivery no sooner than `delay`; zero means at once. Best effort: if it is lost
    /// the ack wait passes.
    fn nak(&self, token: &AckToken, delay: Duration) -> impl Future<Output = ()> + Send;

    /// Tells the broker that a delivery is being worked on. Best effort, repeated by the caller.
    fn in_progress(&self, token: &AckToken) -> impl Future<Output = ()> + Send;

    /// Largest message, with headers, that the broker takes, in bytes.
    fn payload_max(&self) -> usize;

    /// The next request that a caller asked to cancel, as announced; announcements can be lost.
    fn next_cancel(&self) -> impl Future<Output = RequestKey> + Send;
}

/// Asking others: what a worker has in common with a caller.
pub trait Asking: Send + Sync + 'static {
    /// Publishes a request and waits for the broker's word that it is stored.
    ///
    /// # Errors
    /// Whether it was stored is unknown after a time-out; publishing again with the same message
    /// id does no harm.
    fn publish_request(
        &self,
        subject: &str,
        headers: &Headers,
        body: Bytes,
    ) -> impl Future<Output = Result<PublishAck, BrokerFault>> + Send;

    /// Tells the workers that a request is to be cancelled; announcements can be lost.
    ///
    /// # Errors
    /// There is no connection.
    fn announce_cancel(
        &self,
        request: &RequestKey,
    ) -> impl Future<Output = Result<(), BrokerFault>> + Send;
}

/// Who is there: the broker knows at once when a process has died, since its connection ends.
pub trait Presence: Send + Sync + 'static {
    /// Answers pings for `session` until it is dropped; then nobody does. Ends by itself only when
    /// it could not begin, and may be called again then.
    fn answer_pings(&self, session: &SessionId) -> impl Future<Output = ()> + Send;

    /// Asks whether `session` answers, waiting no longer than `bound`.
    fn ping(&self, session: &SessionId, bound: Duration) -> impl Future<Output = Pong> + Send;

    /// For how long the connection that pings has been up without a break; zero while it is down.
    fn stable_for(&self) -> Duration;
}

/// What lies in the stream of requests, looked at without a consumer: also what no consumer serves,
/// and what no client library can read.
pub trait Stored: Send + Sync + 'static {
    /// Every subject that has messages, and how many.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn subjects(&self) -> impl Future<Output = Result<Vec<SubjectCount>, BrokerFault>> + Send;

    /// The first message from sequence `from` on that lies under `filter`, a subject that may have
    /// wildcards. A subject that is no UTF-8 is found by wildcards only.
    ///
    /// # Errors
    /// The broker did not answer in time; `filter` is no subject.
    fn next(
        &self,
        from: u64,
        filter: &str,
    ) -> impl Future<Output = Result<Option<StoredMessage>, BrokerFault>> + Send;

    /// The message with this sequence, if it is still there.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn read(
        &self,
        sequence: u64,
    ) -> impl Future<Output = Result<Option<StoredMessage>, BrokerFault>> + Send;

    /// Removes a message for good, whoever was given it, and waits until the broker has confirmed
    /// it; `false` when it was not there any more.
    ///
    /// # Errors
    /// The broker did not confirm; it may be removed all the same.
    fn remove(&self, sequence: u64) -> impl Future<Output = Result<bool, BrokerFault>> + Send;
}

/// Where messages that nobody will answer any more are kept.
pub trait DeadLetters: Send + Sync + 'static {
    /// Keeps a letter and waits until the broker has confirmed it. However often a message is
    /// buried, it has one letter: the first.
    ///
    /// # Errors
    /// Whether it is kept is unknown unless the fault says so; burying again does no harm.
    fn bury(&self, letter: &DeadLetter) -> impl Future<Output = Result<(), BrokerFault>> + Send;
}

/// One lane of one target. Standing demand is asked of the broker; deliveries come as they are
/// ready. Dropping it withdraws what was asked.
pub trait Pull: Send + 'static {
    /// How many deliveries have been asked for and not come yet.
    fn demanded(&self) -> usize;

    /// Asks for `more` deliveries beyond those already asked for.
    fn demand(&mut self, more: usize);

    /// Withdraws whatever was asked for and has not come. Deliveries already on their way may
    /// still come.
    fn withdraw(&mut self);

    /// The next delivery; stays pending while nothing is demanded or nothing is there. Recovers
    /// by itself from a lost connection, a stalled pull or a recreated consumer. Safe to drop
    /// and call again.
    fn next(&mut self) -> impl Future<Output = Delivery> + Send;

    /// How many messages the lane had waiting when the broker last said so.
    fn backlog(&self) -> u64;
}

/// Everything that a walk asks of the broker.
pub trait WalkBroker: Broker + Asking + DeadLetters {}

impl<B: Broker + Asking + DeadLetters> WalkBroker for B {}

/// Connections are shared by the walk and what stands beside it.
impl<B: Broker> Broker for Arc<B> {
    type Lane = B::Lane;

    async fn lane(&self, target: &PurutoName, lane: Lane) -> Result<Self::Lane, BrokerFault> {
        (**self).lane(target, lane).await
    }

    async fn publish_result(&self, message: &ResultMessage) -> Result<Publishing, BrokerFault> {
        (**self).publish_result(message).await
    }

    async fn read_result(&self, subject: &str) -> Result<Option<StoredResult>, BrokerFault> {
        (**self).read_result(subject).await
    }

    async fn reply(&self, inbox: &str, message: &ResultMessage) {
        (**self).reply(inbox, message).await;
    }

    async fn broadcast(&self, subject: &str, body: Bytes) -> Result<(), BrokerFault> {
        (**self).broadcast(subject, body).await
    }

    async fn ack(&self, token: &AckToken) -> Result<(), AckFault> {
        (**self).ack(token).await
    }

    async fn nak(&self, token: &AckToken, delay: Duration) {
        (**self).nak(token, delay).await;
    }

    async fn in_progress(&self, token: &AckToken) {
        (**self).in_progress(token).await;
    }

    fn payload_max(&self) -> usize {
        (**self).payload_max()
    }

    async fn next_cancel(&self) -> RequestKey {
        (**self).next_cancel().await
    }
}

impl<A: Asking> Asking for Arc<A> {
    async fn publish_request(
        &self,
        subject: &str,
        headers: &Headers,
        body: Bytes,
    ) -> Result<PublishAck, BrokerFault> {
        (**self).publish_request(subject, headers, body).await
    }

    async fn announce_cancel(&self, request: &RequestKey) -> Result<(), BrokerFault> {
        (**self).announce_cancel(request).await
    }
}

impl<P: Presence> Presence for Arc<P> {
    async fn answer_pings(&self, session: &SessionId) {
        (**self).answer_pings(session).await;
    }

    async fn ping(&self, session: &SessionId, bound: Duration) -> Pong {
        (**self).ping(session, bound).await
    }

    fn stable_for(&self) -> Duration {
        (**self).stable_for()
    }
}

impl<S: Stored> Stored for Arc<S> {
    async fn subjects(&self) -> Result<Vec<SubjectCount>, BrokerFault> {
        (**self).subjects().await
    }

    async fn next(&self, from: u64, filter: &str) -> Result<Option<StoredMessage>, BrokerFault> {
        (**self).next(from, filter).await
    }

    async fn read(&self, sequence: u64) -> Result<Option<StoredMessage>, BrokerFault> {
        (**self).read(sequence).await
    }

    async fn remove(&self, sequence: u64) -> Result<bool, BrokerFault> {
        (**self).remove(sequence).await
    }
}

impl<D: DeadLetters> DeadLetters for Arc<D> {
    async fn bury(&self, letter: &DeadLetter) -> Result<(), BrokerFault> {
        (**self).bury(letter).await
    }
}

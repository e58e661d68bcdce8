//! The seam to the broker as a caller needs it.

use std::future::Future;

use bytes::Bytes;

use crate::{
    broker::{BrokerFault, Headers, PublishAck, ResultMessage, StoredResult},
    store::RequestKey,
};

/// A result with its place in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequencedResult {
    /// Its sequence in the stream of results.
    pub sequence: u64,
    /// The result.
    pub message: ResultMessage,
}

/// What comes over a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A result that was published just now.
    Result(ResultMessage),
    /// The connection was lost and is back: what was published meanwhile did not arrive.
    Reconnected,
}

/// A subscription to results as they are published. Dropping it ends it.
pub trait Arrivals: Send + 'static {
    /// What comes next; stays pending while nothing does. Safe to drop and call again.
    fn next(&mut self) -> impl Future<Output = Arrival> + Send;
}

/// A caller's side of the broker.
pub trait Exchange: Send + Sync + 'static {
    /// A subscription.
    type Arrivals: Arrivals;

    /// Subscribes to the results under `subjects`, which may hold wildcards. Whatever this
    /// connection publishes afterwards is answered to a subscription that stands.
    ///
    /// # Errors
    /// There is no connection.
    fn subscribe(
        &self,
        subjects: &str,
    ) -> impl Future<Output = Result<Self::Arrivals, BrokerFault>> + Send;

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

    /// What stands under a result subject.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn read_result(
        &self,
        subject: &str,
    ) -> impl Future<Output = Result<Option<StoredResult>, BrokerFault>> + Send;

    /// The first result under `subjects`, which may hold wildcards, beyond `sequence`.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn next_result(
        &self,
        subjects: &str,
        sequence: u64,
    ) -> impl Future<Output = Result<Option<SequencedResult>, BrokerFault>> + Send;

    /// Tells the workers that a request is to be cancelled; announcements can be lost.
    ///
    /// # Errors
    /// There is no connection.
    fn announce_cancel(
        &self,
        request: &RequestKey,
    ) -> impl Future<Output = Result<(), BrokerFault>> + Send;
}

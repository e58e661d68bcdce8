//! The seam to the broker as a caller needs it.

use std::future::Future;

use crate::{
    broker::{Asking, BrokerFault, ResultMessage, StoredMessage, StoredResult},
    contract::{CorrelationId, PurutoName, RequestId},
};

/// What comes over a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// What was published just now.
    Result(ResultMessage),
    /// The connection was lost and is back: what was published meanwhile did not arrive.
    Reconnected,
}

/// A subscription to what is published. Dropping it ends it.
pub trait Arrivals: Send + 'static {
    /// What comes next; stays pending while nothing does. Safe to drop and call again.
    fn next(&mut self) -> impl Future<Output = Arrival> + Send;
}

/// A caller's side of the broker.
pub trait Exchange: Asking {
    /// A subscription.
    type Arrivals: Arrivals;

    /// Subscribes to the results of a chain. Whatever this connection publishes or reads
    /// afterwards, it does with the subscription standing: a result is read, or heard, or both.
    ///
    /// # Errors
    /// There is no connection.
    fn subscribe(
        &self,
        chain: &CorrelationId,
    ) -> impl Future<Output = Result<Self::Arrivals, BrokerFault>> + Send;

    /// Subscribes to what is told of an answer while it is being written, as
    /// [`Exchange::subscribe`] does.
    ///
    /// # Errors
    /// There is no connection.
    fn listen(
        &self,
        chain: &CorrelationId,
        request: &RequestId,
    ) -> impl Future<Output = Result<Self::Arrivals, BrokerFault>> + Send;

    /// What stands under a result subject.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn read_result(
        &self,
        subject: &str,
    ) -> impl Future<Output = Result<Option<StoredResult>, BrokerFault>> + Send;

    /// The last result of a request, in whatever chain that is.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn find_result(
        &self,
        request: &RequestId,
    ) -> impl Future<Output = Result<Option<ResultMessage>, BrokerFault>> + Send;

    /// Every stored result of a chain, oldest first.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn stored_results(
        &self,
        chain: &CorrelationId,
    ) -> impl Future<Output = Result<Vec<ResultMessage>, BrokerFault>> + Send;

    /// Whether any worker ever served `target`.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn target_exists(
        &self,
        target: &PurutoName,
    ) -> impl Future<Output = Result<bool, BrokerFault>> + Send;
}

/// What is told of requests while they are worked on, as its reader needs it.
pub trait Happenings: Exchange {
    /// Subscribes to what is told under `filter`, a subject that may have wildcards, as
    /// [`Exchange::subscribe`] does.
    ///
    /// # Errors
    /// There is no connection.
    fn hear(
        &self,
        filter: &str,
    ) -> impl Future<Output = Result<Self::Arrivals, BrokerFault>> + Send;

    /// What is kept of what was told under `filter`, oldest first.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn stored_events(
        &self,
        filter: &str,
    ) -> impl Future<Output = Result<Vec<ResultMessage>, BrokerFault>> + Send;
}

/// The stream of requests as one looks at it who takes none of them.
pub trait Queue: Send + Sync + 'static {
    /// The first message from sequence `from` on that lies under `filter`, a subject that may have
    /// wildcards; nothing where no worker ever ran.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn next_queued(
        &self,
        from: u64,
        filter: &str,
    ) -> impl Future<Output = Result<Option<StoredMessage>, BrokerFault>> + Send;
}

/// The stream of dead letters as its reader needs it.
pub trait Letters: Send + Sync + 'static {
    /// The first message from sequence `from` on, of one target or of all.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn next_letter(
        &self,
        from: u64,
        target: Option<&PurutoName>,
    ) -> impl Future<Output = Result<Option<StoredMessage>, BrokerFault>> + Send;

    /// Removes a message for good and waits until the broker has confirmed it; `false` when it was
    /// not there any more.
    ///
    /// # Errors
    /// The broker did not confirm; it may be removed all the same.
    fn remove_letter(
        &self,
        sequence: u64,
    ) -> impl Future<Output = Result<bool, BrokerFault>> + Send;
}

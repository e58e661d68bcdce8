//! The broker's caller side as the client's port.

use super::{Arrival, Arrivals, Exchange, Happenings, Letters, Queue};
use crate::{
    broker::{
        BrokerFault, ResultMessage, StoredMessage, StoredResult,
        nats::{NatsClient, ResultSubscription},
    },
    contract::{CorrelationId, PurutoName, RequestId},
};

/// `JetStream`'s code for a stream that is not there: no worker of this fleet ever ran.
const NO_STREAM: u64 = 10_059;

/// What is not there holds nothing.
fn unless_no_stream<T: Default>(answer: Result<T, BrokerFault>) -> Result<T, BrokerFault> {
    match answer {
        Err(BrokerFault::Refused {
            code: Some(NO_STREAM),
            ..
        }) => Ok(T::default()),
        other => other,
    }
}

fn message((subject, stored): (String, StoredResult)) -> ResultMessage {
    let StoredResult { headers, body } = stored;
    ResultMessage {
        subject,
        headers,
        body,
    }
}

impl Arrivals for ResultSubscription {
    async fn next(&mut self) -> Arrival {
        let next = Self::next(self).await;
        next.map_or(Arrival::Reconnected, |next| Arrival::Result(message(next)))
    }
}

impl Exchange for NatsClient {
    type Arrivals = ResultSubscription;

    async fn subscribe(&self, chain: &CorrelationId) -> Result<ResultSubscription, BrokerFault> {
        self.results(chain).await
    }

    async fn listen(
        &self,
        chain: &CorrelationId,
        request: &RequestId,
    ) -> Result<ResultSubscription, BrokerFault> {
        self.tokens(chain, request).await
    }

    async fn read_result(&self, subject: &str) -> Result<Option<StoredResult>, BrokerFault> {
        Self::read_result(self, subject).await
    }

    async fn find_result(&self, request: &RequestId) -> Result<Option<ResultMessage>, BrokerFault> {
        Ok(Self::find_result(self, request).await?.map(message))
    }

    async fn stored_results(
        &self,
        chain: &CorrelationId,
    ) -> Result<Vec<ResultMessage>, BrokerFault> {
        let stored = Self::stored_results(self, chain).await?;
        Ok(stored.into_iter().map(message).collect())
    }

    async fn target_exists(&self, target: &PurutoName) -> Result<bool, BrokerFault> {
        unless_no_stream(Self::target_exists(self, target).await)
    }
}

impl Happenings for NatsClient {
    async fn hear(&self, filter: &str) -> Result<ResultSubscription, BrokerFault> {
        self.events(filter).await
    }

    async fn stored_events(&self, filter: &str) -> Result<Vec<ResultMessage>, BrokerFault> {
        let stored = unless_no_stream(Self::stored_events(self, filter).await)?;
        Ok(stored.into_iter().map(message).collect())
    }
}

impl Queue for NatsClient {
    async fn next_queued(
        &self,
        from: u64,
        filter: &str,
    ) -> Result<Option<StoredMessage>, BrokerFault> {
        unless_no_stream(self.next_request(from, filter).await)
    }
}

impl Letters for NatsClient {
    async fn next_letter(
        &self,
        from: u64,
        target: Option<&PurutoName>,
    ) -> Result<Option<StoredMessage>, BrokerFault> {
        unless_no_stream(self.next_dead_letter(from, target).await)
    }

    async fn remove_letter(&self, sequence: u64) -> Result<bool, BrokerFault> {
        unless_no_stream(self.remove_dead_letter(sequence).await)
    }
}

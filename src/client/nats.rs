//! The broker's caller side as the client's port.

use bytes::Bytes;

use super::{Arrival, Arrivals, Exchange};
use crate::{
    broker::{
        BrokerFault, Headers, PublishAck, ResultMessage, StoredResult,
        nats::{NatsClient, ResultSubscription},
    },
    contract::{CorrelationId, PurutoName, RequestId},
    store::RequestKey,
};

/// `JetStream`'s code for a stream that is not there: no worker of this fleet ever ran.
const NO_STREAM: u64 = 10_059;

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

    async fn publish_request(
        &self,
        subject: &str,
        headers: &Headers,
        body: Bytes,
    ) -> Result<PublishAck, BrokerFault> {
        Self::publish_request(self, subject, headers, body).await
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
        match Self::target_exists(self, target).await {
            Err(BrokerFault::Refused {
                code: Some(NO_STREAM),
                ..
            }) => Ok(false),
            other => other,
        }
    }

    async fn announce_cancel(&self, request: &RequestKey) -> Result<(), BrokerFault> {
        Self::announce_cancel(self, request).await
    }
}

//! Asking others: publishing a request, for a caller and for a worker alike.

use bytes::Bytes;

use super::{
    super::{Asking, BrokerFault, Headers, PublishAck, StreamName},
    NatsBroker, NatsClient,
    api::{ApiFault, code},
    cancels,
    link::Link,
    publish::publish,
    results::check_subject,
    unanswered::Unanswered,
    wire,
};
use crate::store::RequestKey;

const PUBLISH: &str = "publish request";

/// Publishes a request into the stream `requests` and waits until it is stored.
async fn publish_request(
    link: &Link,
    requests: &StreamName,
    (subject, headers): (&str, &Headers),
    body: Bytes,
) -> Result<PublishAck, BrokerFault> {
    check_subject(subject, PUBLISH)?;
    let headers = (!headers.is_empty()).then(|| wire::to_wire(headers.iter()));
    let published = publish(link, subject, headers, body).await;
    published.map_err(|fault| explain(requests, subject, fault))
}

fn explain(requests: &StreamName, subject: &str, fault: ApiFault) -> BrokerFault {
    let refused = |reason: String, code| BrokerFault::Refused {
        operation: PUBLISH,
        reason,
        code,
    };
    match fault {
        ApiFault::Refused(error) if error.code == code::STORE_FAILED => refused(
            format!("the backlog of {subject} is full: {}", error.description),
            Some(error.code),
        ),
        ApiFault::Unanswered(Unanswered::NoResponders) => refused(
            format!(
                "there is no stream {}: has a worker with this prefix ever run?",
                requests.as_str()
            ),
            None,
        ),
        fault => fault.into_fault(PUBLISH),
    }
}

impl Asking for NatsBroker {
    async fn publish_request(
        &self,
        subject: &str,
        headers: &Headers,
        body: Bytes,
    ) -> Result<PublishAck, BrokerFault> {
        publish_request(&self.links.settle, &self.requests, (subject, headers), body).await
    }

    async fn announce_cancel(&self, request: &RequestKey) -> Result<(), BrokerFault> {
        cancels::announce(&self.links.settle, request).await
    }
}

impl Asking for NatsClient {
    /// Refused when the target's backlog is full or no worker has ever made the stream.
    async fn publish_request(
        &self,
        subject: &str,
        headers: &Headers,
        body: Bytes,
    ) -> Result<PublishAck, BrokerFault> {
        publish_request(self.link(), self.requests(), (subject, headers), body).await
    }

    async fn announce_cancel(&self, request: &RequestKey) -> Result<(), BrokerFault> {
        cancels::announce(self.link(), request).await
    }
}

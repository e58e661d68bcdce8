//! Requests that reach this process over core NATS and are answered by it.

use bytes::Bytes;

use super::{api::CALL_BOUND, client::NatsClient, subscription::Subscription, wire};
use crate::broker::{BrokerFault, Headers, micro::QUEUE_GROUP};

/// What somebody asks and where the answer goes.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its headers.
    pub headers: Headers,
    /// Its body.
    pub body: Bytes,
    /// Where the answer goes; nowhere when whoever asks waits for none.
    pub reply: Option<Box<str>>,
}

/// The calls of one subject, shared out among all processes that take them. Dropping it ends that.
#[derive(Debug)]
pub struct Calls(Subscription);

impl Calls {
    /// The next call. Safe to drop and call again.
    pub async fn next(&mut self) -> Call {
        loop {
            // What was lost with a connection is asked again by whoever waits.
            if let Some(message) = self.0.next().await {
                return Call {
                    headers: wire::from_wire(message.headers.as_ref()),
                    body: wire::own(message.payload),
                    reply: message.reply.map(|reply| reply.as_str().into()),
                };
            }
        }
    }
}

impl NatsClient {
    /// Takes calls under `subject`.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn calls(&self, subject: &str) -> Result<Calls, BrokerFault> {
        let taken = Subscription::open_in(self.link(), subject.to_owned(), Some(QUEUE_GROUP));
        Ok(Calls(taken.await?))
    }

    /// Answers a call; best effort, as the call itself is.
    pub async fn answer(&self, reply: &str, headers: &Headers, body: Bytes) {
        let headers = (!headers.is_empty()).then(|| wire::to_wire(headers.iter()));
        let sent = self.link().publish(reply, headers, body, CALL_BOUND).await;
        if let Err(unanswered) = sent {
            let fault = unanswered.into_fault("answer a call");
            tracing::debug!(%fault, "a call was not answered");
        }
    }
}

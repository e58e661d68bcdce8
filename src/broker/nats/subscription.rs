//! A subscription that outlives its connection.

use std::sync::Arc;

use async_nats::{Message, SubscribeError, Subscriber};
use futures_util::StreamExt as _;
use tokio::{sync::watch, time::timeout};

use super::{super::BrokerFault, api::CALL_BOUND, link::Link, lives::Wire};

#[derive(Debug)]
pub(super) struct Subscription {
    subject: String,
    /// Each message goes to one subscription of a group.
    group: Option<&'static str>,
    lives: watch::Receiver<Arc<Wire>>,
    messages: Subscriber,
}

impl Subscription {
    /// Subscribes. The server knows of it before it sees what the same link sends afterwards; the
    /// client library's flush would promise no more, it only empties the write buffer.
    pub(super) async fn open(link: &Link, subject: String) -> Result<Self, BrokerFault> {
        Self::open_in(link, subject, None).await
    }

    /// As [`Subscription::open`], as one of a group.
    pub(super) async fn open_in(
        link: &Link,
        subject: String,
        group: Option<&'static str>,
    ) -> Result<Self, BrokerFault> {
        let mut lives = link.lives();
        let wire = Arc::clone(&lives.borrow_and_update());
        let subscribing = subscribe(&wire, &subject, group);
        match timeout(CALL_BOUND, subscribing).await {
            Ok(Ok(messages)) => Ok(Self {
                subject,
                group,
                lives,
                messages,
            }),
            Ok(Err(error)) => Err(BrokerFault::Unreachable {
                address: link.options().address(),
                reason: error.to_string(),
            }),
            Err(_) => Err(BrokerFault::TimedOut {
                operation: "subscribe",
                after: CALL_BOUND,
            }),
        }
    }

    /// The next message; `None` when some may have been missed. Safe to drop and call again.
    pub(super) async fn next(&mut self) -> Option<Message> {
        tokio::select! {
            biased;
            message = self.messages.next() => {
                if message.is_none() {
                    // Boxed: whoever waits for a message holds no place for what is rare.
                    Box::pin(self.renew()).await;
                }
                message
            }
            // The client library renews it after a reconnect.
            _ = self.lives.changed() => None,
        }
    }

    /// Subscribes on the successor of a connection that has died.
    async fn renew(&mut self) {
        loop {
            let wire = Arc::clone(&self.lives.borrow_and_update());
            let subscribing = subscribe(&wire, &self.subject, self.group);
            match timeout(CALL_BOUND, subscribing).await {
                Ok(Ok(messages)) => {
                    self.messages = messages;
                    return;
                }
                // There was no room: it has waited already.
                Err(_) => continue,
                Ok(Err(_)) => {}
            }
            if self.lives.changed().await.is_err() {
                // The link is gone: nothing will come any more.
                std::future::pending::<()>().await;
            }
        }
    }
}

async fn subscribe(
    wire: &Wire,
    subject: &str,
    group: Option<&'static str>,
) -> Result<Subscriber, SubscribeError> {
    let subject = subject.to_owned();
    match group {
        None => wire.client.subscribe(subject).await,
        Some(group) => wire.client.queue_subscribe(subject, group.to_owned()).await,
    }
}

//! Announcements of cancels: best effort, core NATS.

use std::sync::Arc;

use async_nats::Subscriber;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, watch};

use super::{
    super::BrokerFault,
    api::CALL_BOUND,
    link::{Link, Wire},
};
use crate::{
    contract::{PurutoName, RequestId},
    store::RequestKey,
};

#[derive(Serialize, Deserialize)]
struct Announcement {
    target: PurutoName,
    request_id: RequestId,
}

/// Tells the workers that a request is to be cancelled.
pub(super) async fn announce(link: &Link, request: &RequestKey) -> Result<(), BrokerFault> {
    let announcement = Announcement {
        target: request.target.clone(),
        request_id: request.request.clone(),
    };
    let body = serde_json::to_vec(&announcement).map_err(|error| BrokerFault::Refused {
        operation: "announce cancel",
        reason: error.to_string(),
        code: None,
    })?;
    let subject = link.options().subjects.control_cancel();
    let sent = link.publish(&subject, None, body.into(), CALL_BOUND).await;
    sent.map_err(|unanswered| unanswered.into_fault("announce cancel"))
}

/// Hears them.
#[derive(Debug)]
pub(super) struct Cancels {
    subject: String,
    state: Mutex<Hearing>,
}

#[derive(Debug)]
struct Hearing {
    lives: watch::Receiver<Arc<Wire>>,
    messages: Option<Subscriber>,
}

impl Cancels {
    /// Begins to listen.
    pub(super) async fn listen(link: &Link) -> Self {
        let subject = link.options().subjects.control_cancel();
        let mut hearing = Hearing {
            lives: link.lives(),
            messages: None,
        };
        hearing.subscribe(&subject).await;
        Self {
            subject,
            state: Mutex::new(hearing),
        }
    }

    /// The next announcement; what is no announcement is passed over.
    pub(super) async fn next(&self) -> RequestKey {
        let mut hearing = self.state.lock().await;
        loop {
            let Some(messages) = &mut hearing.messages else {
                hearing.resubscribe(&self.subject).await;
                continue;
            };
            let Some(message) = messages.next().await else {
                hearing.messages = None;
                continue;
            };
            match serde_json::from_slice::<Announcement>(&message.payload) {
                Ok(Announcement { target, request_id }) => {
                    let request = request_id;
                    return RequestKey { target, request };
                }
                Err(error) => tracing::debug!(%error, "a cancel that is not understood"),
            }
        }
    }
}

impl Hearing {
    async fn subscribe(&mut self, subject: &str) {
        let wire = Arc::clone(&self.lives.borrow_and_update());
        self.messages = wire.client.subscribe(subject.to_owned()).await.ok();
    }

    /// A subscription outlives a reconnect; it ends only with its connection, so a new life is
    /// awaited.
    async fn resubscribe(&mut self, subject: &str) {
        if self.lives.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.subscribe(subject).await;
    }
}

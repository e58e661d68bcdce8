//! Announcements of cancels: best effort, core NATS.

use serde::{Deserialize, Serialize};
use tokio::{sync::Mutex, time::timeout};

use super::{super::BrokerFault, api::CALL_BOUND, link::Link, subscription::Subscription};
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
    sent.map_err(|unanswered| unanswered.into_fault("announce cancel"))?;
    // A command may end right after this, and with it whatever still waits to be written.
    let written = timeout(CALL_BOUND, link.wire().client.flush()).await;
    if !matches!(written, Ok(Ok(()))) {
        tracing::debug!("a cancel was not announced; the worker's next renewal brings it");
    }
    Ok(())
}

/// Hears them.
#[derive(Debug)]
pub(super) struct Cancels(Mutex<Subscription>);

impl Cancels {
    /// Begins to listen.
    pub(super) async fn listen(link: &Link) -> Result<Self, BrokerFault> {
        let subject = link.options().subjects.control_cancel();
        let subscription = Subscription::open(link, subject).await?;
        Ok(Self(Mutex::new(subscription)))
    }

    /// The next announcement; what is none is passed over.
    pub(super) async fn next(&self) -> RequestKey {
        let mut subscription = self.0.lock().await;
        loop {
            let Some(message) = subscription.next().await else {
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

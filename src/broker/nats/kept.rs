//! A stream that is published to, made anew when somebody has deleted it.
//!
//! Never: a second try. What was published to no stream has failed; its publisher tries again,
//! with a wait that grows and an end, and each failure looks for the stream once.

use std::sync::Arc;

use async_nats::HeaderMap;
use bytes::Bytes;
use tokio::sync::Mutex;

use super::{
    super::{BrokerFault, PublishAck, topology::Wanted},
    api::ApiFault,
    incident::Incident,
    link::Link,
    publish::publish,
    reconcile,
    unanswered::Unanswered,
};

/// A stream that has to be there.
#[derive(Debug)]
pub(super) struct Kept {
    wanted: Wanted,
    settle: Arc<Link>,
    control: Arc<Link>,
    /// Held by whoever looks for the stream: one of all whose publishing fails at a time.
    looking: Mutex<()>,
}

impl Kept {
    /// Published to by `settle`, and looked for by `control`.
    pub(super) fn new(wanted: Wanted, settle: &Arc<Link>, control: &Arc<Link>) -> Self {
        Self {
            wanted,
            settle: Arc::clone(settle),
            control: Arc::clone(control),
            looking: Mutex::default(),
        }
    }

    /// Publishes and waits until the message is stored. When the stream turns out to be gone it is
    /// made anew, for the next try.
    pub(super) async fn publish(
        &self,
        subject: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<PublishAck, ApiFault> {
        let published = publish(&self.settle, subject, Some(headers), body).await;
        if published.as_ref().is_err_and(may_be_gone)
            && let Ok(_alone) = self.looking.try_lock()
            && let Err(fault) = self.restore().await
        {
            tracing::warn!(place = %self.wanted.place, %fault, "no stream to publish to");
        }
        published
    }

    /// The most that a message may have, headers and body together, in bytes.
    pub(super) fn payload_max(&self) -> usize {
        self.settle.wire().client.max_payload()
    }

    async fn restore(&self) -> Result<(), BrokerFault> {
        if reconcile::is_there(&self.control, &self.wanted).await? {
            return Ok(());
        }
        reconcile::reconcile(&self.control, &self.wanted).await?;
        let place = self.wanted.place.to_string();
        self.control.happened(&Incident::StreamRestored(place));
        Ok(())
    }
}

/// Nobody answers for a stream that is gone; where somebody else hears its subjects, the server
/// does not say so.
const fn may_be_gone(fault: &ApiFault) -> bool {
    matches!(
        fault,
        ApiFault::Unanswered(Unanswered::NoResponders | Unanswered::TimedOut { .. })
    )
}

//! Settling deliveries.
//!
//! The client library's own confirmed ack takes "no responders" for a confirmation; this one does
//! not. A confirmation still does not say that *this* ack counted: acks are not fenced.

use std::time::Duration;

use bytes::Bytes;

use super::{
    super::{AckFault, ack_subject::AckSubject},
    link::Link,
    unanswered::Unanswered,
};
use crate::store::AckToken;

/// How long a confirmation may take.
const ACK_BOUND: Duration = Duration::from_secs(5);

/// Removes a delivery and waits for the confirmation.
pub(super) async fn ack(link: &Link, token: &AckToken) -> Result<(), AckFault> {
    let no_consumer = || AckFault::NoConsumer {
        token: token.clone(),
    };
    // A token may come from the wire or from a record: nothing else is published under it.
    if AckSubject::parse(token.as_str()).is_none() {
        return Err(no_consumer());
    }
    let body = Bytes::from_static(b"+ACK");
    match link.request(token.as_str(), None, body, ACK_BOUND).await {
        Ok(_) => Ok(()),
        Err(Unanswered::NoResponders | Unanswered::BadSubject | Unanswered::TooLarge { .. }) => {
            Err(no_consumer())
        }
        Err(
            Unanswered::TimedOut { .. } | Unanswered::Unreachable { .. } | Unanswered::Denied(_),
        ) => Err(AckFault::TimedOut { after: ACK_BOUND }),
    }
}

/// Asks for redelivery no sooner than `delay`; if it is lost the ack wait passes.
pub(super) async fn nak(link: &Link, token: &AckToken, delay: Duration) {
    let body = if delay.is_zero() {
        Bytes::from_static(b"-NAK")
    } else {
        format!("-NAK {{\"delay\": {}}}", delay.as_nanos()).into()
    };
    send(link, token, body).await;
}

/// Starts the ack wait anew; repeated by the caller.
pub(super) async fn in_progress(link: &Link, token: &AckToken) {
    send(link, token, Bytes::from_static(b"+WPI")).await;
}

async fn send(link: &Link, token: &AckToken, body: Bytes) {
    if AckSubject::parse(token.as_str()).is_none() {
        return;
    }
    let sent = link.publish(token.as_str(), None, body, ACK_BOUND).await;
    if let Err(unanswered) = sent {
        let fault = unanswered.into_fault("settle");
        tracing::debug!(%fault, "a best-effort settlement was not sent");
    }
}

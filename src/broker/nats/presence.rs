//! Pings between workers: core NATS requests on the control connection.
//!
//! The server answers a request that nobody listens for with "no responders", and it forgets the
//! subscriptions of a process the moment its connection ends.

use std::time::Duration;

use bytes::Bytes;

use super::{
    super::Pong, api::CALL_BOUND, link::Link, subscription::Subscription, unanswered::Unanswered,
};
use crate::store::SessionId;

/// Answers every ping for `session` until it is dropped, which ends the subscription. Ends when
/// there is no connection to subscribe on.
pub(super) async fn answer(link: &Link, session: &SessionId) {
    let subject = link.options().subjects.control_session(session.as_str());
    let mut pings = match Subscription::open(link, subject).await {
        Ok(pings) => pings,
        Err(fault) => {
            tracing::debug!(%fault, "pings cannot be answered yet");
            return;
        }
    };
    loop {
        let Some(reply) = pings.next().await.and_then(|ping| ping.reply) else {
            continue;
        };
        // One that is not answered says nothing to whoever asked, who asks again.
        let sent = link.publish(&reply, None, Bytes::new(), CALL_BOUND).await;
        if let Err(unanswered) = sent {
            let fault = unanswered.into_fault("answer ping");
            tracing::debug!(%fault, "a ping was not answered");
        }
    }
}

/// Asks whether anybody answers for `session`.
pub(super) async fn ping(link: &Link, session: &SessionId, bound: Duration) -> Pong {
    let subject = link.options().subjects.control_session(session.as_str());
    match link.request(&subject, None, Bytes::new(), bound).await {
        Ok(_) => Pong::Answered,
        Err(Unanswered::NoResponders) => Pong::NoResponders,
        Err(
            Unanswered::TimedOut { .. }
            | Unanswered::Unreachable { .. }
            | Unanswered::Denied(_)
            | Unanswered::TooLarge { .. }
            | Unanswered::BadSubject,
        ) => Pong::Silent,
    }
}

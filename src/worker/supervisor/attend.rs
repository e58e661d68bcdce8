//! Answers pings for the worker's own session, so that its death is noticed at once.

use std::time::Duration;

use tokio::time::sleep;

use crate::{
    broker::{Pong, Presence},
    pipeline::SessionWatch,
    store::{SessionId, Supervision},
    telemetry::metrics::Metrics,
};

/// Between two tries of what did not succeed.
const AGAIN: Duration = Duration::from_millis(500);

/// How long our own ping may take.
const OWN_PING_BOUND: Duration = Duration::from_secs(1);

/// Answers for each session from its opening until it is fenced. Never ends by itself.
pub async fn attend<P: Presence, S: Supervision>(
    broker: P,
    store: S,
    mut sessions: SessionWatch,
    metrics: Metrics,
) {
    loop {
        let session = sessions.opened().await;
        let answering = async {
            tokio::join!(
                answer(&broker, &session.id),
                vouch(&broker, &store, &session.id, &metrics),
            )
        };
        tokio::select! {
            () = session.fenced.cancelled() => {}
            _ = answering => {}
        }
    }
}

async fn answer<P: Presence>(broker: &P, session: &SessionId) {
    loop {
        broker.answer_pings(session).await;
        sleep(AGAIN).await;
    }
}

/// Says that the session answers once it has answered ourselves: whoever says so before could be
/// taken for dead.
async fn vouch<P: Presence, S: Supervision>(
    broker: &P,
    store: &S,
    session: &SessionId,
    metrics: &Metrics,
) {
    while broker.ping(session, OWN_PING_BOUND).await != Pong::Answered {
        sleep(AGAIN).await;
    }
    while let Err(fault) = store.answers_pings(session).await {
        metrics.store_faulted(&fault);
        tracing::debug!(%fault, "a session could not be said to answer pings");
        sleep(AGAIN).await;
    }
}

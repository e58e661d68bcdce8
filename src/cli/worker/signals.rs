//! Signals: the first SIGTERM or SIGINT begins the drain, the second ends the waiting. An operator
//! begins it as well, from afar.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::broker::nats::NatsBroker;

/// Runs for the life of the process.
pub(in crate::cli) async fn listen(drain: CancellationToken, hand_over: CancellationToken) {
    let signals = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    );
    let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
        tracing::error!("signals cannot be heard: only SIGKILL will end this process");
        return;
    };
    loop {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        if drain.is_cancelled() {
            tracing::info!("told to stop again: handing over what still runs");
            hand_over.cancel();
        } else {
            tracing::info!("told to stop: draining");
            drain.cancel();
        }
    }
}

/// Drains when an operator says so.
pub(super) async fn hear_operator(
    broker: Arc<NatsBroker>,
    worker: String,
    drain: CancellationToken,
) {
    let told = drain.run_until_cancelled(broker.told_to_drain(&worker));
    match told.await {
        Some(Ok(())) => tracing::info!("told to stop by an operator: draining"),
        Some(Err(fault)) => {
            tracing::warn!(%fault, "nobody can tell this worker to drain but by a signal");
            return;
        }
        None => return,
    }
    drain.cancel();
}

//! Signals: the first SIGTERM or SIGINT begins the drain, the second ends the waiting.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

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

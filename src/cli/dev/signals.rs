//! Signals: the first one ends the fleet in good order, the second one at once.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What a person at the terminal, or a supervisor, wants.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Ends {
    /// Everything shall end in good order.
    pub(in crate::cli) orderly: CancellationToken,
    /// Everything shall end now.
    pub(in crate::cli) at_once: CancellationToken,
}

/// Begins to hear signals, for the life of the process.
///
/// # Errors
///
/// The system refuses.
pub(in crate::cli) fn listen() -> io::Result<Ends> {
    let signals = [
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        // The terminal was closed.
        signal(SignalKind::hangup())?,
    ];
    let ends = Ends::default();
    tokio::spawn(hear(signals, ends.clone()));
    Ok(ends)
}

async fn hear([mut interrupt, mut terminate, mut hangup]: [Signal; 3], ends: Ends) {
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        if ends.orderly.is_cancelled() {
            ends.at_once.cancel();
        } else {
            ends.orderly.cancel();
        }
    }
}

//! Cancels: brings a cancel to the request that it is for.

use tokio::sync::mpsc;

use super::supervisor::Leading;
use crate::{
    broker::WalkBroker,
    pipeline::{InFlight, Pipeline},
    store::{RequestKey, WalkStore},
};

/// Runs for the life of the worker. A cancel is announced over the broker; should that be lost, the
/// session's next renewal brings it. Whoever leads the fleet also writes it down, and cancels what
/// is below a request that waits: nobody has that one in hand, and its announcer may know of no
/// record.
pub(super) async fn deliver<B: WalkBroker, C: WalkStore>(
    pipeline: &Pipeline<B, C>,
    broker: &B,
    in_flight: &InFlight,
    leading: &Leading,
    mut from_renewals: mpsc::UnboundedReceiver<RequestKey>,
) {
    loop {
        tokio::select! {
            key = broker.next_cancel() => {
                in_flight.cancel(&key);
                if leading.now() {
                    pipeline.note_cancel(&key).await;
                }
            }
            Some(key) = from_renewals.recv() => in_flight.cancel(&key),
        }
    }
}

//! Cancels: brings a cancel to the request that it is for.

use tokio::sync::mpsc;

use crate::{broker::Broker, pipeline::InFlight, store::RequestKey};

/// Runs for the life of the worker. A cancel is announced over the broker; should that be lost, the
/// session's next renewal brings it.
pub(super) async fn deliver<B: Broker>(
    broker: &B,
    in_flight: &InFlight,
    mut from_renewals: mpsc::UnboundedReceiver<RequestKey>,
) {
    loop {
        let key = tokio::select! {
            key = broker.next_cancel() => key,
            Some(key) = from_renewals.recv() => key,
        };
        in_flight.cancel(&key);
    }
}

//! Progress: tells the broker of every delivery that is being walked with, so that it is not
//! delivered elsewhere meanwhile.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::{
    broker::Broker,
    pipeline::{InFlight, SessionWatch},
};

/// Each tick tells of those that are due, so that the telling is spread over the time between.
const TICKS: u32 = 5;

/// Runs for the life of the worker. Without a live session nothing is said: the claims may be
/// somebody else's by now.
pub(super) async fn report<B: Broker>(
    broker: &B,
    in_flight: &InFlight,
    sessions: &SessionWatch,
    every: Duration,
) {
    let mut ticks = interval(every / TICKS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let due = in_flight.due(every);
        for token in due {
            if sessions.current().is_some() {
                broker.in_progress(&token).await;
            }
        }
    }
}

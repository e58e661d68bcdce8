//! Ends a dead session and gives back to the broker what it held.

use std::time::Duration;

use super::Supervisor;
use crate::{
    broker::Broker,
    store::{SessionId, StoreFault, Supervision},
};

impl<B: Broker, S: Supervision> Supervisor<B, S> {
    /// Ends `dead`, then gives back its messages, some at a time; how many.
    ///
    /// From the first step on its claims are free and its renewals refused, so whatever the broker
    /// delivers again is taken over. Should we die between two steps, whoever leads next tells the
    /// broker the same again; a message that somebody runs by then is only turned back. What the
    /// broker did not hear comes again after its ack wait.
    pub(super) async fn evict(&self, dead: &SessionId) -> Result<usize, StoreFault> {
        let (mut given_back, mut total) = (Vec::new(), 0);
        loop {
            let held = self.store.evict(dead, &given_back).await?;
            if held.is_empty() {
                return Ok(total);
            }
            for (_, message) in &held {
                self.broker.nak(message, Duration::ZERO).await;
            }
            total += held.len();
            self.metrics.gave_back_for_the_dead(held.len());
            given_back = held.into_iter().map(|(request, _)| request).collect();
        }
    }
}

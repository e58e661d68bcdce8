//! The twin's consumers, looked at from outside.

use tokio::time::Instant;

use super::{
    super::{BrokerFault, ConsumerName, LaneStanding, Lanes},
    BrokerTwin,
};
use crate::contract::{Lane, PurutoName};

/// What a test commands.
impl BrokerTwin {
    /// From now on no message is delivered more often than this by one consumer.
    pub fn deliver_at_most(&self, times: u64) {
        self.change(|state| state.queue.deliver_at_most(times));
    }

    /// Puts a lane's consumer where a broker that lost the end of its stream would have it: it
    /// skips new messages up to this sequence.
    pub fn put_ahead(&self, target: &PurutoName, lane: Lane, sequence: u64) {
        let consumer = ConsumerName::of(target, lane);
        self.change(|state| state.queue.put_ahead(&consumer, sequence));
    }
}

impl Lanes for BrokerTwin {
    async fn lane_standing(
        &self,
        target: &PurutoName,
        lane: Lane,
    ) -> Result<Option<LaneStanding>, BrokerFault> {
        let subject = self.shared.subjects.invoke(target, lane);
        let consumer = ConsumerName::of(target, lane);
        let queue = &self.shared.state().queue;
        Ok(queue.lane_standing(&consumer, &subject, Instant::now()))
    }

    async fn last_sequence(&self) -> Result<u64, BrokerFault> {
        Ok(self.shared.state().queue.last_sequence())
    }

    async fn renew_lane(&self, target: &PurutoName, lane: Lane) -> Result<(), BrokerFault> {
        self.delete_consumer(target, lane);
        let consumer = ConsumerName::of(target, lane);
        self.change(|state| state.queue.create_consumer(&consumer));
        Ok(())
    }
}

//! The twin's consumers, looked at from outside.

use super::{
    super::{BrokerFault, ConsumerName, LaneStanding, Lanes},
    BrokerTwin,
};
use crate::contract::{Lane, PurutoName};

impl Lanes for BrokerTwin {
    async fn lane_standing(
        &self,
        target: &PurutoName,
        lane: Lane,
    ) -> Result<Option<LaneStanding>, BrokerFault> {
        let subject = self.shared.subjects.invoke(target, lane);
        let consumer = ConsumerName::of(target, lane);
        Ok(self.shared.state().queue.lane_standing(&consumer, &subject))
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

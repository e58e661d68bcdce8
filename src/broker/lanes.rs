//! The consumers of lanes, looked at from outside.

use std::{future::Future, sync::Arc};

use super::BrokerFault;
use crate::contract::{Lane, PurutoName};

/// How the consumer of a lane stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneStanding {
    /// Messages that it has not delivered yet.
    pub pending: u64,
    /// Messages that it has delivered and that are not settled.
    pub unsettled: u64,
    /// The sequence, in the stream, up to which it has delivered.
    pub delivered: u64,
}

/// The consumers of lanes, looked at from outside.
pub trait Lanes: Send + Sync + 'static {
    /// How a lane's consumer stands; `None` when it has none: no worker ever served it.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn lane_standing(
        &self,
        target: &PurutoName,
        lane: Lane,
    ) -> impl Future<Output = Result<Option<LaneStanding>, BrokerFault>> + Send;

    /// The highest sequence that the stream of requests has given so far.
    ///
    /// # Errors
    /// The broker did not answer in time.
    fn last_sequence(&self) -> impl Future<Output = Result<u64, BrokerFault>> + Send;

    /// Makes a lane's consumer anew. It delivers whatever lies in the lane, from the first message
    /// on and as if for the first time; an ack of an earlier delivery may find nobody.
    ///
    /// # Errors
    /// The broker did not answer in time, or refused; the lane may be without a consumer then.
    fn renew_lane(
        &self,
        target: &PurutoName,
        lane: Lane,
    ) -> impl Future<Output = Result<(), BrokerFault>> + Send;
}

impl<L: Lanes> Lanes for Arc<L> {
    async fn lane_standing(
        &self,
        target: &PurutoName,
        lane: Lane,
    ) -> Result<Option<LaneStanding>, BrokerFault> {
        (**self).lane_standing(target, lane).await
    }

    async fn last_sequence(&self) -> Result<u64, BrokerFault> {
        (**self).last_sequence().await
    }

    async fn renew_lane(&self, target: &PurutoName, lane: Lane) -> Result<(), BrokerFault> {
        (**self).renew_lane(target, lane).await
    }
}

//! The consumers of lanes, by management calls.

use serde::Deserialize;
use serde_json::Value;

use super::{
    NatsBroker,
    api::{self, code},
    reconcile,
};
use crate::{
    broker::{BrokerFault, ConsumerName, LaneStanding, Lanes, topology},
    contract::{Lane, PurutoName},
};

const STATE: &str = "read a consumer";
const RENEW: &str = "renew a consumer";
const LAST: &str = "read the last sequence";

#[derive(Deserialize)]
struct Consumer {
    num_pending: u64,
    num_ack_pending: u64,
    delivered: Delivered,
}

#[derive(Deserialize)]
struct Delivered {
    stream_seq: u64,
}

#[derive(Deserialize)]
struct Stream {
    state: State,
}

#[derive(Deserialize)]
struct State {
    last_seq: u64,
}

impl NatsBroker {
    fn consumer_call(&self, verb: &str, target: &PurutoName, lane: Lane) -> String {
        let (stream, consumer) = (self.requests.as_str(), ConsumerName::of(target, lane));
        format!("CONSUMER.{verb}.{stream}.{}", consumer.as_str())
    }
}

impl Lanes for NatsBroker {
    async fn lane_standing(
        &self,
        target: &PurutoName,
        lane: Lane,
    ) -> Result<Option<LaneStanding>, BrokerFault> {
        let call = self.consumer_call("INFO", target, lane);
        match api::call_for::<Consumer>(&self.links.control, &call, &Value::Null).await {
            Ok(consumer) => Ok(Some(LaneStanding {
                pending: consumer.num_pending,
                unsettled: consumer.num_ack_pending,
                delivered: consumer.delivered.stream_seq,
            })),
            Err(fault) if fault.code() == Some(code::CONSUMER_NOT_FOUND) => Ok(None),
            Err(fault) => Err(fault.into_fault(STATE)),
        }
    }

    async fn last_sequence(&self) -> Result<u64, BrokerFault> {
        let call = format!("STREAM.INFO.{}", self.requests.as_str());
        let stream = api::call_for::<Stream>(&self.links.control, &call, &Value::Null).await;
        let stream = stream.map_err(|fault| fault.into_fault(LAST))?;
        Ok(stream.state.last_seq)
    }

    async fn renew_lane(&self, target: &PurutoName, lane: Lane) -> Result<(), BrokerFault> {
        let call = self.consumer_call("DELETE", target, lane);
        match api::call(&self.links.control, &call, &Value::Null).await {
            Ok(_) => {}
            Err(fault) if fault.code() == Some(code::CONSUMER_NOT_FOUND) => {}
            Err(fault) => return Err(fault.into_fault(RENEW)),
        }
        let consumer = topology::consumer(&self.subjects, &self.topology, target, lane);
        reconcile::reconcile(&self.links.control, &consumer).await
    }
}

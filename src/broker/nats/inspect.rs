//! Looks at a broker without changing it.

use serde_json::Value;

use super::{
    NatsClient, api, canary, epoch,
    reconcile::{check_server, is_missing},
    sync,
};
use crate::{
    broker::{
        BrokerFault, Found, Inspected, Inspection, LaneState, StreamName,
        drift::drift,
        needs,
        topology::{self, Place, Settings, TopologyOptions, Wanted},
    },
    clock::{Clock, WallTime},
    contract::{Lane, PurutoName},
};

impl NatsClient {
    /// Looks at everything that a worker of these targets depends on.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn inspect(
        &self,
        topology: &TopologyOptions,
        targets: &[PurutoName],
        clock: &Clock,
    ) -> Result<Inspection, BrokerFault> {
        let (link, subjects) = (self.link(), self.subjects());
        let server = link.wire().client.server_info();
        let mut inspection = Inspection {
            version: server.version,
            will_do: check_server(link).await,
            denied: Vec::new(),
            payload_max: server.max_payload,
            sync: sync::interval(link).await,
            clocks: None,
            places: Vec::new(),
            epoch: None,
        };
        if inspection.will_do.is_err() {
            return Ok(inspection);
        }
        let needs = needs::of_worker(subjects, targets);
        let denied = canary::denied(link, &needs).await?;
        inspection.denied = denied.iter().map(ToString::to_string).collect();
        let mut last = None;
        for wanted in topology::streams(subjects, topology) {
            let told = info(self, &wanted).await?;
            let told = told.as_ref();
            let theirs = told.and_then(time_of);
            inspection.clocks = theirs
                .map(|theirs| (clock.now(), theirs))
                .or(inspection.clocks);
            // The first is the stream of requests.
            last = last.or_else(|| told?.get("state")?.get("last_seq")?.as_u64());
            inspection.places.push(inspected(&wanted, told, None));
        }
        // Without the stream there is none of its consumers either.
        let targets = targets.iter().filter(|_| last.is_some());
        for target in targets {
            for lane in Lane::ALL {
                let wanted = topology::consumer(subjects, topology, target, lane);
                let told = info(self, &wanted).await?;
                let state = told.as_ref().map(|told| lane_state(told, last));
                inspection
                    .places
                    .push(inspected(&wanted, told.as_ref(), state));
            }
        }
        inspection.epoch = epoch::remembered(link, &StreamName::fleet(subjects)).await?;
        Ok(inspection)
    }
}

async fn info(client: &NatsClient, wanted: &Wanted) -> Result<Option<Settings>, BrokerFault> {
    match api::call(client.link(), &wanted.place.info(), &Value::Null).await {
        Ok(told) => Ok(Some(told)),
        Err(fault) if is_missing(&fault) => Ok(None),
        Err(fault) => Err(fault.into_fault("inspect")),
    }
}

fn inspected(wanted: &Wanted, told: Option<&Settings>, lane: Option<LaneState>) -> Inspected {
    let config = told.and_then(|told| told.get("config")?.as_object());
    Inspected {
        name: match &wanted.place {
            Place::Stream(name) => format!("stream {name}"),
            Place::Consumer { name, .. } => format!("consumer {}", name.as_str()),
        },
        found: config.map(|config| Found {
            drift: drift(&wanted.settings, config),
            lane,
        }),
    }
}

fn time_of(told: &Settings) -> Option<WallTime> {
    WallTime::parse_rfc3339(told.get("ts")?.as_str()?)
}

fn lane_state(told: &Settings, last_of_stream: Option<u64>) -> LaneState {
    let number = |name: &str| told.get(name).and_then(Value::as_u64).unwrap_or_default();
    let within = |outer: &str, name: &str| told.get(outer)?.get(name)?.as_u64();
    let delivered = within("delivered", "stream_seq").unwrap_or_default();
    LaneState {
        queued: number("num_pending"),
        running: number("num_ack_pending"),
        running_max: within("config", "max_ack_pending"),
        pulls: number("num_waiting"),
        ahead: last_of_stream.is_some_and(|last| delivered > last),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lane_is_as_its_consumer_tells() {
        let told = json!({
            "config": {"max_ack_pending": -1}, "delivered": {"stream_seq": 8},
            "num_pending": 3, "num_ack_pending": 2, "num_waiting": 1,
        });
        let told = told.as_object().unwrap();
        let state = LaneState {
            queued: 3,
            running: 2,
            running_max: None,
            pulls: 1,
            ahead: false,
        };
        assert_eq!(lane_state(told, Some(8)), state);
        assert!(lane_state(told, Some(7)).ahead);
        assert!(!lane_state(told, None).ahead);
    }
}

//! Lanes: a consumer that does not deliver what lies in its lane is made anew.
//!
//! A broker delivers a message only so often, and after a power loss a consumer may stand beyond
//! the end of its stream: either way messages lie there and nobody is given them. A consumer that
//! is made anew delivers everything again, and a claim tells what was done before. What lies in the
//! lanes is shown as it was seen last. Never: a change to a lane that is being worked on.

mod ailment;

use std::{collections::HashMap, time::Duration};

use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};

use self::ailment::{Seen, ailment};
use super::lease::Lead;
use crate::{
    broker::{BrokerFault, Lanes, Stored},
    clock::Clock,
    contract::{Lane, PurutoName, Subjects},
    telemetry::{
        labels::LaneAilment,
        metrics::{Metrics, lanes::LaneLoad},
    },
};

/// Between two looks at the lanes; what is seen twice in a row is no passing state.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// Looks after the consumers of the lanes.
#[derive(Debug)]
pub struct LaneCare<B> {
    /// Knows the consumers.
    pub broker: B,
    /// The grammar of subjects.
    pub subjects: Subjects,
    /// Tells how old a message is.
    pub clock: Clock,
    /// What is counted.
    pub metrics: Metrics,
}

/// What was seen of each lane by the look before.
type Before = HashMap<(PurutoName, Lane), Seen>;

impl<B: Stored + Lanes> LaneCare<B> {
    /// Looks after them for as long as this process leads. Never ends by itself.
    pub(super) async fn attend(&self, led: watch::Receiver<Option<Lead>>) {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut before = Before::new();
        loop {
            ticks.tick().await;
            let leads = led.borrow().as_ref().is_some_and(Lead::holds);
            before = match leads {
                true => self
                    .look(&before)
                    .await
                    .unwrap_or_else(|fault| self.not_seen(&fault)),
                false => self.none(),
            };
        }
    }

    /// Looks once at every lane that has messages, and heals what ails.
    async fn look(&self, before: &Before) -> Result<Before, BrokerFault> {
        let mut seen = Before::new();
        for count in self.broker.subjects().await? {
            let Some(place) = self.subjects.parse_invoke(&count.subject) else {
                continue;
            };
            let Some(now) = self.see(&place, &count.subject).await? else {
                continue;
            };
            match ailment(&now, before.get(&place)) {
                Some(ailment) => self.heal(&place, ailment).await?,
                None => drop(seen.insert(place, now)),
            }
        }
        self.show(&seen);
        Ok(seen)
    }

    fn show(&self, seen: &Before) {
        let now = self.clock.now();
        let loads = seen.iter().map(|((target, lane), seen)| LaneLoad {
            target,
            lane: *lane,
            queued: seen.state.pending,
            oldest: seen
                .oldest_stored
                .map_or(Duration::ZERO, |stored| now.since(stored)),
        });
        self.metrics.set_lanes(loads);
    }

    /// Whoever leads tells of the lanes, and nobody else.
    fn none(&self) -> Before {
        self.metrics.set_lanes([]);
        Before::new()
    }

    /// How a lane stands; `None` where nobody ever pulled.
    async fn see(
        &self,
        (target, lane): &(PurutoName, Lane),
        subject: &str,
    ) -> Result<Option<Seen>, BrokerFault> {
        let Some(state) = self.broker.lane_standing(target, *lane).await? else {
            return Ok(None);
        };
        // After the state: a message that was stored in between must not look as if it were missing.
        let last = self.broker.last_sequence().await?;
        let oldest = self.broker.next(1, subject).await?;
        let is_idle = state.pending + state.unsettled == 0;
        Ok(Some(Seen {
            state,
            last,
            oldest_stored: oldest.as_ref().map(|it| it.stored_at),
            oldest: oldest.filter(|_| is_idle).map(|it| it.sequence),
        }))
    }

    async fn heal(
        &self,
        (target, lane): &(PurutoName, Lane),
        ailment: LaneAilment,
    ) -> Result<(), BrokerFault> {
        self.broker.renew_lane(target, *lane).await?;
        self.metrics.lane_renewed(ailment);
        tracing::warn!(%target, lane = lane.as_str(), ?ailment, "consumer made anew: it did not deliver what lies in its lane");
        Ok(())
    }

    fn not_seen(&self, fault: &BrokerFault) -> Before {
        self.metrics.broker_faulted(fault);
        tracing::warn!(%fault, "the lanes cannot be looked at");
        Before::new()
    }
}

//! What lies in the lanes, as told by whoever supervises the fleet.
//!
//! A process that does not supervise shows its own targets as empty and no others, so that the
//! highest value of all processes is the fleet's. Never: a series for each target that a stranger
//! names; a lane is told of only where a worker once served it.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use prometheus::IntGaugeVec;

use super::register::{Fold, Registrar};
use crate::{
    contract::{Lane, PurutoName},
    telemetry::names,
};

/// What is in one lane of one target.
#[derive(Clone, Copy, Debug)]
pub struct LaneLoad<'l> {
    /// Whose it is.
    pub target: &'l PurutoName,
    /// How urgent.
    pub lane: Lane,
    /// Requests that no worker was given yet.
    pub queued: u64,
    /// How long ago the oldest was stored that is not settled.
    pub oldest: Duration,
}

/// The gauges of the lanes.
#[derive(Debug)]
pub(super) struct LaneGauges {
    queued: IntGaugeVec,
    oldest: IntGaugeVec,
    own: HashSet<Box<str>>,
    others: Fold,
    shown: Mutex<BTreeSet<Place>>,
}

/// A target as it is labelled, and its lane.
type Place = (Box<str>, &'static str);

impl LaneGauges {
    /// The gauges of a process that serves the targets `own`, which are shown as empty.
    pub(super) fn register<'t>(
        to: &Registrar<'_>,
        own: impl Iterator<Item = &'t PurutoName>,
    ) -> Self {
        let gauges = Self {
            queued: to.gauge(&names::LANE_QUEUED),
            oldest: to.gauge(&names::LANE_OLDEST),
            own: own.map(|target| target.as_str().into()).collect(),
            others: Fold::default(),
            shown: Mutex::default(),
        };
        for target in &gauges.own {
            for lane in Lane::ALL {
                gauges.show(&(target.clone(), lane.as_str()), 0, Duration::ZERO);
            }
        }
        gauges
    }

    /// Shows these, and no longer what was shown before.
    pub(super) fn set<'l>(&self, loads: impl IntoIterator<Item = LaneLoad<'l>>) {
        let now = self.folded(loads);
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, (queued, oldest)) in &now {
            self.show(place, *queued, *oldest);
        }
        for place in shown.iter().filter(|place| !now.contains_key(*place)) {
            self.clear(place);
        }
        *shown = now.into_keys().collect();
    }

    /// By label: those that share one are as many as all of them and as old as the oldest.
    fn folded<'l>(
        &self,
        loads: impl IntoIterator<Item = LaneLoad<'l>>,
    ) -> BTreeMap<Place, (u64, Duration)> {
        let mut folded = BTreeMap::new();
        for load in loads {
            let place = (self.label(load.target.as_str()), load.lane.as_str());
            let (queued, oldest) = folded.entry(place).or_insert((0, Duration::ZERO));
            *queued += load.queued;
            *oldest = load.oldest.max(*oldest);
        }
        folded
    }

    fn label(&self, target: &str) -> Box<str> {
        match self.own.contains(target) {
            true => target.into(),
            false => self.others.fold(target).into(),
        }
    }

    fn show(&self, (target, lane): &Place, queued: u64, oldest: Duration) {
        let labels = [&**target, *lane];
        let read = |value| i64::try_from(value).unwrap_or(i64::MAX);
        self.queued.with_label_values(&labels).set(read(queued));
        let oldest = read(oldest.as_secs());
        self.oldest.with_label_values(&labels).set(oldest);
    }

    fn clear(&self, place: &Place) {
        let (target, lane) = place;
        if self.own.contains(target) {
            self.show(place, 0, Duration::ZERO);
            return;
        }
        for gauge in [&self.queued, &self.oldest] {
            gauge
                .remove_label_values(&[&**target, *lane])
                .expect("what is shown has a series");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::metrics::Metrics;

    fn name(text: &str) -> PurutoName {
        text.parse().unwrap()
    }

    fn load(target: &PurutoName, queued: u64, seconds: u64) -> LaneLoad<'_> {
        LaneLoad {
            target,
            lane: Lane::High,
            queued,
            oldest: Duration::from_secs(seconds),
        }
    }

    fn shown(metrics: &Metrics) -> Vec<String> {
        let text = metrics.render();
        let lines = text.lines().filter(|line| line.starts_with("puruto_lane_"));
        let high = lines.filter(|line| line.contains("high"));
        high.map(|line| line.replace("puruto_lane_", "")).collect()
    }

    #[test]
    fn a_target_of_others_is_shown_while_something_lies_there_and_an_own_one_always() {
        let (own, others) = (name("own"), name("others"));
        let metrics = Metrics::new([&own]);
        let empty = [
            "oldest_seconds{lane=\"high\",target=\"own\"} 0",
            "queued{lane=\"high\",target=\"own\"} 0",
        ];
        assert_eq!(shown(&metrics), empty);

        metrics.set_lanes([load(&own, 1, 2), load(&others, 3, 4)]);
        let full = [
            "oldest_seconds{lane=\"high\",target=\"others\"} 4",
            "oldest_seconds{lane=\"high\",target=\"own\"} 2",
            "queued{lane=\"high\",target=\"others\"} 3",
            "queued{lane=\"high\",target=\"own\"} 1",
        ];
        assert_eq!(shown(&metrics), full);

        metrics.set_lanes([]);
        assert_eq!(shown(&metrics), empty);
    }

    #[test]
    fn targets_beyond_the_first_few_dozen_are_shown_together() {
        let metrics = Metrics::new([]);
        let names: Vec<_> = (0..70).map(|it| name(&format!("target-{it}"))).collect();
        metrics.set_lanes(names.iter().map(|it| load(it, 1, 5)));
        let shown = shown(&metrics);
        assert_eq!(shown.len(), 2 * 65);
        assert!(shown.contains(&"queued{lane=\"high\",target=\"other\"} 6".to_owned()));
        assert!(shown.contains(&"oldest_seconds{lane=\"high\",target=\"other\"} 5".to_owned()));
    }
}

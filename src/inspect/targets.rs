//! What waits for each target, what is at work and how fast it goes.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{millis, reports};
use crate::{
    broker::{
        BrokerFault,
        nats::{LaneBacklog, NatsClient},
    },
    clock::{Clock, WallTime},
    contract::{Lane, Subjects},
    worker::WorkerReport,
};

/// How long the rate is measured when nothing was read before.
const RATE_OVER: Duration = Duration::from_millis(500);

/// Reads the targets; the rate is that since the reading before.
#[derive(Debug, Default)]
pub struct TargetsReader {
    before: Option<Deliveries>,
}

impl TargetsReader {
    /// Reads them. The first reading takes half a second.
    ///
    /// # Errors
    /// The broker did not answer in time.
    pub async fn read(
        &mut self,
        nats: &NatsClient,
        subjects: &Subjects,
        clock: &Clock,
    ) -> Result<Targets, BrokerFault> {
        let workers = reports(nats, subjects).await?;
        self.read_among(nats, clock, &workers).await
    }

    /// As [`TargetsReader::read`], with the workers that were asked already.
    ///
    /// # Errors
    /// As [`TargetsReader::read`].
    pub async fn read_among(
        &mut self,
        nats: &NatsClient,
        clock: &Clock,
        workers: &[Vec<(String, WorkerReport)>],
    ) -> Result<Targets, BrokerFault> {
        let earlier = match self.before.take() {
            Some(earlier) => earlier,
            None => {
                let first = Deliveries::of(&nats.backlog().await?);
                sleep(RATE_OVER).await;
                first
            }
        };
        let lanes = nats.backlog().await?;
        let now = Deliveries::of(&lanes);
        let mut targets = Targets::of(&lanes, workers, clock.now());
        targets.rate(&earlier, &now);
        self.before = Some(now);
        Ok(targets)
    }
}

/// Deliveries by target, and when they were counted.
#[derive(Debug)]
struct Deliveries {
    at: Instant,
    of: BTreeMap<String, u64>,
}

impl Deliveries {
    fn of(lanes: &[LaneBacklog]) -> Self {
        let mut of = BTreeMap::new();
        for lane in lanes {
            *of.entry(lane.target.to_string()).or_default() += lane.delivered;
        }
        let at = Instant::now();
        Self { at, of }
    }
}

/// The targets of one reading, by name.
#[derive(Clone, Debug, Default)]
pub struct Targets(BTreeMap<String, Target>);

/// What is seen of one target.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// Requests in its urgent lane that no worker was given yet.
    pub high: u64,
    /// The same of its normal lane.
    pub normal: u64,
    /// The same of its patient lane.
    pub low: u64,
    /// Requests that workers were given and have not settled.
    pub running: u64,
    /// How long ago the oldest request that is not settled was stored.
    pub oldest: Option<Duration>,
    /// Deliveries a second.
    pub rate: Option<f64>,
    /// Workers that serve it.
    pub workers: usize,
}

impl Targets {
    /// The targets that have these lanes or these workers.
    #[must_use]
    pub fn of(
        lanes: &[LaneBacklog],
        workers: &[Vec<(String, WorkerReport)>],
        now: WallTime,
    ) -> Self {
        let mut targets = Self::default();
        for lane in lanes {
            let row = targets.0.entry(lane.target.to_string()).or_default();
            match lane.lane {
                Lane::High => row.high = lane.queued,
                Lane::Normal => row.normal = lane.queued,
                Lane::Low => row.low = lane.queued,
            }
            row.running += lane.running;
            row.oldest = row.oldest.max(lane.oldest.map(|oldest| now.since(oldest)));
        }
        for (target, _) in workers.iter().flatten() {
            targets.0.entry(target.clone()).or_default().workers += 1;
        }
        targets
    }

    /// Fills in how many deliveries a second there were between two countings.
    fn rate(&mut self, earlier: &Deliveries, now: &Deliveries) {
        let seconds = (now.at - earlier.at).as_secs_f64();
        for (target, row) in &mut self.0 {
            let (Some(before), Some(after)) = (earlier.of.get(target), now.of.get(target)) else {
                continue;
            };
            let delivered = u32::try_from(after.saturating_sub(*before)).unwrap_or(u32::MAX);
            row.rate = (seconds > 0.0).then(|| f64::from(delivered) / seconds);
        }
    }

    /// Each of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Target)> {
        self.0.iter().map(|(name, target)| (name.as_str(), target))
    }

    /// For programs: `{"targets": [...]}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let targets = self.iter().map(|(name, target)| target.to_json(name));
        json!({ "targets": targets.collect::<Value>() })
    }
}

impl Target {
    fn to_json(&self, name: &str) -> Value {
        json!({
            "target": name,
            "queued": { "high": self.high, "normal": self.normal, "low": self.low },
            "running": self.running,
            "oldest_ms": self.oldest.map(millis),
            "deliveries_per_second": self.rate,
            "workers": self.workers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(target: &str, lane: Lane, queued: u64, delivered: u64) -> LaneBacklog {
        LaneBacklog {
            target: target.parse().unwrap(),
            lane,
            queued,
            running: 1,
            delivered,
            oldest: (queued > 0).then(|| WallTime::from_unix_millis(1_000 * queued)),
        }
    }

    fn both(worker: &str) -> Vec<(String, WorkerReport)> {
        let report = WorkerReport {
            worker: worker.to_owned(),
            host: "here".to_owned(),
            session: None,
            session_age_ms: None,
            in_flight: 0,
            slots: 4,
            free: 4,
            last_error: None,
            last_error_age_ms: None,
        };
        vec![("a".to_owned(), report.clone()), ("b".to_owned(), report)]
    }

    #[test]
    fn a_target_is_one_row_with_its_lanes_and_the_age_of_its_oldest_request() {
        let lanes = [
            lane("a", Lane::High, 2, 0),
            lane("a", Lane::Low, 5, 0),
            lane("c", Lane::Normal, 0, 0),
        ];
        let now = WallTime::from_unix_millis(10_000);
        let shown = Targets::of(&lanes, &[both("w1"), both("w2")], now).to_json();
        let [a, b, c] = &shown["targets"].as_array().unwrap()[..] else {
            panic!("{shown}");
        };
        assert_eq!(a["queued"], json!({"high": 2, "normal": 0, "low": 5}));
        assert_eq!((&a["running"], &a["oldest_ms"]), (&2.into(), &8_000.into()));
        assert_eq!((&b["target"], &b["workers"]), (&"b".into(), &2.into()));
        assert_eq!((&c["workers"], &c["oldest_ms"]), (&0.into(), &Value::Null));
    }

    #[test]
    fn the_rate_is_that_of_all_lanes_between_two_readings() {
        let lanes = |delivered| {
            [
                lane("a", Lane::High, 0, delivered),
                lane("a", Lane::Low, 0, 4),
            ]
        };
        let earlier = Deliveries::of(&lanes(10));
        let mut now = Deliveries::of(&lanes(16));
        now.at = earlier.at + Duration::from_secs(2);
        let mut targets = Targets::of(&lanes(16), &[both("w1")], WallTime::from_unix_millis(0));
        targets.rate(&earlier, &now);
        let shown = targets.to_json();
        assert_eq!(shown["targets"][0]["deliveries_per_second"], 3.0);
        assert_eq!(shown["targets"][1]["deliveries_per_second"], Value::Null);
    }
}

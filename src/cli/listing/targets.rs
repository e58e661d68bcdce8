//! `puruto targets`: what waits for each target, what is at work and how fast it goes.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{ListArgs, Listing, reports, rough, show};
use crate::{
    broker::{
        BrokerFault,
        nats::{LaneBacklog, NatsClient},
    },
    cli::{
        exit::Exit,
        failure::Failure,
        session::{GlobalArgs, World, connect_nats},
    },
    clock::{Clock, WallTime},
    contract::{Lane, Subjects},
    worker::WorkerReport,
};

/// How long the rate is measured when nothing was read before.
const RATE_OVER: Duration = Duration::from_millis(500);

/// Lists the targets.
pub(in crate::cli) async fn targets(
    args: &ListArgs,
    global: &GlobalArgs,
    world: &World,
) -> Result<Exit, Failure> {
    let gathered = global.gather(world, Vec::new())?;
    let nats = connect_nats(world, &gathered).await?;
    let subjects = &gathered.config.nats.prefix;
    let mut before: Option<Deliveries> = None;
    let read = async || read(&nats, subjects, &world.clock, &mut before).await;
    show(args, world, &gathered, read).await
}

async fn read(
    nats: &NatsClient,
    subjects: &Subjects,
    clock: &Clock,
    before: &mut Option<Deliveries>,
) -> Result<Targets, BrokerFault> {
    let earlier = match before.take() {
        Some(earlier) => earlier,
        None => {
            let first = Deliveries::of(&nats.backlog().await?);
            sleep(RATE_OVER).await;
            first
        }
    };
    let lanes = nats.backlog().await?;
    let now = Deliveries::of(&lanes);
    let workers = reports(nats, subjects).await?;
    let mut targets = Targets::of(&lanes, &workers, clock.now());
    targets.rate(&earlier, &now);
    *before = Some(now);
    Ok(targets)
}

/// Deliveries by target, and when they were counted.
pub(super) struct Deliveries {
    pub(super) at: Instant,
    pub(super) of: BTreeMap<String, u64>,
}

impl Deliveries {
    pub(super) fn of(lanes: &[LaneBacklog]) -> Self {
        let mut of = BTreeMap::new();
        for lane in lanes {
            *of.entry(lane.target.to_string()).or_default() += lane.delivered;
        }
        let at = Instant::now();
        Self { at, of }
    }
}

/// The targets of one reading.
#[derive(Default)]
pub(super) struct Targets(BTreeMap<String, Row>);

#[derive(Default)]
struct Row {
    high: u64,
    normal: u64,
    low: u64,
    running: u64,
    oldest: Option<Duration>,
    rate: Option<f64>,
    workers: usize,
}

impl Targets {
    pub(super) fn of(
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
    pub(super) fn rate(&mut self, earlier: &Deliveries, now: &Deliveries) {
        let seconds = (now.at - earlier.at).as_secs_f64();
        for (target, row) in &mut self.0 {
            let (Some(before), Some(after)) = (earlier.of.get(target), now.of.get(target)) else {
                continue;
            };
            let delivered = u32::try_from(after.saturating_sub(*before)).unwrap_or(u32::MAX);
            row.rate = (seconds > 0.0).then(|| f64::from(delivered) / seconds);
        }
    }
}

impl Row {
    fn to_json(&self, target: &str) -> Value {
        json!({
            "target": target,
            "queued": { "high": self.high, "normal": self.normal, "low": self.low },
            "running": self.running,
            "oldest_ms": self.oldest.map(millis),
            "deliveries_per_second": self.rate,
            "workers": self.workers,
        })
    }

    fn cells(&self, target: &str) -> Vec<String> {
        let none = || "none".to_owned();
        vec![
            target.to_owned(),
            self.high.to_string(),
            self.normal.to_string(),
            self.low.to_string(),
            self.running.to_string(),
            self.oldest.map_or_else(none, |it| rough(millis(it))),
            self.rate.map_or_else(none, |rate| format!("{rate:.1}")),
            self.workers.to_string(),
        ]
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Listing for Targets {
    fn to_json(&self) -> Value {
        let targets = self.0.iter().map(|(target, row)| row.to_json(target));
        json!({ "targets": targets.collect::<Value>() })
    }

    fn rows(&self) -> (&'static [&'static str], Vec<Vec<String>>) {
        let head = &[
            "target",
            "high",
            "normal",
            "low",
            "running",
            "oldest",
            "per second",
            "workers",
        ];
        let rows = self.0.iter().map(|(target, row)| row.cells(target));
        (head, rows.collect())
    }
}

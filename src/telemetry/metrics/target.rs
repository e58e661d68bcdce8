//! What is counted of one target's walk.
//!
//! Never: a look-up by label while a request passes; every handle is resolved when made.

use std::time::Duration;

use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec};

use super::register::{CounterBy, Registrar};
use crate::{
    contract::ErrorCode,
    telemetry::{
        labels::{ClaimOutcome, CommitOutcome, Label, PublishOutcome, SettlementKind},
        names,
    },
};

/// The families of the walk, each labelled by target.
pub(super) struct TargetFamilies {
    deliveries: IntCounterVec,
    claims: IntCounterVec,
    commits: IntCounterVec,
    published: IntCounterVec,
    settlements: IntCounterVec,
    finished: IntCounterVec,
    executions: IntCounterVec,
    in_flight: IntGaugeVec,
    slots_free: IntGaugeVec,
    queue: HistogramVec,
    run: HistogramVec,
}

impl TargetFamilies {
    pub(super) fn register(to: &Registrar<'_>) -> Self {
        Self {
            deliveries: to.counter(&names::DELIVERIES),
            claims: to.counter(&names::CLAIMS),
            commits: to.counter(&names::COMMITS),
            published: to.counter(&names::RESULTS_PUBLISHED),
            settlements: to.counter(&names::SETTLEMENTS),
            finished: to.counter(&names::REQUESTS_FINISHED),
            executions: to.counter(&names::EXECUTIONS),
            in_flight: to.gauge(&names::IN_FLIGHT),
            slots_free: to.gauge(&names::SLOTS_FREE),
            queue: to.histogram(&names::QUEUE_SECONDS),
            run: to.histogram(&names::RUN_SECONDS),
        }
    }

    /// Resolves every handle of `target`; each of its series is scraped from now on, as zero.
    pub(super) fn of(&self, target: &str) -> TargetMetrics {
        let one = [target];
        TargetMetrics {
            deliveries: self.deliveries.with_label_values(&one),
            claims: by(&self.claims, target),
            commits: by(&self.commits, target),
            published: by(&self.published, target),
            settlements: by(&self.settlements, target),
            finished_ok: self.finished.with_label_values(&[target, "ok", ""]),
            finished_error: CounterBy::new(|code: ErrorCode| {
                self.finished
                    .with_label_values(&[target, "error", code.text()])
            }),
            executions: self.executions.with_label_values(&one),
            in_flight: self.in_flight.with_label_values(&one),
            slots_free: self.slots_free.with_label_values(&one),
            queue: self.queue.with_label_values(&one),
            run: self.run.with_label_values(&one),
        }
    }
}

fn by<L: Label>(family: &IntCounterVec, target: &str) -> CounterBy<L> {
    CounterBy::new(|value: L| family.with_label_values(&[target, value.text()]))
}

/// The counters of one target; got once from [`super::Metrics::target`], then used without a look-up.
#[derive(Debug)]
pub struct TargetMetrics {
    deliveries: IntCounter,
    claims: CounterBy<ClaimOutcome>,
    commits: CounterBy<CommitOutcome>,
    published: CounterBy<PublishOutcome>,
    settlements: CounterBy<SettlementKind>,
    finished_ok: IntCounter,
    finished_error: CounterBy<ErrorCode>,
    executions: IntCounter,
    in_flight: IntGauge,
    slots_free: IntGauge,
    queue: Histogram,
    run: Histogram,
}

impl TargetMetrics {
    /// The broker delivered a message.
    pub fn delivered(&self) {
        self.deliveries.inc();
    }

    /// The store answered a claim.
    pub fn claimed(&self, outcome: ClaimOutcome) {
        self.claims.inc(outcome);
    }

    /// The store answered a commit.
    pub fn committed(&self, outcome: CommitOutcome) {
        self.commits.inc(outcome);
    }

    /// The broker answered a published result.
    pub fn published(&self, outcome: PublishOutcome) {
        self.published.inc(outcome);
    }

    /// A delivery was settled.
    pub fn settled(&self, kind: SettlementKind) {
        self.settlements.inc(kind);
    }

    /// A result was committed here: with status `ok`, or with `error` and this code.
    pub fn finished(&self, end: Result<(), ErrorCode>) {
        match end {
            Ok(()) => self.finished_ok.inc(),
            Err(code) => self.finished_error.inc(code),
        }
    }

    /// A handler starts.
    pub fn execution_started(&self) {
        self.executions.inc();
    }

    /// A claim is held until the returned value is dropped.
    #[must_use = "the claim counts as held until this is dropped"]
    pub fn hold(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// So many run slots are free.
    pub fn set_slots_free(&self, slots: usize) {
        self.slots_free
            .set(i64::try_from(slots).unwrap_or(i64::MAX));
    }

    /// A request waited so long from publish to claim.
    pub fn queued(&self, waited: Duration) {
        self.queue.observe(waited.as_secs_f64());
    }

    /// A handler ran so long.
    pub fn ran(&self, took: Duration) {
        self.run.observe(took.as_secs_f64());
    }
}

/// One held claim in the count of those in flight, until it is dropped.
#[derive(Debug)]
pub struct InFlight(IntGauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

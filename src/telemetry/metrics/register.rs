//! Makes the metrics of the table and registers them.
//!
//! Never: a name of its own; each comes from a row of `names`.

use std::{
    collections::HashSet,
    sync::{PoisonError, RwLock},
};

use prometheus::{
    HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry,
};

use crate::telemetry::{
    labels::Label,
    names::{MetricDef, MetricKind},
};

/// Seconds, from what the walk costs at least to the longest wait that people accept.
const BUCKETS: &[f64] = &[
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0, 300.0, 1_800.0,
];

/// Distinct values that a label from outside may take; the next one reads [`OTHER`].
const FOLD_AFTER: usize = 64;

/// The label value of whatever is not counted by its own name.
pub(super) const OTHER: &str = "other";

/// Why making a metric cannot fail.
const TABLE_HOLDS: &str = "the table's rows are well formed and distinct";

/// Makes metrics in one registry.
pub(super) struct Registrar<'r>(pub(super) &'r Registry);

impl Registrar<'_> {
    pub(super) fn counter(&self, def: &MetricDef) -> IntCounterVec {
        debug_assert_eq!(def.kind, MetricKind::Counter, "{}", def.name);
        let made = IntCounterVec::new(Opts::new(def.name, def.help), def.labels);
        self.keep(made.expect(TABLE_HOLDS))
    }

    pub(super) fn gauge(&self, def: &MetricDef) -> IntGaugeVec {
        debug_assert_eq!(def.kind, MetricKind::Gauge, "{}", def.name);
        let made = IntGaugeVec::new(Opts::new(def.name, def.help), def.labels);
        self.keep(made.expect(TABLE_HOLDS))
    }

    pub(super) fn histogram(&self, def: &MetricDef) -> HistogramVec {
        self.histogram_in(BUCKETS, def)
    }

    /// A histogram with these upper bounds of its buckets.
    pub(super) fn histogram_in(&self, buckets: &[f64], def: &MetricDef) -> HistogramVec {
        debug_assert_eq!(def.kind, MetricKind::Histogram, "{}", def.name);
        let opts = HistogramOpts::new(def.name, def.help).buckets(buckets.to_vec());
        self.keep(HistogramVec::new(opts, def.labels).expect(TABLE_HOLDS))
    }

    fn keep<C: prometheus::core::Collector + Clone + 'static>(&self, metric: C) -> C {
        self.0
            .register(Box::new(metric.clone()))
            .expect(TABLE_HOLDS);
        metric
    }
}

/// One counter for each value of a label, found without hashing.
#[derive(Debug)]
pub(super) struct CounterBy<L> {
    // In the order of `L::ALL`.
    counters: Box<[IntCounter]>,
    label: std::marker::PhantomData<L>,
}

impl<L: Label> CounterBy<L> {
    /// Resolves the counter of every value once.
    pub(super) fn new(counter: impl Fn(L) -> IntCounter) -> Self {
        Self {
            counters: L::ALL.iter().map(|value| counter(*value)).collect(),
            label: std::marker::PhantomData,
        }
    }

    /// Counts one of `value`.
    pub(super) fn inc(&self, value: L) {
        if let Some(counter) = self.counters.get(value.index()) {
            counter.inc();
        }
    }
}

/// Keeps a label that others choose to its first [`FOLD_AFTER`] values.
#[derive(Debug, Default)]
pub(super) struct Fold(RwLock<HashSet<Box<str>>>);

impl Fold {
    /// `value` itself while there is room for it, else [`OTHER`].
    pub(super) fn fold<'v>(&self, value: &'v str) -> &'v str {
        if self.knows(value) || self.learn(value) {
            value
        } else {
            OTHER
        }
    }

    fn knows(&self, value: &str) -> bool {
        let seen = self.0.read().unwrap_or_else(PoisonError::into_inner);
        seen.contains(value)
    }

    fn learn(&self, value: &str) -> bool {
        let mut seen = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let room = seen.len() < FOLD_AFTER;
        if room {
            seen.insert(value.into());
        }
        room || seen.contains(value)
    }
}

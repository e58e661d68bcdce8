//! How long most took, and the slowest few.

use std::{fmt, time::Duration};

/// Of a number of measurements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Percentiles {
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    max: Duration,
}

impl Percentiles {
    /// None of nothing.
    pub(super) fn of(mut took: Vec<Duration>) -> Option<Self> {
        took.sort_unstable();
        let at = |percent: usize| took.get(took.len() * percent / 100).copied();
        Some(Self {
            p50: at(50)?,
            p99: at(99)?,
            max: *took.last()?,
        })
    }
}

impl fmt::Display for Percentiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, max] = [self.p50, self.p99, self.max].map(millis);
        write!(f, "p50 {p50:.3} ms  p99 {p99:.3} ms  max {max:.1} ms")
    }
}

pub(super) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

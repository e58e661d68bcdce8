//! The attempts by which a half-open breaker finds out whether its server is well again. Pure.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::{BreakerRules, CircuitOpen, Ended};

/// The attempts of a half-open breaker. Those out and those that counted are never more than the
/// rules allow.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// Those out, each with the end of its lease.
    out: BTreeMap<u64, Instant>,
    next: u64,
    pub(super) succeeded: u32,
    pub(super) failed: u32,
}

impl Probes {
    pub(super) fn admit(&mut self, rules: &BreakerRules, now: Instant) -> Result<u64, CircuitOpen> {
        if let Some(refusal) = self.refusal(rules) {
            return Err(refusal);
        }
        let number = self.next;
        self.next += 1;
        self.out.insert(number, now + rules.probe_lease);
        Ok(number)
    }

    /// Those that are out decide, if they are enough.
    pub(super) fn refusal(&self, rules: &BreakerRules) -> Option<CircuitOpen> {
        let enough = self.all() >= rules.probes;
        let first = self.out.values().min().filter(|_| enough);
        first.map(|until| CircuitOpen { until: *until })
    }

    /// A probe whose lease has ended has been counted and ends no second time.
    pub(super) fn ended(&mut self, number: u64, ended: Ended) {
        if self.out.remove(&number).is_none() {
            return;
        }
        match ended {
            Ended::Success => self.succeeded += 1,
            Ended::Failure => self.failed += 1,
            // Its place is free for another.
            Ended::Neutral => {}
        }
    }

    pub(super) fn expire(&mut self, now: Instant) {
        let before = self.out.len();
        self.out.retain(|_, lease| *lease > now);
        let expired = u32::try_from(before - self.out.len()).unwrap_or(u32::MAX);
        self.failed = self.failed.saturating_add(expired);
    }

    /// Those that are out and those that counted.
    pub(super) fn all(&self) -> u32 {
        let out = u32::try_from(self.out.len()).unwrap_or(u32::MAX);
        out.saturating_add(self.succeeded)
            .saturating_add(self.failed)
    }
}

//! A token bucket in whole numbers, so that the store's script and this file count alike.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// What a rate of one a minute adds in a millisecond is one unit; so many are one whole.
const UNITS: i64 = 60_000;
/// The part of a limit that may be taken at once.
const BURST_PART: u32 = 10;
/// Most that is ever charged at once: a number that stays exact wherever it is counted.
const CHARGED_MAX: u64 = 1_000_000_000;

/// How much may be asked of a server within a minute. At most 1,000,000,000.
///
/// A tenth of it, or one, may be taken at once; the rest comes evenly, so that no minute, wherever
/// it begins, sees more than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct PerMinute(NonZeroU32);

/// A number that is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value: {0}: a limit is an integer from 1 to 1000000000")]
pub struct InvalidLimit(u32);

impl TryFrom<u32> for PerMinute {
    type Error = InvalidLimit;

    fn try_from(limit: u32) -> Result<Self, InvalidLimit> {
        match NonZeroU32::new(limit) {
            Some(number) if u64::from(limit) <= CHARGED_MAX => Ok(Self(number)),
            Some(_) | None => Err(InvalidLimit(limit)),
        }
    }
}

impl From<PerMinute> for u32 {
    fn from(limit: PerMinute) -> Self {
        limit.0.get()
    }
}

impl PerMinute {
    /// How much may be taken at once.
    #[must_use]
    pub const fn burst(self) -> u32 {
        let part = self.0.get() / BURST_PART;
        if part == 0 { 1 } else { part }
    }

    /// How much comes within a minute. With the burst it is one more than the limit, which the last
    /// instant of the minute never sees.
    #[must_use]
    pub const fn refill(self) -> u32 {
        self.0.get() - self.burst() + 1
    }

    /// `wanted`, or the burst where it is more: it would never be there.
    #[must_use]
    pub fn clamp(self, wanted: u64) -> u64 {
        wanted.min(u64::from(self.burst()))
    }
}

/// What is left of one limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// In units; below zero where more was spent than was taken.
    level: i64,
    at: Instant,
}

impl Bucket {
    /// A bucket with all that may be taken at once.
    pub(super) fn full(limit: PerMinute, now: Instant) -> Self {
        Self {
            level: units(u64::from(limit.burst())),
            at: now,
        }
    }

    /// Lets in what came since it was last asked.
    pub(super) fn fill(&mut self, limit: PerMinute, now: Instant) {
        let since = now.saturating_duration_since(self.at).as_millis();
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        let came = since.saturating_mul(i64::from(limit.refill()));
        let most = units(u64::from(limit.burst()));
        self.level = self.level.saturating_add(came).min(most);
        self.at = now;
    }

    /// In how many milliseconds `amount` will be there; zero where it is.
    pub(super) fn wait(&self, limit: PerMinute, amount: u64) -> u64 {
        let missing = units(amount).saturating_sub(self.level).max(0);
        u64::try_from(missing)
            .unwrap_or_default()
            .div_ceil(u64::from(limit.refill()))
    }

    pub(super) fn take(&mut self, amount: u64) {
        self.level = self.level.saturating_sub(units(amount));
    }

    /// Puts back what was taken; what does not fit runs over when it is filled next.
    pub(super) fn give_back(&mut self, amount: u64) {
        self.level = self.level.saturating_add(units(amount));
    }
}

fn units(amount: u64) -> i64 {
    i64::try_from(amount.min(CHARGED_MAX)).unwrap_or(i64::MAX) * UNITS
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn limit(per_minute: u32) -> PerMinute {
        per_minute.try_into().expect("a limit")
    }

    #[test]
    fn a_tenth_is_there_at_once_and_the_rest_comes_evenly() {
        let (sixty, mut now) = (limit(60), Instant::now());
        let mut bucket = Bucket::full(sixty, now);
        bucket.take(6);
        // 55 a minute.
        assert_eq!(bucket.wait(sixty, 1), 1_091);
        now += Duration::from_millis(1_091);
        bucket.fill(sixty, now);
        assert_eq!(bucket.wait(sixty, 1), 0);
    }

    #[test]
    fn a_debt_is_waited_out_and_a_refund_does_not_run_over() {
        let (thousand, now) = (limit(1_000), Instant::now());
        let mut bucket = Bucket::full(thousand, now);
        bucket.take(100 + 901);
        assert_eq!(bucket.wait(thousand, 1), 902 * 60_000 / 901 + 1);
        bucket.give_back(5_000);
        bucket.fill(thousand, now);
        assert_eq!(bucket.level, units(100));
    }

    #[test]
    fn only_a_limit_is_one() {
        assert!(PerMinute::try_from(0).is_err());
        assert!(PerMinute::try_from(1_000_000_001).is_err());
        assert_eq!(limit(1).burst(), 1);
        assert_eq!(limit(9).clamp(100), 1);
    }

    proptest! {
        #[test]
        fn no_minute_sees_more_than_the_limit(
            per_minute in 1..500_u32,
            steps in prop::collection::vec((0..3_000_u64, 1..20_u64), 1..400),
        ) {
            let (per_minute, mut now) = (limit(per_minute), Instant::now());
            let mut bucket = Bucket::full(per_minute, now);
            let mut taken: Vec<(Instant, u64)> = Vec::new();
            for (later, wanted) in steps {
                now += Duration::from_millis(later);
                let amount = per_minute.clamp(wanted);
                bucket.fill(per_minute, now);
                if bucket.wait(per_minute, amount) == 0 {
                    bucket.take(amount);
                    taken.push((now, amount));
                }
                let within = taken.iter().filter(|(at, _)| now.duration_since(*at) < MINUTE);
                let sum: u64 = within.map(|(_, amount)| amount).sum();
                prop_assert!(sum <= u64::from(u32::from(per_minute)));
            }
        }
    }
}

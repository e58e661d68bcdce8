//! How long to wait before the next attempt.
//!
//! `delay = min(initial * multiplier^attempt + jitter, max)`, jitter within ±10 % of the
//! exponential term. The only file that names the `backoff` crate, which computes that term: the
//! crate is unmaintained and draws and reads time by itself, so jitter and clamp are ours.

use std::time::Duration;

use backoff::{ExponentialBackoff, backoff::Backoff as _};

use super::retry::Attempt;
use crate::clock::Chance;

/// How far the jitter reaches, as a share of the exponential term.
const JITTER_SHARE: f64 = 0.1;
/// By how much longer the first delay is for a server that asks for less.
const LONG_FACTOR: u32 = 4;

/// The delays between attempts.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    initial: Duration,
    multiplier: f64,
    max: Duration,
}

impl Default for Backoff {
    /// 1 s, doubled each time, at most 30 s.
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            multiplier: 2.0,
            max: Duration::from_secs(30),
        }
    }
}

impl Backoff {
    /// The default with another first delay; tests against real sockets use a short one.
    #[must_use]
    pub fn starting_at(initial: Duration) -> Self {
        Self {
            initial,
            ..Self::default()
        }
    }

    /// The ordinary delay after `attempt` failed.
    #[must_use]
    pub fn delay(&self, attempt: Attempt, chance: &Chance) -> Duration {
        self.jittered(self.initial, attempt, chance)
    }

    /// The delay after a server asked for less: the first one is four times the ordinary one.
    #[must_use]
    pub fn long_delay(&self, attempt: Attempt, chance: &Chance) -> Duration {
        self.jittered(self.initial.saturating_mul(LONG_FACTOR), attempt, chance)
    }

    /// `floor`, or up to 10 % more, so that callers told the same moment do not come together.
    #[must_use]
    pub fn not_before(&self, floor: Duration, chance: &Chance) -> Duration {
        let spread = JITTER_SHARE * chance.fraction();
        // A floor near the end of representable time stays as it is: no deadline lies there.
        let extra = Duration::try_from_secs_f64(floor.as_secs_f64() * spread).unwrap_or_default();
        floor.saturating_add(extra)
    }

    fn jittered(&self, initial: Duration, attempt: Attempt, chance: &Chance) -> Duration {
        let term = self.exponential(initial, attempt);
        chance.around(term, JITTER_SHARE).min(self.max)
    }

    /// `initial * multiplier^attempt`. It stops growing at twice the longest delay, where no
    /// jitter brings it back under the clamp.
    fn exponential(&self, initial: Duration, attempt: Attempt) -> Duration {
        let ceiling = self.max.saturating_mul(2);
        let mut series = ExponentialBackoff {
            current_interval: initial.min(ceiling),
            initial_interval: initial.min(ceiling),
            randomization_factor: 0.0,
            multiplier: self.multiplier,
            max_interval: ceiling,
            max_elapsed_time: None,
            ..ExponentialBackoff::default()
        };
        for _ in 0..attempt.number() {
            series.next_backoff();
        }
        series.current_interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: f64 = 1_000_000_000.0;

    /// The seed's formula, written a second time.
    fn bounds(initial: f64, attempt: u8) -> (f64, f64) {
        let term = initial * 2.0_f64.powi(i32::from(attempt));
        ((term * 0.9).min(30.0), (term * 1.1).min(30.0))
    }

    #[test]
    fn ten_thousand_draws_stay_within_the_formula_and_reach_both_ends() {
        let backoff = Backoff::default();
        let chance = Chance::seeded(2_026);
        for attempt in 0..=10_u8 {
            for (initial, draw) in [
                (1.0, Backoff::delay as fn(&Backoff, Attempt, &Chance) -> _),
                (4.0, Backoff::long_delay),
            ] {
                let (low, high) = bounds(initial, attempt);
                let drawn: Vec<f64> = (0..10_000)
                    .map(|_| draw(&backoff, Attempt::nth(attempt), &chance).as_secs_f64())
                    .collect();
                let least = drawn.iter().copied().fold(f64::MAX, f64::min);
                let most = drawn.iter().copied().fold(0.0, f64::max);
                let slack = 2.0 / SECOND;
                assert!(least >= low - slack, "attempt {attempt}: {least} < {low}");
                assert!(most <= high + slack, "attempt {attempt}: {most} > {high}");
                assert!(least <= low * 1.001, "attempt {attempt}: never near {low}");
                assert!(most >= high * 0.999, "attempt {attempt}: never near {high}");
            }
        }
    }

    #[test]
    fn a_floor_is_only_ever_exceeded_and_by_a_tenth_at_most() {
        let backoff = Backoff::default();
        let chance = Chance::seeded(7);
        for _ in 0..1_000 {
            let delay = backoff.not_before(Duration::from_secs(60), &chance);
            assert!((60.0..=66.0).contains(&delay.as_secs_f64()), "{delay:?}");
        }
        assert_eq!(backoff.not_before(Duration::ZERO, &chance), Duration::ZERO);
        assert_eq!(backoff.not_before(Duration::MAX, &chance), Duration::MAX);
    }
}

//! How many attempts of the last seconds failed. Pure.
//!
//! Attempts are counted in steps of a hundredth of the window, so that a busy breaker costs no more
//! memory than an idle one; an attempt is forgotten one step late at most.

use std::time::Duration;

use tokio::time::Instant;

const STEPS: usize = 100;

#[derive(Clone, Copy, Debug, Default)]
struct Step {
    /// Which step since the beginning this counts.
    number: u64,
    finished: u32,
    failed: u32,
}

/// What the window has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) finished: u32,
    pub(super) failed: u32,
}

#[derive(Debug)]
pub(super) struct Window {
    began: Instant,
    step: Duration,
    steps: [Step; STEPS],
}

impl Window {
    pub(super) fn new(length: Duration, now: Instant) -> Self {
        // A step has a length, whatever the window's is.
        let step = (length / 100).max(Duration::from_millis(1));
        Self {
            began: now,
            step,
            steps: [Step::default(); STEPS],
        }
    }

    /// Counts an attempt that ended `now`.
    pub(super) fn count(&mut self, failed: bool, now: Instant) {
        let number = self.number(now);
        let place = usize::try_from(number).unwrap_or_default() % STEPS;
        let Some(step) = self.steps.get_mut(place) else {
            return;
        };
        if step.number != number {
            *step = Step {
                number,
                ..Step::default()
            };
        }
        step.finished = step.finished.saturating_add(1);
        step.failed = step.failed.saturating_add(u32::from(failed));
    }

    /// What was counted within the window that ends `now`.
    pub(super) fn seen(&self, now: Instant) -> Seen {
        let last = self.number(now);
        let first = last.saturating_sub(STEPS as u64 - 1);
        let within = self.steps.iter().filter(|it| it.number >= first);
        within.fold(Seen::default(), |seen, it| Seen {
            finished: seen.finished.saturating_add(it.finished),
            failed: seen.failed.saturating_add(it.failed),
        })
    }

    fn number(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.began);
        let number = since.as_nanos() / self.step.as_nanos().max(1);
        u64::try_from(number).unwrap_or(u64::MAX)
    }
}

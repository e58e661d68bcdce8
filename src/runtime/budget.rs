//! How many retries a process makes at most, whichever models it calls: an outage that every call
//! retries would be tripled.
//!
//! Never: a delay or a table of faults; it only puts off what the retry policy allows.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Over how long calls and retries are counted.
pub const WINDOW: Duration = Duration::from_secs(10);

/// One step of counting. A call is forgotten up to one step early and a retry up to one step late,
/// so that the bound holds to the nanosecond.
const STEP: Duration = Duration::from_millis(100);
/// The steps of a window. A retry counts for one step more.
const STEPS: u64 = (WINDOW.as_millis() / STEP.as_millis()) as u64;
/// Places in the ring: a window, and the step that only retries count in.
const PLACES: usize = STEPS as usize + 1;

/// How many retries are made at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetRules {
    /// So many retries for a hundred calls.
    pub percent: u32,
    /// And so many more within [`WINDOW`], so that a lone call has all its attempts.
    pub reserve: u32,
}

impl Default for BudgetRules {
    /// A fifth more calls, and ten.
    fn default() -> Self {
        Self {
            percent: 20,
            reserve: 10,
        }
    }
}

/// What becomes of a call that would be made again while the budget has nothing left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenSpent {
    /// It waits until there is something, or until its deadline would pass.
    #[default]
    Wait,
    /// It ends: somebody else can be asked.
    Stop,
}

/// The retry budget of a process; a clone is the same budget.
///
/// It guarantees, at each retry that it allows: those of the [`WINDOW`] that ends there, this one
/// included, are at most [`BudgetRules::reserve`] and [`BudgetRules::percent`] of the calls whose
/// first attempt began within it.
#[derive(Clone, Debug, Default)]
pub struct RetryBudget(Arc<Mutex<Ledger>>);

impl RetryBudget {
    /// A budget from which nothing is spent.
    #[must_use]
    pub fn new(rules: BudgetRules) -> Self {
        Self(Arc::new(Mutex::new(Ledger::new(rules, Instant::now()))))
    }

    /// Counts a call whose first attempt begins.
    pub fn called(&self) {
        self.with(|ledger, now| ledger.called(now));
    }

    /// Takes one retry, if the budget has one now. It is spent also if the call is dropped before.
    #[must_use]
    pub fn spend(&self) -> bool {
        self.with(Ledger::spend)
    }

    fn with<T>(&self, step: impl FnOnce(&mut Ledger, Instant) -> T) -> T {
        // A count that a panic cut short is off by one at worst.
        let mut ledger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        step(&mut ledger, Instant::now())
    }
}

/// What was counted in one step.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    /// Which step since the beginning this counts.
    number: u64,
    calls: u32,
    retries: u32,
}

#[derive(Debug)]
struct Ledger {
    rules: BudgetRules,
    began: Instant,
    steps: [Step; PLACES],
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new(BudgetRules::default(), Instant::now())
    }
}

impl Ledger {
    fn new(rules: BudgetRules, now: Instant) -> Self {
        Self {
            rules,
            began: now,
            steps: [Step::default(); PLACES],
        }
    }

    fn called(&mut self, now: Instant) {
        if let Some(step) = self.step(now) {
            step.calls = step.calls.saturating_add(1);
        }
    }

    /// Takes one retry from the budget, if it is there.
    fn spend(&mut self, now: Instant) -> bool {
        let last = self.number(now);
        let calls = self
            .since(last.saturating_sub(STEPS - 1))
            .map(|it| it.calls);
        let share = sum(calls) * u64::from(self.rules.percent) / 100;
        let retries = self.since(last.saturating_sub(STEPS)).map(|it| it.retries);
        let granted = sum(retries) < u64::from(self.rules.reserve) + share;
        if granted && let Some(step) = self.step(now) {
            step.retries = step.retries.saturating_add(1);
        }
        granted
    }

    fn since(&self, first: u64) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.number >= first)
    }

    /// The step that counts `now`; what its place counted before is forgotten.
    fn step(&mut self, now: Instant) -> Option<&mut Step> {
        let number = self.number(now);
        let place = usize::try_from(number).unwrap_or_default() % PLACES;
        let step = self.steps.get_mut(place)?;
        if step.number != number {
            *step = Step {
                number,
                ..Step::default()
            };
        }
        Some(step)
    }

    fn number(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.began);
        u64::try_from(since.as_nanos() / STEP.as_nanos()).unwrap_or(u64::MAX)
    }
}

fn sum(counts: impl Iterator<Item = u32>) -> u64 {
    counts.map(u64::from).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lone_call_has_all_its_attempts_and_a_storm_only_its_share() {
        let budget = RetryBudget::default();
        budget.called();
        for _ in 0..3 {
            assert!(budget.spend());
        }
        (0..99).for_each(|_| budget.called());
        let granted = (0..1_000).filter(|_| budget.spend()).count();
        assert_eq!(granted + 3, 10 + 20);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_spent_is_there_again_when_the_window_has_passed() {
        let budget = RetryBudget::default();
        while budget.spend() {}
        tokio::time::advance(WINDOW - STEP).await;
        assert!(!budget.spend(), "still within the window");
        tokio::time::advance(STEP * 2).await;
        let granted = (0..1_000).filter(|_| budget.spend()).count();
        assert_eq!(granted, 10, "nobody called meanwhile");
    }

    proptest! {
        /// In whichever order and at whichever times calls begin and fail.
        #[test]
        fn no_window_that_ends_with_a_retry_has_more_than_its_reserve_and_share(
            events in prop::collection::vec((any::<bool>(), 0..400_u64), 0..800),
            percent in 0..100_u32,
            reserve in 0..20_u32,
        ) {
            let mut now = Instant::now();
            let mut ledger = Ledger::new(BudgetRules { percent, reserve }, now);
            let (mut calls, mut retries) = (Vec::new(), Vec::new());
            for (is_call, later) in events {
                now += Duration::from_millis(later);
                if is_call {
                    ledger.called(now);
                    calls.push(now);
                } else if ledger.spend(now) {
                    retries.push(now);
                    let within = |times: &[Instant]| {
                        times.iter().filter(|at| now.duration_since(**at) < WINDOW).count() as u64
                    };
                    let most = u64::from(reserve) + within(&calls) * u64::from(percent) / 100;
                    prop_assert!(within(&retries) <= most);
                }
            }
        }
    }
}

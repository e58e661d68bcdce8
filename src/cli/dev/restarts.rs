//! Whether a worker that died is started again, and when: decided without waiting.

use std::time::Duration;

use crate::clock::Chance;

/// How many deaths in a row end the trying.
const DEATHS_MAX: u32 = 5;
/// A worker that lived this long had started well: its death is the first of a new row.
const LIVED_WELL: Duration = Duration::from_secs(30);
/// Before the first restart.
const FIRST_DELAY: Duration = Duration::from_millis(250);
/// The share of a delay that chance adds or takes.
const JITTER: f64 = 0.2;

/// The deaths of one worker, as far as they stand in a row.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    deaths: u32,
}

/// What to do about a death.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Restart {
    /// Start it again after this time.
    After(Duration),
    /// It has died this often in a row: leave it.
    Never {
        /// How often.
        deaths: u32,
    },
}

impl Restarts {
    /// What to do about a worker that died after having `lived` that long.
    pub(super) fn next(&mut self, lived: Duration, chance: &Chance) -> Restart {
        if lived >= LIVED_WELL {
            self.deaths = 0;
        }
        self.deaths += 1;
        if self.deaths >= DEATHS_MAX {
            return Restart::Never {
                deaths: self.deaths,
            };
        }
        let delay = FIRST_DELAY * 2_u32.pow(self.deaths - 1);
        Restart::After(chance.around(delay, JITTER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Duration = Duration::ZERO;

    #[test]
    fn a_worker_that_keeps_dying_is_left_after_growing_delays() {
        let (chance, mut restarts) = (Chance::seeded(3), Restarts::default());
        let mut before = Duration::ZERO;
        for _ in 1..DEATHS_MAX {
            let Restart::After(delay) = restarts.next(AT_ONCE, &chance) else {
                panic!("too early");
            };
            assert!(delay > before, "{delay:?} after {before:?}");
            before = delay;
        }
        let deaths = DEATHS_MAX;
        assert_eq!(restarts.next(AT_ONCE, &chance), Restart::Never { deaths });
    }

    #[test]
    fn a_worker_that_lived_well_may_die_again_and_again() {
        let (chance, mut restarts) = (Chance::seeded(3), Restarts::default());
        for _ in 0..3 * DEATHS_MAX {
            let next = restarts.next(LIVED_WELL, &chance);
            assert!(matches!(next, Restart::After(delay) if delay < FIRST_DELAY * 2));
        }
    }
}

//! How long to wait before something that ended is begun anew.
//!
//! Never: a wait of its own.

use std::time::Duration;

/// The wait for what lived long enough; doubled for what did not.
const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(2);

/// What lived this many times the last wait lived long enough: so waiting takes little of the time
/// when something ends now and then, and most of it when it ends at once again and again.
const LIVES: u32 = 20;

/// The waits between the lives of one thing.
#[derive(Debug, Default)]
pub(super) struct Pace {
    waited: Duration,
}

impl Pace {
    /// The wait after a life that lasted so long; jitter is the caller's.
    pub(super) fn after(&mut self, lived: Duration) -> Duration {
        self.waited = if lived >= self.waited * LIVES {
            FIRST
        } else {
            (self.waited * 2).min(LONGEST)
        };
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_now_and_then_is_begun_anew_at_once() {
        let mut pace = Pace::default();
        for lived in [0, 200, 1_000, 60_000] {
            assert_eq!(pace.after(Duration::from_millis(lived)), FIRST);
        }
    }

    #[test]
    fn what_ends_again_and_again_is_begun_anew_ever_later_up_to_a_bound() {
        let mut pace = Pace::default();
        let waits: Vec<_> = (0..20).map(|_| pace.after(Duration::ZERO)).collect();
        assert!(
            waits.is_sorted() && waits.last() == Some(&LONGEST),
            "{waits:?}"
        );
        assert_eq!(pace.after(LONGEST), LONGEST);
        assert_eq!(pace.after(LONGEST * LIVES), FIRST);
    }
}

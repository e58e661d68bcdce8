//! Until when a request may take, wherever it is.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::clock::WallTime;

/// The time-out of a request that names none and whose caller's policy names none.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// The moment at which a request is answered `TIMEOUT` if it has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Deadline(WallTime);

impl Deadline {
    /// `timeout` after the broker stored the request; `cut` (the `Puruto-Deadline` header) can only
    /// shorten it. The caller's own clock is never asked.
    #[must_use]
    pub fn of(stored_at: WallTime, timeout: Duration, cut: Option<WallTime>) -> Self {
        let own = stored_at.saturating_add(timeout);
        Self(cut.map_or(own, |cut| own.min(cut)))
    }

    /// What is left of it at `now`; zero once it has passed.
    #[must_use]
    pub const fn left(self, now: WallTime) -> Duration {
        self.0.since(now)
    }

    /// Whether it has passed at `now`.
    #[must_use]
    pub fn passed(self, now: WallTime) -> bool {
        now >= self.0
    }

    /// The moment itself.
    #[must_use]
    pub const fn at(self) -> WallTime {
        self.0
    }
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: WallTime = WallTime::from_unix_millis(1_000_000);

    #[test]
    fn a_header_shortens_and_never_lengthens() {
        let timeout = Duration::from_secs(10);
        let at = |millis| Some(WallTime::from_unix_millis(millis));
        assert_eq!(
            Deadline::of(STORED, timeout, None).at().unix_millis(),
            1_010_000
        );
        assert_eq!(
            Deadline::of(STORED, timeout, at(1_005_000))
                .at()
                .unix_millis(),
            1_005_000
        );
        assert_eq!(
            Deadline::of(STORED, timeout, at(9_000_000))
                .at()
                .unix_millis(),
            1_010_000
        );
    }

    #[test]
    fn it_passes_at_its_moment_and_has_nothing_left_after() {
        let deadline = Deadline::of(STORED, Duration::from_secs(1), None);
        let before = WallTime::from_unix_millis(1_000_999);
        assert!(!deadline.passed(before));
        assert_eq!(deadline.left(before), Duration::from_millis(1));
        let after = WallTime::from_unix_millis(1_001_000);
        assert!(deadline.passed(after));
        assert_eq!(deadline.left(after), Duration::ZERO);
    }
}

//! The one clock and the one source of chance.
//!
//! Nothing else reads the time of day or a random generator (clippy refuses it), so that a test
//! can move the first and fix the second. Monotonic time is [`tokio::time::Instant`], which a
//! paused runtime moves by hand.

use std::{
    fmt,
    str::FromStr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rand::{RngCore as _, SeedableRng as _, rngs::SmallRng};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

/// A moment of wall-clock time, in whole milliseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct WallTime(u64);

impl WallTime {
    /// The moment this many milliseconds after the Unix epoch.
    #[must_use]
    pub const fn from_unix_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_millis(self) -> u64 {
        self.0
    }

    /// This moment, `by` later; stops at the end of representable time.
    #[must_use]
    pub fn saturating_add(self, by: Duration) -> Self {
        let millis = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// This moment, `by` earlier; no earlier than the Unix epoch.
    #[must_use]
    pub fn saturating_sub(self, by: Duration) -> Self {
        let millis = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(millis))
    }

    /// How long from `earlier` until this moment; zero if it is not later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Reads an RFC 3339 time such as `2026-11-30T04:22:35.250Z`.
    ///
    /// `None` when `text` is no such time or lies before the Unix epoch.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let parsed = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        u64::try_from(parsed.unix_timestamp_nanos() / 1_000_000)
            .ok()
            .map(Self)
    }
}

impl fmt::Display for WallTime {
    /// RFC 3339, UTC, milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = i128::from(self.0) * 1_000_000;
        let text = OffsetDateTime::from_unix_timestamp_nanos(nanos)
            .ok()
            .and_then(|at| at.format(&Rfc3339).ok());
        match text {
            Some(text) => f.write_str(&text),
            None => write!(f, "{} ms after 1970", self.0),
        }
    }
}

/// Differences smaller than this are left alone: no clock of a fleet is better than that.
const FOLLOWS_BEYOND: Duration = Duration::from_millis(100);

/// A test's variable: a worker's clock is wrong by so much, `+10m` or `-10m`, until it follows the
/// store's.
pub const WRONG_CLOCK: &str = "PURUTO_TEST_CLOCK";

/// Reads the time of day; a test's clock stands still until it is moved.
#[derive(Clone, Debug)]
pub struct Clock(Hands);

#[derive(Clone, Debug)]
enum Hands {
    /// The system's, this many milliseconds later.
    System(Arc<AtomicI64>),
    /// Milliseconds since the Unix epoch.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Hands::System(Arc::default()))
    }

    /// The clock of a machine that is wrong by so much, until it follows another.
    #[must_use]
    pub fn wrong_by(moved: Moved) -> Self {
        let clock = Self::system();
        let wrong = match moved {
            Moved::Forward(by) => clock.now().saturating_add(by),
            Moved::Back(by) => clock.now().saturating_sub(by),
        };
        clock.follow(wrong, Duration::ZERO);
        clock
    }

    /// A clock that shows `at` until [`Clock::advance`] moves it.
    #[must_use]
    pub fn manual(at: WallTime) -> Self {
        Self(Hands::Manual(Arc::new(AtomicU64::new(at.0))))
    }

    /// Moves a manual clock; the system's clock moves by itself.
    pub fn advance(&self, by: Duration) {
        if let Hands::Manual(shown) = &self.0 {
            let millis = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
            shown.fetch_add(millis, Ordering::SeqCst);
        }
    }

    /// The time of day.
    #[must_use]
    pub fn now(&self) -> WallTime {
        match &self.0 {
            Hands::Manual(shown) => WallTime(shown.load(Ordering::SeqCst)),
            Hands::System(later) => {
                let later = later.load(Ordering::Relaxed);
                WallTime(system_now().saturating_add_signed(later))
            }
        }
    }

    /// Shows another machine's time from now on, which it told in answer to a question that `took`
    /// this long; by how much that moved the clock, if it did. So deadlines hold wherever a request
    /// is, and a wrong or stepped clock of this machine shortens none.
    ///
    /// The other machine read its clock at some moment of those that it took: half of that is the
    /// best guess and the largest error (Cristian's algorithm).
    pub fn follow(&self, told: WallTime, took: Duration) -> Option<Moved> {
        let there = told.saturating_add(took / 2);
        let here = self.now();
        let moved = match there >= here {
            true => Moved::Forward(there.since(here)),
            false => Moved::Back(here.since(there)),
        };
        if moved.by() <= FOLLOWS_BEYOND + took / 2 {
            return None;
        }
        match &self.0 {
            Hands::Manual(shown) => shown.store(there.0, Ordering::SeqCst),
            Hands::System(later) => {
                later.store(signed_difference(there.0, system_now()), Ordering::Relaxed);
            }
        }
        Some(moved)
    }
}

/// How a clock was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It was slow by this much.
    Forward(Duration),
    /// It was fast by this much.
    Back(Duration),
}

impl Moved {
    /// How far.
    #[must_use]
    pub const fn by(self) -> Duration {
        match self {
            Self::Forward(by) | Self::Back(by) => by,
        }
    }
}

/// A text that is no [`Moved`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected + or - and a duration such as 10m")]
pub struct InvalidMove;

impl FromStr for Moved {
    type Err = InvalidMove;

    fn from_str(text: &str) -> Result<Self, InvalidMove> {
        let by = |text| humantime::parse_duration(text).map_err(|_| InvalidMove);
        match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(fast), _) => by(fast).map(Self::Forward),
            (None, Some(slow)) => by(slow).map(Self::Back),
            (None, None) => Err(InvalidMove),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the time of day"
)]
fn system_now() -> u64 {
    // A machine whose clock stands before 1970 gets 1970: every deadline then lies ahead.
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn signed_difference(there: u64, here: u64) -> i64 {
    let apart = i64::try_from(there.abs_diff(here)).unwrap_or(i64::MAX);
    if there >= here { apart } else { -apart }
}

/// The one source of chance: nonces, ids, jitter.
#[derive(Clone)]
pub struct Chance(Arc<Mutex<SmallRng>>);

impl fmt::Debug for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chance")
    }
}

impl Chance {
    /// Chance from the operating system.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the system for chance"
    )]
    pub fn system() -> Self {
        Self(Arc::new(Mutex::new(SmallRng::from_os_rng())))
    }

    /// The same draws for the same seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(SmallRng::seed_from_u64(seed))))
    }

    /// 128 random bits.
    #[must_use]
    pub fn bits128(&self) -> u128 {
        let mut rng = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64())
    }

    /// A number in `[0, 1)`.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        let mut rng = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // 53 bits: every value is exactly representable.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit a double")]
        let fraction = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        fraction
    }

    /// `base` spread by up to `share` of itself either way: `base * (1 ± share)`.
    #[must_use]
    pub fn around(&self, base: Duration, share: f64) -> Duration {
        let factor = 1.0 + share * (2.0 * self.fraction() - 1.0);
        base.mul_f64(factor.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_printed_as_it_is_read() {
        let text = "2026-11-30T04:22:35.25Z";
        let at = WallTime::parse_rfc3339(text).expect("valid");
        assert_eq!(at.to_string(), text);
        assert_eq!(
            WallTime::parse_rfc3339("2026-11-30T05:22:35.25+01:00"),
            Some(at)
        );
        assert_eq!(WallTime::parse_rfc3339("tomorrow"), None);
        assert_eq!(WallTime::parse_rfc3339("1960-01-01T00:00:00Z"), None);
    }

    #[test]
    fn a_manual_clock_moves_only_by_hand() {
        let clock = Clock::manual(WallTime::from_unix_millis(1_000));
        clock.advance(Duration::from_secs(2));
        assert_eq!(clock.now(), WallTime::from_unix_millis(3_000));
    }

    #[test]
    fn a_clock_follows_another_in_both_directions_and_counts_the_way_of_the_answer() {
        let here = WallTime::from_unix_millis(1_000_000);
        let took = Duration::from_millis(20);
        for (told, moved) in [
            (1_600_000, Moved::Forward(Duration::from_millis(600_010))),
            (400_000, Moved::Back(Duration::from_millis(599_990))),
        ] {
            let clock = Clock::manual(here);
            let told = WallTime::from_unix_millis(told);
            assert_eq!(clock.follow(told, took), Some(moved));
            assert_eq!(clock.now(), told.saturating_add(took / 2));
            assert_eq!(clock.follow(told, took), None);
        }
    }

    #[test]
    fn a_clock_does_not_follow_what_may_be_the_way_of_the_answer() {
        let clock = Clock::manual(WallTime::from_unix_millis(1_000_000));
        let told = WallTime::from_unix_millis(1_000_050);
        assert_eq!(clock.follow(told, Duration::from_secs(1)), None);
        assert_eq!(clock.now(), WallTime::from_unix_millis(1_000_000));
    }

    #[test]
    fn the_systems_clock_runs_on_from_the_time_that_it_follows_and_all_its_copies_do() {
        let clock = Clock::system();
        let copy = clock.clone();
        let told = clock.now().saturating_add(Duration::from_secs(600));
        assert!(clock.follow(told, Duration::ZERO).is_some());
        let apart = copy.now().since(told);
        assert!(
            copy.now() >= told && apart < Duration::from_secs(60),
            "{apart:?}"
        );
        let back = Clock::system().now();
        assert!(matches!(
            copy.follow(back, Duration::ZERO),
            Some(Moved::Back(_))
        ));
    }

    #[test]
    fn a_clock_that_is_wrong_is_so_until_it_follows_another() {
        let (right, by) = (Clock::system(), Duration::from_secs(600));
        let moves = [("+10m", Moved::Forward(by)), ("-10m", Moved::Back(by))];
        for (text, moved) in moves {
            assert_eq!(text.parse(), Ok(moved));
            let wrong = Clock::wrong_by(moved);
            let apart = |one: WallTime, other: WallTime| one.since(other).max(other.since(one));
            assert!(apart(wrong.now(), right.now()) > by / 2, "{moved:?}");
            wrong.follow(right.now(), Duration::ZERO);
            assert!(apart(wrong.now(), right.now()) < by / 2, "{moved:?}");
        }
    }

    #[test]
    fn a_seed_fixes_the_draws_and_jitter_stays_in_its_bounds() {
        assert_eq!(Chance::seeded(7).bits128(), Chance::seeded(7).bits128());
        let chance = Chance::seeded(7);
        for _ in 0..1_000 {
            let spread = chance.around(Duration::from_millis(1_000), 0.1);
            assert!((900..=1_100).contains(&spread.as_millis()), "{spread:?}");
        }
    }
}

//! Whether a failed attempt is followed by another, and when.
//!
//! Pure: it decides, someone else sleeps. This is the only layer that retries a model call.

use std::{fmt, mem, time::Duration};

use super::{
    backoff::Backoff,
    fault::{Again, Fault},
};
use crate::clock::Chance;

/// Most attempts of one call by default: the first and three retries.
pub const CALLS_MAX: u8 = 4;

/// The number of an attempt; the first is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attempt(u8);

impl Attempt {
    /// The attempt before any retry.
    pub const FIRST: Self = Self(0);

    /// The attempt with this number.
    #[must_use]
    pub const fn nth(number: u8) -> Self {
        Self(number)
    }

    /// Counted from 0; also how many retries came before.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// How many attempts there have been with this one.
    #[must_use]
    pub const fn calls(self) -> u8 {
        self.0.saturating_add(1)
    }

    /// The attempt after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// What follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Another attempt, this much later.
    After(Duration),
    /// None, and why.
    Stop(Stop),
}

/// Why no attempt follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The fault would come back.
    Final,
    /// Every attempt is used up.
    AttemptsSpent,
    /// The process has made as many retries as it may for now.
    BudgetSpent,
    /// The next attempt could not start before the deadline.
    DeadlineTooClose {
        /// How long we would have had to wait.
        delay: Duration,
        /// How much time there was.
        time_left: Duration,
    },
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Final => f.write_str("another attempt would not help"),
            Self::AttemptsSpent => f.write_str("no attempt is left"),
            Self::BudgetSpent => f.write_str(
                "the retry budget of this worker is spent: too many of its calls fail just now",
            ),
            Self::DeadlineTooClose { delay, time_left } => write!(
                f,
                "the next attempt would start in {:.1} s and the deadline is in {:.1} s",
                delay.as_secs_f64(),
                time_left.as_secs_f64()
            ),
        }
    }
}

/// The retry table of the runtime.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    calls_max: u8,
    backoff: Backoff,
}

impl Default for RetryPolicy {
    /// Four attempts, delays of about 1, 2 and 4 s.
    fn default() -> Self {
        Self {
            calls_max: CALLS_MAX,
            backoff: Backoff::default(),
        }
    }
}

impl RetryPolicy {
    /// The default with other delays.
    #[must_use]
    pub fn with_backoff(backoff: Backoff) -> Self {
        Self {
            backoff,
            ..Self::default()
        }
    }

    /// Whether a request may be attempted that was attempted so often before.
    #[must_use]
    pub const fn allows(&self, attempt: Attempt) -> bool {
        attempt.number() < self.calls_max
    }

    /// The retries of a call that begins now.
    #[must_use]
    pub const fn begin(self) -> Retries {
        Retries {
            policy: self,
            waited_for_tokens: false,
        }
    }
}

/// The retries of one call: the table, and what may happen only once.
#[derive(Debug)]
pub struct Retries {
    policy: RetryPolicy,
    waited_for_tokens: bool,
}

impl Retries {
    /// What follows when `attempt` ended in `fault` with `time_left` until the deadline.
    #[must_use]
    pub fn next(
        &mut self,
        fault: &Fault,
        attempt: Attempt,
        chance: &Chance,
        time_left: Duration,
    ) -> Retry {
        let backoff = self.policy.backoff;
        let delay = match fault.again() {
            Again::Never => return Retry::Stop(Stop::Final),
            _ if attempt.calls() >= self.policy.calls_max => {
                return Retry::Stop(Stop::AttemptsSpent);
            }
            Again::Backoff => backoff.delay(attempt, chance),
            Again::LongBackoffOnce if mem::replace(&mut self.waited_for_tokens, true) => {
                return Retry::Stop(Stop::Final);
            }
            Again::LongBackoff | Again::LongBackoffOnce => backoff.long_delay(attempt, chance),
        };
        let delay = match fault.retry_after() {
            Some(floor) if floor > delay => backoff.not_before(floor, chance),
            Some(_) | None => delay,
        };
        if delay < time_left {
            Retry::After(delay)
        } else {
            Retry::Stop(Stop::DeadlineTooClose { delay, time_left })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::fault::{ConnectionFault, HttpStatus, Phase, Refusal};

    const PLENTY: Duration = Duration::from_secs(3_600);

    fn refusal(status: u16, retry_after: Option<u64>) -> Refusal {
        Refusal {
            status: HttpStatus(status),
            code: None,
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    fn connection(what: ConnectionFault) -> Fault {
        Fault::Connection {
            what,
            detail: "".into(),
        }
    }

    fn next(fault: &Fault, attempt: u8, time_left: Duration) -> Retry {
        let policy = RetryPolicy::default();
        let mut retries = policy.begin();
        retries.next(fault, Attempt::nth(attempt), &Chance::seeded(1), time_left)
    }

    fn delay_secs(retry: Retry) -> f64 {
        match retry {
            Retry::After(delay) => delay.as_secs_f64(),
            Retry::Stop(why) => panic!("stopped: {why}"),
        }
    }

    #[test]
    fn each_row_of_the_retry_table_holds() {
        let after = Duration::from_secs(120);
        let ordinary = [
            Fault::Timeout {
                phase: Phase::Acquire,
                after,
            },
            Fault::Timeout {
                phase: Phase::Attempt,
                after,
            },
            Fault::Server(refusal(408, None)),
            Fault::Server(refusal(500, None)),
            Fault::Server(refusal(503, None)),
            Fault::Incomplete { reason: "abort" },
            connection(ConnectionFault::Refused),
            connection(ConnectionFault::Reset),
            connection(ConnectionFault::Dns),
            connection(ConnectionFault::Tls),
            connection(ConnectionFault::Cut),
            connection(ConnectionFault::Other),
        ];
        for fault in ordinary {
            let delay = delay_secs(next(&fault, 0, PLENTY));
            assert!((0.9..=1.1).contains(&delay), "{fault}: {delay}");
        }
        for fault in [
            Fault::RateLimited(refusal(429, None)),
            Fault::Overloaded(refusal(529, None)),
        ] {
            let delay = delay_secs(next(&fault, 0, PLENTY));
            assert!((3.6..=4.4).contains(&delay), "{fault}: {delay}");
        }
        for fault in [
            Fault::DeadlinePassed,
            Fault::QuotaExhausted(refusal(429, Some(1))),
            Fault::Auth(refusal(401, None)),
            Fault::Auth(refusal(403, None)),
            Fault::Rejected(refusal(400, Some(1))),
            Fault::Contract(vec![]),
            Fault::BodyTooLarge { cap: 1 },
            connection(ConnectionFault::Certificate),
        ] {
            assert_eq!(next(&fault, 0, PLENTY), Retry::Stop(Stop::Final), "{fault}");
        }
    }

    #[test]
    fn a_token_limit_is_waited_out_once_and_never_a_second_time() {
        let limited = Fault::TokenLimited(refusal(200, None));
        let down = Fault::Server(refusal(500, None));
        let mut retries = RetryPolicy::default().begin();
        let mut next =
            |fault, attempt| retries.next(fault, Attempt::nth(attempt), &Chance::seeded(1), PLENTY);
        delay_secs(next(&down, 0));
        let delay = delay_secs(next(&limited, 1));
        assert!((7.2..=8.8).contains(&delay), "{delay}");
        assert_eq!(next(&limited, 2), Retry::Stop(Stop::Final));
    }

    #[test]
    fn the_fourth_attempt_is_the_last() {
        let fault = Fault::Server(refusal(500, None));
        for (attempt, term) in [(0, 1.0), (1, 2.0), (2, 4.0)] {
            let delay = delay_secs(next(&fault, attempt, PLENTY));
            assert!((term * 0.9..=term * 1.1).contains(&delay), "{delay}");
        }
        assert_eq!(next(&fault, 3, PLENTY), Retry::Stop(Stop::AttemptsSpent));
    }

    #[test]
    fn retry_after_is_a_floor_that_the_clamp_does_not_cut() {
        let soon = Fault::RateLimited(refusal(429, Some(1)));
        assert!(delay_secs(next(&soon, 0, PLENTY)) >= 3.6, "ours is longer");
        let late = Fault::Server(refusal(503, Some(60)));
        let delay = delay_secs(next(&late, 0, PLENTY));
        assert!((60.0..=66.0).contains(&delay), "{delay}");
    }

    #[test]
    fn a_delay_that_does_not_fit_the_deadline_stops_at_once_and_says_so() {
        let fault = Fault::RateLimited(refusal(429, Some(60)));
        let Retry::Stop(why) = next(&fault, 0, Duration::from_secs(12)) else {
            panic!("the deadline is nearer than the server's wish");
        };
        let said = why.to_string();
        assert!(said.contains("deadline is in 12.0 s"), "{said}");
        let endless = Fault::RateLimited(Refusal {
            retry_after: Some(Duration::MAX),
            ..refusal(429, None)
        });
        assert!(matches!(
            next(&endless, 0, PLENTY),
            Retry::Stop(Stop::DeadlineTooClose { .. })
        ));
    }
}

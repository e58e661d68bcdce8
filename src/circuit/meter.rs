//! How much is asked of one server: its wish to be left alone, and the limits of its account.
//!
//! All or nothing: a call takes from every limit, or from none and learns how long to wait.

use std::{collections::HashMap, time::Duration};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{
    ask::{PassId, Spent},
    bucket::{Bucket, PerMinute},
};

/// How long a server's wish to be left alone is kept at most: it may be absurd.
pub const HOLD_MAX: Duration = Duration::from_secs(600);

/// What the account at a server allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimits {
    /// Calls, retries included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<PerMinute>,
    /// Tokens of questions and answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<PerMinute>,
}

impl RateLimits {
    /// Nothing is limited.
    pub const NONE: Self = Self {
        requests_per_minute: None,
        tokens_per_minute: None,
    };

    /// Whether nothing is limited.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.requests_per_minute.is_none() && self.tokens_per_minute.is_none()
    }
}

/// What makes a call wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    /// The server asked to be left alone.
    RetryAfter,
    /// [`RateLimits::requests_per_minute`].
    Requests,
    /// [`RateLimits::tokens_per_minute`].
    Tokens,
}

impl Throttle {
    /// The reason in one word, for metrics and log events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RetryAfter => "retry_after",
            Self::Requests => "requests_per_minute",
            Self::Tokens => "tokens_per_minute",
        }
    }
}

/// A call has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// When it is worth asking again.
    pub wait: Duration,
    /// What it waits for.
    pub by: Throttle,
}

/// What one call took from each limit.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    requests: u64,
    tokens: u64,
}

/// The limits of one server, and what calls took from them.
#[derive(Debug, Default)]
pub struct Meter {
    held_until: Option<Instant>,
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    /// Of each pass that is out and took anything.
    taken: HashMap<PassId, Taken>,
}

impl Meter {
    /// Takes one request and as many tokens as are expected, or nothing. A pass that has taken
    /// before takes nothing more.
    ///
    /// # Errors
    /// How long to wait, and for what.
    pub fn take(
        &mut self,
        pass: PassId,
        limits: RateLimits,
        tokens: u64,
        now: Instant,
    ) -> Result<(), Throttled> {
        if self.taken.contains_key(&pass) {
            return Ok(());
        }
        self.held(now)?;
        let wanted = Taken {
            requests: limits.requests_per_minute.map_or(0, |_| 1),
            tokens: limits.tokens_per_minute.map_or(0, |it| it.clamp(tokens)),
        };
        fill(&mut self.requests, limits.requests_per_minute, now);
        fill(&mut self.tokens, limits.tokens_per_minute, now);
        self.there(limits, wanted)?;
        if !limits.is_none() {
            self.taken.insert(pass, wanted);
        }
        if let Some(bucket) = &mut self.requests {
            bucket.take(wanted.requests);
        }
        if let Some(bucket) = &mut self.tokens {
            bucket.take(wanted.tokens);
        }
        Ok(())
    }

    /// Gives back what was not spent, and charges what was spent beyond.
    pub fn settle(&mut self, pass: PassId, spent: Spent) {
        let Some(taken) = self.taken.remove(&pass) else {
            return;
        };
        let unsent = spent == Spent::Unsent;
        if let Some(bucket) = self.requests.as_mut().filter(|_| unsent) {
            bucket.give_back(taken.requests);
        }
        if let Some(bucket) = &mut self.tokens {
            bucket.give_back(taken.tokens);
            bucket.take(match spent {
                Spent::Unsent => 0,
                Spent::Unknown => taken.tokens,
                Spent::Tokens(tokens) if taken.tokens > 0 => tokens,
                // It took none: no limit was set when it began.
                Spent::Tokens(_) => 0,
            });
        }
    }

    /// The server asks to be left alone for so long; a longer wish of before stays.
    pub fn hold(&mut self, wish: Duration, now: Instant) {
        let until = now + wish.min(HOLD_MAX);
        self.held_until = self.held_until.max(Some(until));
    }

    /// # Errors
    /// The server still wants to be left alone.
    pub(super) fn held(&self, now: Instant) -> Result<(), Throttled> {
        match self.held_until {
            Some(until) if until > now => Err(Throttled {
                wait: until.duration_since(now),
                by: Throttle::RetryAfter,
            }),
            Some(_) | None => Ok(()),
        }
    }

    fn there(&self, limits: RateLimits, wanted: Taken) -> Result<(), Throttled> {
        let requests = wait(self.requests, limits.requests_per_minute, wanted.requests);
        let tokens = wait(self.tokens, limits.tokens_per_minute, wanted.tokens);
        let (millis, by) = match requests >= tokens {
            true => (requests, Throttle::Requests),
            false => (tokens, Throttle::Tokens),
        };
        if millis == 0 {
            return Ok(());
        }
        let wait = Duration::from_millis(millis);
        Err(Throttled { wait, by })
    }
}

fn fill(bucket: &mut Option<Bucket>, limit: Option<PerMinute>, now: Instant) {
    if let Some(limit) = limit {
        let bucket = bucket.get_or_insert_with(|| Bucket::full(limit, now));
        bucket.fill(limit, now);
    }
}

fn wait(bucket: Option<Bucket>, limit: Option<PerMinute>, amount: u64) -> u64 {
    let both = bucket.zip(limit);
    both.map_or(0, |(bucket, limit)| bucket.wait(limit, amount))
}

//! What can go wrong between a call and its answer, as one closed list.
//!
//! A fault answers three questions: again? after the longer delay? what does the caller hear?
//! Never: words of the prompt, of the answer or of the provider's error page, or a key. What a
//! server says about itself is reduced to its status and its error code.

mod connection;
mod phase;
mod refusal;
mod told;
mod unfit;

use std::{fmt, time::Duration};

pub use self::{
    connection::ConnectionFault,
    phase::Phase,
    refusal::{HttpStatus, ProviderCode, Refusal},
    unfit::Unfit,
};
use super::breaker::{CircuitName, Ended};
use crate::{circuit::Throttle, contract::Violation};

/// Why an attempt has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The connection could not be made or broke.
    #[error("no connection to the model server: {what} ({detail})")]
    Connection {
        /// What about it.
        what: ConnectionFault,
        /// The operating system's or the TLS library's words.
        detail: Box<str>,
    },
    /// A part of the attempt took longer than it may.
    #[error("{}", phase.overrun(*after))]
    Timeout {
        /// Which part.
        phase: Phase,
        /// How long it was given.
        after: Duration,
    },
    /// Nobody waits for the answer any more.
    #[error("the deadline passed before the model answered")]
    DeadlinePassed,
    /// The server failed: 408 or 5xx.
    #[error("the model server failed: {0}")]
    Server(Refusal),
    /// The server is overloaded: 529.
    #[error("the model server is overloaded: {0}")]
    Overloaded(Refusal),
    /// Too many calls for now: 429.
    #[error("the model server limits the rate of calls: {0}")]
    RateLimited(Refusal),
    /// Too many tokens for now, or in this one call; the server does not say which.
    #[error("the model server limits tokens: {0}; ask for less, or less often")]
    TokenLimited(Refusal),
    /// The account is used up; waiting does not help.
    #[error("the account at the model server is used up: {0}; raise its quota or its balance")]
    QuotaExhausted(Refusal),
    /// The server does not accept our key: 401 or 403.
    #[error("the model server does not accept the api key: {0}; check api_key_env or api_key_file")]
    Auth(Refusal),
    /// The server does not accept the question: any other status.
    #[error("the model server rejects the call: {0}")]
    Rejected(Refusal),
    /// The answer breaks the output contract.
    #[error("the answer breaks the output contract: {}", Listed(.0))]
    Contract(Vec<Violation>),
    /// The answer holds the contract and has another form than was asked for.
    #[error("the answer breaks the output contract: {}", Listed(&.0.violations))]
    Unfit(Box<Unfit>),
    /// The answer is longer than we read.
    #[error("the answer is longer than {cap} bytes")]
    BodyTooLarge {
        /// How many bytes are read at most.
        cap: usize,
    },
    /// The server fails so often that it is left alone for now; no call was made.
    #[error(
        "the circuit of {circuit} is open: most calls to it failed, and none is made for another {:.1} s",
        retry_in.as_secs_f64()
    )]
    CircuitOpen {
        /// Which breaker.
        circuit: CircuitName,
        /// When it is worth asking again.
        retry_in: Duration,
    },
    /// As often as a request may call it the server was called, before this worker got the request.
    #[error(
        "the model server was called {calls} times for this request before it was handed over, as often as it may be"
    )]
    CallsSpent {
        /// How often.
        calls: u8,
    },
    /// The call would wait for its turn beyond its deadline; no call was made.
    #[error(
        "calls to {circuit} wait another {:.1} s {}, and the deadline is in {:.1} s",
        wait.as_secs_f64(), waits_for(*by), time_left.as_secs_f64()
    )]
    Throttled {
        /// Which server.
        circuit: CircuitName,
        /// What it waits for.
        by: Throttle,
        /// How long it would have to wait.
        wait: Duration,
        /// How much time there was.
        time_left: Duration,
    },
    /// The server broke the generation off.
    #[error("the model server broke the answer off: finish_reason {reason}")]
    Incomplete {
        /// What it gave as the reason: `abort`, `error`, `network_error` or `null`.
        reason: &'static str,
    },
}

/// Whether a fault is worth another attempt, and after which delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The same call would fail again.
    Never,
    /// After the ordinary delay.
    Backoff,
    /// After the longer delay of a server that asks for less.
    LongBackoff,
    /// The same, and only once in a call.
    LongBackoffOnce,
}

impl Fault {
    /// The fault that an HTTP status alone tells of.
    #[must_use]
    pub const fn of_status(refusal: Refusal) -> Self {
        match refusal.status.0 {
            401 | 403 => Self::Auth(refusal),
            429 => Self::RateLimited(refusal),
            529 => Self::Overloaded(refusal),
            408 | 500..=599 => Self::Server(refusal),
            _ => Self::Rejected(refusal),
        }
    }

    /// Again, and after which delay?
    #[must_use]
    pub const fn again(&self) -> Again {
        match self {
            Self::Connection {
                what: ConnectionFault::Certificate,
                ..
            }
            | Self::DeadlinePassed
            | Self::QuotaExhausted(_)
            | Self::Auth(_)
            | Self::Rejected(_)
            | Self::Contract(_)
            | Self::Unfit(_)
            | Self::CircuitOpen { .. }
            | Self::CallsSpent { .. }
            | Self::Throttled { .. }
            | Self::BodyTooLarge { .. } => Again::Never,
            Self::Connection { .. }
            | Self::Timeout { .. }
            | Self::Server(_)
            | Self::Incomplete { .. } => Again::Backoff,
            Self::Overloaded(_) | Self::RateLimited(_) => Again::LongBackoff,
            Self::TokenLimited(_) => Again::LongBackoffOnce,
        }
    }

    /// In which ways the answer breaks the output contract or the form asked for.
    #[must_use]
    pub fn violations(&self) -> Option<&[Violation]> {
        match self {
            Self::Contract(violations) => Some(violations),
            Self::Unfit(unfit) => Some(&unfit.violations),
            Self::Connection { .. }
            | Self::Timeout { .. }
            | Self::DeadlinePassed
            | Self::Server(_)
            | Self::Overloaded(_)
            | Self::RateLimited(_)
            | Self::TokenLimited(_)
            | Self::QuotaExhausted(_)
            | Self::Auth(_)
            | Self::Rejected(_)
            | Self::BodyTooLarge { .. }
            | Self::CircuitOpen { .. }
            | Self::CallsSpent { .. }
            | Self::Throttled { .. }
            | Self::Incomplete { .. } => None,
        }
    }

    /// How long the server asked to be left alone.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self.refusal() {
            Some(refusal) => refusal.retry_after,
            None => None,
        }
    }

    /// The same, from a server that asked to be left alone for so long beside what it said.
    #[must_use]
    pub fn not_before(mut self, wish: Option<Duration>) -> Self {
        match &mut self {
            Self::Server(refusal)
            | Self::Overloaded(refusal)
            | Self::RateLimited(refusal)
            | Self::TokenLimited(refusal)
            | Self::QuotaExhausted(refusal)
            | Self::Auth(refusal)
            | Self::Rejected(refusal) => refusal.retry_after = refusal.retry_after.max(wish),
            Self::Connection { .. }
            | Self::Timeout { .. }
            | Self::DeadlinePassed
            | Self::Contract(_)
            | Self::Unfit(_)
            | Self::BodyTooLarge { .. }
            | Self::CircuitOpen { .. }
            | Self::CallsSpent { .. }
            | Self::Throttled { .. }
            | Self::Incomplete { .. } => {}
        }
        self
    }

    /// What the server answered, if it answered with a refusal.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Server(refusal)
            | Self::Overloaded(refusal)
            | Self::RateLimited(refusal)
            | Self::TokenLimited(refusal)
            | Self::QuotaExhausted(refusal)
            | Self::Auth(refusal)
            | Self::Rejected(refusal) => Some(refusal),
            Self::Connection { .. }
            | Self::Timeout { .. }
            | Self::DeadlinePassed
            | Self::Contract(_)
            | Self::Unfit(_)
            | Self::BodyTooLarge { .. }
            | Self::CircuitOpen { .. }
            | Self::CallsSpent { .. }
            | Self::Throttled { .. }
            | Self::Incomplete { .. } => None,
        }
    }

    /// The status of the response, if one came.
    #[must_use]
    pub const fn http_status(&self) -> Option<HttpStatus> {
        match self {
            Self::Server(refusal)
            | Self::Overloaded(refusal)
            | Self::RateLimited(refusal)
            | Self::TokenLimited(refusal)
            | Self::QuotaExhausted(refusal)
            | Self::Auth(refusal)
            | Self::Rejected(refusal) => Some(refusal.status),
            // Found in the body of a success.
            Self::Contract(_)
            | Self::Unfit(_)
            | Self::BodyTooLarge { .. }
            | Self::Incomplete { .. } => Some(HttpStatus(200)),
            Self::Connection { .. }
            | Self::Timeout { .. }
            | Self::DeadlinePassed
            | Self::CircuitOpen { .. }
            | Self::CallsSpent { .. }
            | Self::Throttled { .. } => None,
        }
    }

    /// What the attempt says of the server's health. A refusal and an answer that breaks the
    /// contract say nothing: a bad request is no outage, and no proof that one is over.
    #[must_use]
    pub const fn health(&self) -> Ended {
        match self {
            // Our own calls had every connection: no server was asked.
            Self::Timeout {
                phase: Phase::Acquire,
                ..
            }
            | Self::DeadlinePassed
            | Self::CircuitOpen { .. }
            | Self::CallsSpent { .. }
            | Self::Throttled { .. }
            | Self::RateLimited(_)
            | Self::TokenLimited(_)
            | Self::QuotaExhausted(_)
            | Self::Auth(_)
            | Self::Rejected(_)
            | Self::Contract(_)
            | Self::Unfit(_)
            | Self::BodyTooLarge { .. } => Ended::Neutral,
            Self::Connection { .. }
            | Self::Timeout { .. }
            | Self::Server(_)
            | Self::Overloaded(_)
            | Self::Incomplete { .. } => Ended::Failure,
        }
    }
}

const fn waits_for(by: Throttle) -> &'static str {
    match by {
        Throttle::RetryAfter => "since the server asked to be left alone",
        Throttle::Requests => "for requests_per_minute",
        Throttle::Tokens => "for tokens_per_minute",
    }
}

struct Listed<'v>(&'v [Violation]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("no violation recorded"),
            [only] => only.fmt(f),
            [first, rest @ ..] => write!(f, "{first} (and {} more)", rest.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_reads_as_a_sentence_that_names_the_status_and_the_code() {
        let fault = Fault::QuotaExhausted(Refusal {
            status: HttpStatus(429),
            code: ProviderCode::read("insufficient_quota"),
            retry_after: None,
        });
        assert_eq!(
            fault.to_string(),
            "the account at the model server is used up: HTTP 429 (insufficient_quota); \
             raise its quota or its balance"
        );
    }
}

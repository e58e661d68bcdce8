//! The bounds of a pool, and of one endpoint's answers.

use std::time::Duration;

/// How many connections at once: 1 to 20,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimit(u16);

impl ConnectionLimit {
    /// The highest limit: beyond it a process runs out of file descriptors as systems are set up.
    pub const MAX: u16 = 20_000;

    /// `limit`, or the end of the range that is nearer.
    #[must_use]
    pub fn nearest(limit: u64) -> Self {
        let limit = limit.clamp(1, Self::MAX.into());
        Self(u16::try_from(limit).unwrap_or(Self::MAX))
    }

    pub(super) fn get(self) -> usize {
        self.0.into()
    }
}

/// What one provider's pool allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolRules {
    /// Most calls at once to all its hosts, each on a connection of its own.
    pub connections: ConnectionLimit,
    /// Most calls at once to one host.
    pub connections_per_host: ConnectionLimit,
    /// Longest wait for leave to use a connection.
    pub acquire_timeout: Duration,
    /// Longest wait for a connection, name resolution and TLS included.
    pub connect_timeout: Duration,
    /// How long a connection that nobody uses is kept, unless the server keeps it shorter.
    pub idle_timeout: Duration,
}

impl Default for PoolRules {
    /// 100 in all and 50 a host, 30 s to get one and 30 s to make it, kept for 60 s.
    fn default() -> Self {
        Self {
            connections: ConnectionLimit(100),
            connections_per_host: ConnectionLimit(50),
            acquire_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(60),
        }
    }
}

/// How long an endpoint may be silent, and how much it may say.
#[derive(Clone, Copy, Debug)]
pub(in crate::runtime) struct Limits {
    /// Longest attempt, everything in it.
    pub(in crate::runtime) request: Duration,
    /// From sending the request to the head of the answer; `None`: the attempt's own bound is
    /// enough, since a model may have to be loaded first.
    pub(in crate::runtime) first_byte: Option<Duration>,
    /// From one piece of the answer to the next.
    pub(in crate::runtime) between_bytes: Duration,
    /// Longest body of a success, in bytes after decoding.
    pub(in crate::runtime) body_max: usize,
}

impl Limits {
    /// Longest silence between two pieces of an answer by default.
    pub(in crate::runtime) const BETWEEN_BYTES: Duration = Duration::from_secs(30);
    /// Longest body of a success by default, in bytes.
    pub(in crate::runtime) const BODY_MAX: u32 = 4 * 1024 * 1024;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_stays_within_its_range() {
        for (limit, expected) in [
            (0, 1),
            (1, 1),
            (100, 100),
            (20_000, 20_000),
            (20_001, 20_000),
        ] {
            assert_eq!(ConnectionLimit::nearest(limit).get(), expected);
        }
        assert_eq!(ConnectionLimit::nearest(u64::MAX).get(), 20_000);
    }
}

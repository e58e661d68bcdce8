//! How the store is spoken to, each value checked where it is made.

use std::{fmt, num::NonZeroU16, str::FromStr, time::Duration};

use redis::RedisConnectionInfo;

use super::{
    super::{Attempt, MAX_ATTEMPTS, RETENTION, SESSION_TTL},
    place::RedisUrl,
};

/// How the Sentinels are logged in to; by default they ask for nothing.
#[derive(Clone, Default)]
pub struct SentinelLogin {
    /// The user; the default one where there is only a password.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<String>,
}

impl SentinelLogin {
    pub(super) fn apply(&self, settings: RedisConnectionInfo) -> RedisConnectionInfo {
        let settings = match &self.user {
            Some(user) => settings.set_username(user),
            None => settings,
        };
        match &self.password {
            Some(password) => settings.set_password(password),
            None => settings,
        }
    }
}

impl fmt::Debug for SentinelLogin {
    /// Whether there is one, never which.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SentinelLogin")
            .field("is_set", &self.password.is_some())
            .finish_non_exhaustive()
    }
}

/// What every key of a fleet begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPrefix(Box<str>);

/// A text that no key may begin with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a key prefix of 1 to 64 of [A-Za-z0-9._-], got {0:?}")]
pub struct InvalidKeyPrefix(String);

impl KeyPrefix {
    /// The prefix as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for KeyPrefix {
    fn default() -> Self {
        Self("puruto".into())
    }
}

impl FromStr for KeyPrefix {
    type Err = InvalidKeyPrefix;

    fn from_str(raw: &str) -> Result<Self, InvalidKeyPrefix> {
        let clean = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if (1..=64).contains(&raw.len()) && raw.bytes().all(clean) {
            Ok(Self(raw.into()))
        } else {
            Err(InvalidKeyPrefix(raw.into()))
        }
    }
}

/// Into how many partitions the requests fall, each with a hash tag of its own. It is written into
/// the data set once; all workers must agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partitions(NonZeroU16);

impl Partitions {
    /// A session has a key in each partition, which a renewal touches.
    const MAX: u16 = 256;

    /// `number` partitions; `None` unless it is from 1 to 256.
    #[must_use]
    pub const fn new(number: u16) -> Option<Self> {
        match NonZeroU16::new(number) {
            Some(some) if number <= Self::MAX => Some(Self(some)),
            _ => None,
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0.get()
    }
}

impl Default for Partitions {
    fn default() -> Self {
        const SIXTEEN: Partitions = Partitions(NonZeroU16::MIN.saturating_add(15));
        SIXTEEN
    }
}

impl fmt::Display for Partitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which keys one call may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// Keys of all partitions: one server has them all.
    #[default]
    OneNode,
    /// Keys of one partition, as a Redis Cluster demands.
    OnePartition,
}

/// How a store is reached and what it keeps.
#[derive(Clone, Debug)]
pub struct RedisOptions {
    /// Where it is.
    pub url: RedisUrl,
    /// How its Sentinels are logged in to, where it has any.
    pub sentinel_login: SentinelLogin,
    /// What every key begins with.
    pub prefix: KeyPrefix,
    /// How many partitions there are.
    pub partitions: Partitions,
    /// Which keys one call may name.
    pub spread: Spread,
    /// How long one call may take. A call that is batched waits at most as long again for its turn.
    pub response_timeout: Duration,
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// How long a record is kept after its request's deadline, settled or not.
    pub retention: Duration,
    /// How long a session lives after it was opened or renewed.
    pub session_ttl: Duration,
    /// How often a request is executed at most: a claim beyond that is answered as exhausted.
    pub max_attempts: Attempt,
}

impl RedisOptions {
    /// The usual options for the store at `url`.
    #[must_use]
    pub fn new(url: RedisUrl) -> Self {
        Self {
            url,
            sentinel_login: SentinelLogin::default(),
            prefix: KeyPrefix::default(),
            partitions: Partitions::default(),
            spread: Spread::default(),
            response_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(1),
            retention: RETENTION,
            session_ttl: SESSION_TTL,
            max_attempts: MAX_ATTEMPTS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_cannot_break_a_hash_tag_and_partitions_have_a_bound() {
        assert!("a{b}".parse::<KeyPrefix>().is_err());
        assert!("".parse::<KeyPrefix>().is_err());
        assert!("puruto-2".parse::<KeyPrefix>().is_ok());
        assert_eq!(Partitions::default().number(), 16);
        assert_eq!(Partitions::new(0), None);
        assert_eq!(Partitions::new(257), None);
    }
}

//! The servers there are, and which versions of them will do.
//!
//! Owns names and versions; runs nothing.

use std::fmt;

/// A server that the fleet needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `nats-server`, with JetStream.
    Nats,
    /// `redis-server`, or `valkey-server`, which speaks the same.
    Redis,
}

impl Tool {
    /// The name of its program, and of the file in the tool folder.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nats => "nats-server",
            Self::Redis => "redis-server",
        }
    }

    /// The names under which its program is looked for, the preferred one first.
    #[must_use]
    pub const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Nats => &["nats-server"],
            Self::Redis => &["redis-server", "valkey-server"],
        }
    }

    /// The environment variable in which a user names a program of their own.
    #[must_use]
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Nats => "PURUTO_NATS_SERVER",
            Self::Redis => "PURUTO_REDIS_SERVER",
        }
    }

    /// The oldest version that will do.
    #[must_use]
    pub const fn oldest(self) -> Version {
        match self {
            // Several filter subjects a consumer, and consumer metadata.
            Self::Nats => Version::new(2, 10, 0),
            // What the store's scripts are written for.
            Self::Redis => Version::new(6, 2, 0),
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A server's version; what follows the three numbers (`-beta.1`) is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// `major.minor.patch`.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// The first version that stands in what a server prints about itself, such as
    /// `nats-server: v2.15.1` or `Redis server v=6.2.5 sha=00000000:0 malloc=jemalloc-5.1.0`.
    #[must_use]
    pub fn find_in(text: &str) -> Option<Self> {
        text.split(|c: char| !c.is_ascii_digit() && c != '.')
            .find_map(Self::parse)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self::new(next()?, next()?, next()?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_what_each_server_prints() {
        let printed = [
            ("nats-server: v2.15.1", Version::new(2, 15, 1)),
            ("nats-server: v2.11.0-preview.2", Version::new(2, 11, 0)),
            (
                "Redis server v=6.2.5 sha=00000000:0 malloc=jemalloc-5.1.0 bits=64",
                Version::new(6, 2, 5),
            ),
            (
                "Valkey server v=8.0.1 sha=00000000:0",
                Version::new(8, 0, 1),
            ),
        ];
        for (text, version) in printed {
            assert_eq!(Version::find_in(text), Some(version), "{text}");
        }
        assert_eq!(Version::find_in("command not found: 12.3"), None);
    }

    #[test]
    fn versions_are_compared_as_numbers_not_as_text() {
        assert!(Version::new(2, 9, 10) < Tool::Nats.oldest());
        assert!(Version::new(10, 0, 0) > Tool::Redis.oldest());
    }
}

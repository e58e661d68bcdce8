//! The names of streams, consumers and buckets, all derived from the prefix and the target.

use crate::contract::{Lane, PurutoName, Subjects};

/// The name of a JetStream stream or key-value bucket: no dot, space or wildcard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamName(Box<str>);

impl StreamName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The stream that holds the requests.
    #[must_use]
    pub fn invoke(subjects: &Subjects) -> Self {
        Self::of(subjects, "INVOKE")
    }

    /// The stream that holds the results.
    #[must_use]
    pub fn results(subjects: &Subjects) -> Self {
        Self::of(subjects, "RESULTS")
    }

    /// The stream that holds what could not be answered.
    #[must_use]
    pub fn dead_letters(subjects: &Subjects) -> Self {
        Self::of(subjects, "DLQ")
    }

    /// The stream that holds what happened to requests.
    #[must_use]
    pub fn events(subjects: &Subjects) -> Self {
        Self::of(subjects, "EVENTS")
    }

    /// The key-value bucket that holds what the fleet as a whole has to remember.
    #[must_use]
    pub fn fleet(subjects: &Subjects) -> Self {
        Self::of(subjects, "FLEET")
    }

    /// A prefix is ASCII tokens joined by dots, which a name cannot hold.
    fn of(subjects: &Subjects, what: &str) -> Self {
        let prefix = subjects.prefix().replace('.', "_").to_ascii_uppercase();
        Self(format!("{prefix}_{what}").into())
    }
}

/// The name of a lane's durable consumer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConsumerName(Box<str>);

impl ConsumerName {
    /// `target` for the normal lane, `target-high` and `target-low` for the others. A target whose
    /// own name ends like a lane's is `target-normal` in its normal lane, so that no two lanes
    /// share a consumer.
    #[must_use]
    pub fn of(target: &PurutoName, lane: Lane) -> Self {
        let ends_like_a_lane = |name: &str| {
            let last = name.rsplit_once('-').map(|(_, last)| last);
            last.is_some_and(|last| last.parse::<Lane>().is_ok())
        };
        match lane {
            Lane::Normal if !ends_like_a_lane(target.as_str()) => Self(target.as_str().into()),
            Lane::High | Lane::Normal | Lane::Low => {
                Self(format!("{target}-{}", lane.as_str()).into())
            }
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn streams_are_named_after_the_prefix() {
        let acme: Subjects = "acme.fleet-1".parse().unwrap();
        assert_eq!(StreamName::invoke(&acme).as_str(), "ACME_FLEET-1_INVOKE");
        let plain = Subjects::default();
        assert_eq!(StreamName::results(&plain).as_str(), "PURUTO_RESULTS");
    }

    #[test]
    fn no_two_lanes_share_a_consumer() {
        let targets = ["a", "a-high", "a-low", "a-normal", "a-high-normal", "high"];
        let mut seen = HashSet::new();
        for target in targets {
            for lane in Lane::ALL {
                let name = ConsumerName::of(&target.parse().unwrap(), lane);
                assert!(seen.insert(name.clone()), "{target} {lane:?}: {name:?}");
            }
        }
    }

    #[test]
    fn an_ordinary_target_reads_as_it_is() {
        let target: PurutoName = "puruto-echo".parse().unwrap();
        let name = |lane| ConsumerName::of(&target, lane).as_str().to_owned();
        assert_eq!(name(Lane::Normal), "puruto-echo");
        assert_eq!(name(Lane::High), "puruto-echo-high");
    }
}

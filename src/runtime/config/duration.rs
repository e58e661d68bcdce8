//! Durations as people write them: `250ms`, `1m 30s`.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize, Serializer, de};

/// A duration that is written as `250ms` or `1m 30s` and is longer than nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HumanDuration(pub Duration);

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl Serialize for HumanDuration {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(from)?;
        let expected = &"a duration such as \"250ms\" or \"1m 30s\", more than zero";
        match humantime::parse_duration(&raw) {
            Ok(duration) if !duration.is_zero() => Ok(Self(duration)),
            Ok(_) | Err(_) => Err(de::Error::invalid_value(
                de::Unexpected::Str(&raw),
                expected,
            )),
        }
    }
}

//! The keys of `provider = "simulated"`.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize, Serializer, de};

use crate::{
    clock::Chance,
    contract::Violation,
    runtime::{
        Fault, ModelName,
        config::HumanDuration,
        fault::{ConnectionFault, HttpStatus, Phase, Refusal},
    },
};

/// What the scripted model says, how long it takes, and how it fails before that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulatedConfig {
    /// The name that stands in answers and metrics.
    #[serde(default = "simulated")]
    pub model: ModelName,
    /// The answer, with `{prompt}`, `{request_id}` and `{attempt}` (from 0) filled in. Echoes the
    /// prompt by default.
    #[serde(default = "echo")]
    pub answer: String,
    /// How long each attempt takes; nothing by default.
    #[serde(default, skip_serializing_if = "Latency::is_none")]
    pub latency: Latency,
    /// What it thinks before it answers, with the same filled in; nothing by default.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// How long it takes between two words of an answer that is streamed; nothing by default.
    #[serde(default, skip_serializing_if = "Latency::is_none")]
    pub word_latency: Latency,
    /// How the first attempts of each call end, in their order; the next one gets the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ScriptedError>,
    /// Other scripts for some prompts; the first that fits is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleConfig>,
}

/// A script for the prompts that hold a certain text; what it leaves open is as for all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleConfig {
    /// The text that the prompt must hold.
    pub when: String,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// How long each attempt takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// What it thinks before it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// How long it takes between two words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word_latency: Option<Latency>,
    /// How the first attempts end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Vec<ScriptedError>>,
}

fn simulated() -> ModelName {
    "simulated".parse().expect("a valid name")
}

fn echo() -> String {
    "{prompt}".to_owned()
}

/// How long an attempt takes: `"50ms"`, or `{ min = "10ms", max = "50ms" }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// Always this long.
    Fixed(Duration),
    /// Somewhere between, by chance.
    Between {
        /// At least.
        min: Duration,
        /// At most.
        max: Duration,
    },
}

impl Default for Latency {
    fn default() -> Self {
        Self::Fixed(Duration::ZERO)
    }
}

impl Latency {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// How long it is this time.
    pub(super) fn draw(self, chance: &Chance) -> Duration {
        match self {
            Self::Fixed(latency) => latency,
            Self::Between { min, max } => {
                let spread = max.saturating_sub(min);
                min.saturating_add(spread.mul_f64(chance.fraction()))
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    min: HumanDuration,
    max: HumanDuration,
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Fixed(latency) => HumanDuration(latency).serialize(to),
            Self::Between { min, max } => Range {
                min: HumanDuration(min),
                max: HumanDuration(max),
            }
            .serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> de::Visitor<'de> for Either {
            type Value = Latency;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as \"50ms\", or { min = \"10ms\", max = \"50ms\" }")
            }

            fn visit_str<E: de::Error>(self, raw: &str) -> Result<Latency, E> {
                let read = humantime::parse_duration(raw);
                read.map(Latency::Fixed)
                    .map_err(|_| E::invalid_value(de::Unexpected::Str(raw), &self))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Latency, A::Error> {
                let Range { min, max } =
                    Range::deserialize(de::value::MapAccessDeserializer::new(map))?;
                if min.0 > max.0 {
                    return Err(de::Error::custom(format_args!(
                        "invalid value: min {min} is more than max {max}"
                    )));
                }
                Ok(Latency::Between {
                    min: min.0,
                    max: max.0,
                })
            }
        }

        from.deserialize_any(Either)
    }
}

/// How a scripted attempt ends: `503`, `429 2s` (with the server's wish to be left alone),
/// `timeout`, `connection`, `incomplete`, `contract`, `cut 3` (after the third word), or `ok` for
/// an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptedError {
    /// With an answer after all.
    Ok,
    /// Not in time.
    Timeout,
    /// With a connection that breaks.
    Connection,
    /// With an answer that the server breaks off.
    Incomplete,
    /// With an answer that breaks the output contract.
    Contract,
    /// With a body that ends after this many words of the answer.
    Cut(usize),
    /// With this HTTP status and, maybe, a `Retry-After`.
    Status(HttpStatus, Option<Duration>),
}

impl ScriptedError {
    /// How many words of the answer come before it.
    pub(super) const fn words_before(self) -> usize {
        match self {
            Self::Ok => usize::MAX,
            Self::Cut(words) => words,
            Self::Timeout
            | Self::Connection
            | Self::Incomplete
            | Self::Contract
            | Self::Status(..) => 0,
        }
    }

    pub(super) fn fault(self, took: Duration) -> Option<Fault> {
        let fault = match self {
            Self::Ok => return None,
            Self::Timeout => Fault::Timeout {
                phase: Phase::Attempt,
                after: took,
            },
            Self::Connection => Fault::Connection {
                what: ConnectionFault::Reset,
                detail: "as scripted".into(),
            },
            Self::Incomplete => Fault::Incomplete { reason: "abort" },
            Self::Cut(_) => Fault::Connection {
                what: ConnectionFault::Cut,
                detail: "as scripted".into(),
            },
            Self::Contract => {
                let violation = Violation::new("content", "a string", "nothing, as scripted");
                Fault::Contract(vec![violation])
            }
            Self::Status(status, retry_after) => Fault::of_status(Refusal {
                status,
                code: None,
                retry_after,
            }),
        };
        Some(fault)
    }
}

/// A text that is no [`ScriptedError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid value: {0:?}, expected ok, timeout, connection, incomplete, contract, \
     cut with a number of words, such as \"cut 3\", \
     or a status from 400 to 599 that may be followed by a duration, such as \"429 2s\""
)]
pub struct InvalidScriptedError(String);

impl FromStr for ScriptedError {
    type Err = InvalidScriptedError;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        let named = match raw {
            "ok" => Some(Self::Ok),
            "timeout" => Some(Self::Timeout),
            "connection" => Some(Self::Connection),
            "incomplete" => Some(Self::Incomplete),
            "contract" => Some(Self::Contract),
            _ => cut(raw).or_else(|| status(raw)),
        };
        named.ok_or_else(|| InvalidScriptedError(raw.to_owned()))
    }
}

fn cut(raw: &str) -> Option<ScriptedError> {
    let words = raw.strip_prefix("cut ")?.parse().ok()?;
    Some(ScriptedError::Cut(words))
}

fn status(raw: &str) -> Option<ScriptedError> {
    let (status, wish) = match raw.split_once(' ') {
        Some((status, wish)) => (status, Some(humantime::parse_duration(wish).ok()?)),
        None => (raw, None),
    };
    let status = status.parse().ok().filter(|it| (400..=599).contains(it))?;
    Some(ScriptedError::Status(HttpStatus(status), wish))
}

impl fmt::Display for ScriptedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("ok"),
            Self::Timeout => f.write_str("timeout"),
            Self::Connection => f.write_str("connection"),
            Self::Incomplete => f.write_str("incomplete"),
            Self::Contract => f.write_str("contract"),
            Self::Cut(words) => write!(f, "cut {words}"),
            Self::Status(status, None) => write!(f, "{}", status.0),
            Self::Status(status, Some(wish)) => {
                write!(f, "{} {}", status.0, humantime::format_duration(*wish))
            }
        }
    }
}

impl Serialize for ScriptedError {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ScriptedError {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(from)?;
        raw.parse().map_err(de::Error::custom)
    }
}

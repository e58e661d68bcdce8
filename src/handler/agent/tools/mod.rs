//! What an agent can use beyond its own documents: servers that offer tools.
//!
//! Never: a time-out or a cap of a tool's own; whoever calls it holds the bounds. A tool's words
//! are evidence like a document's, never instructions.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize, de};
use serde_json::{Map, Value};

use crate::contract::{PurutoName, RequestId, Step};

/// Somebody who offers tools. One object lives as long as its agent, and connects when it is
/// first needed.
pub trait ToolServer: Send + Sync + fmt::Debug {
    /// What decisions call it.
    fn name(&self) -> &ServerName;

    /// What it offers now, in an order that does not change by itself.
    ///
    /// # Errors
    /// It is away; the agent goes on without its tools.
    fn tools(&self) -> BoxFuture<'_, Result<Vec<Arc<dyn Tool>>, ToolFailed>>;
}

/// Something that an agent can have done.
pub trait Tool: Send + Sync + fmt::Debug {
    /// What its server calls it.
    fn name(&self) -> &str;

    /// What it is for, in words for the model.
    fn description(&self) -> &str;

    /// The JSON Schema of its arguments: that of an object.
    fn schema(&self) -> &Value;

    /// Does it, and tells what came of it. Where it has an effect, the same `key` again has none.
    /// Dropping the future abandons it.
    ///
    /// # Errors
    /// Why nothing came of it; the model is told, and the run goes on.
    fn call(
        &self,
        args: Map<String, Value>,
        key: IdempotencyKey,
    ) -> BoxFuture<'_, Result<Value, ToolFailed>>;
}

/// Why a tool was of no use, in one sentence for the model: no secret, and not longer than a
/// sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolFailed(pub String);

/// Names a server of tools within its Puruto.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ServerName(Box<str>);

/// Longest name of a server, in bytes.
const SERVER_NAME_BYTES_MAX: usize = 32;

impl ServerName {
    /// What such a name may be.
    pub const EXPECTED: &'static str = "1 to 32 of a-z, A-Z, 0-9, _ and -";

    /// The text itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that names no server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {0:?}", expected = ServerName::EXPECTED)]
pub struct InvalidServerName(String);

impl FromStr for ServerName {
    type Err = InvalidServerName;

    fn from_str(raw: &str) -> Result<Self, InvalidServerName> {
        let clean = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if (1..=SERVER_NAME_BYTES_MAX).contains(&raw.len()) && raw.bytes().all(clean) {
            Ok(Self(raw.into()))
        } else {
            Err(InvalidServerName(raw.to_owned()))
        }
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ServerName {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(from)?;
        raw.parse().map_err(de::Error::custom)
    }
}

/// The same for each time that one step of one request is carried out, whoever does it, and for
/// nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(Arc<str>);

impl IdempotencyKey {
    /// The key of this step.
    #[must_use]
    pub fn of(target: &PurutoName, request: &RequestId, step: Step) -> Self {
        Self(format!("{target}/{request}/{step}").into())
    }

    /// `<target>/<request>/<step>`; the request's id may be any text without control characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What each use of a tool is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolBounds {
    /// How long it may take.
    pub timeout: Duration,
    /// How much of what it says is kept, in bytes of JSON; also of what one document or all the
    /// children of one delegation say.
    pub output_max: usize,
}

impl Default for ToolBounds {
    /// 30 seconds and 64 KiB.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            output_max: 64 << 10,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_name_can_stand_in_the_name_of_a_function() {
        for good in ["a", "git_hub-2", &"x".repeat(32)] {
            assert!(good.parse::<ServerName>().is_ok(), "{good:?}");
        }
        for bad in ["", "a.b", "a b", "é", &"x".repeat(33)] {
            assert!(bad.parse::<ServerName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_step_has_one_key() {
        let key = |step| {
            let target = "research".parse().expect("valid");
            let request = "r 1".parse().expect("valid");
            IdempotencyKey::of(&target, &request, Step::new(step))
        };
        assert_eq!(key(3).as_str(), "research/r 1/3");
        assert_ne!(key(3), key(4));
    }
}

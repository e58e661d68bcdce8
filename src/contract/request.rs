//! InvocationRequest: what a caller asks of a target.

use std::{borrow::Cow, str::FromStr, time::Duration};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    ActionName, CorrelationId, Fingerprint, InvalidId, Parsed, PurutoName, RequestId, Violation,
};

/// Longest prompt, in bytes of UTF-8.
pub const PROMPT_BYTES_MAX: usize = 256 * 1024;

/// How long a caller is ready to wait, in whole seconds: 1 to 86 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct TimeoutSec(#[schemars(range(min = 1, max = 86_400))] u32);

impl TimeoutSec {
    /// What is allowed.
    pub const EXPECTED: &'static str = "an integer from 1 to 86400";

    /// A time-out of `seconds`; `None` outside 1 to 86 400.
    #[must_use]
    pub fn new(seconds: u64) -> Option<Self> {
        let fits = (1..=86_400).contains(&seconds);
        u32::try_from(seconds).ok().filter(|_| fits).map(Self)
    }

    /// The same as a duration.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_secs(self.0 as u64)
    }
}

/// How deep in a chain of delegations a request stands: 0 for a first call, at most 64.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Hop(#[schemars(range(min = 0, max = 64))] u8);

impl Hop {
    const EXPECTED: &'static str = "an integer from 0 to 64";

    /// The hop `depth`; `None` above 64.
    #[must_use]
    pub fn new(depth: u64) -> Option<Self> {
        u8::try_from(depth).ok().filter(|it| *it <= 64).map(Self)
    }

    /// The depth as a number.
    #[must_use]
    pub const fn depth(self) -> u8 {
        self.0
    }
}

/// What a caller asks of a target.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InvocationRequest {
    /// Names this invocation.
    pub request_id: RequestId,
    /// Shared by all invocations of one chain.
    pub correlation_id: CorrelationId,
    /// The Puruto that asks.
    pub caller: PurutoName,
    /// The Puruto that is asked.
    pub target: PurutoName,
    /// What it is asked to do.
    pub action: ActionName,
    /// The instruction, at most 256 KiB of UTF-8.
    pub prompt: String,
    /// How long the caller is ready to wait; the caller's policy decides when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TimeoutSec")]
    pub timeout_sec: Option<TimeoutSec>,
    /// Depth of delegation.
    #[serde(default)]
    pub hop: Hop,
    /// Fields that this version does not know, kept for the target.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl InvocationRequest {
    /// The request as it travels.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a request has only string keys and finite numbers")
    }

    /// What tells this request from another under the same id.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let asked = serde_json::to_vec(&(self.timeout_sec, self.hop, &self.extra))
            .expect("a request has only string keys and finite numbers");
        Fingerprint::of([
            self.caller.as_str().as_bytes(),
            self.target.as_str().as_bytes(),
            self.action.as_str().as_bytes(),
            self.prompt.as_bytes(),
            &asked,
        ])
    }
}

/// What a message id may hold as it is.
const MESSAGE_ID: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-');

/// `<request_id>.<correlation_id>.<fingerprint>`, by which the broker knows a request that is
/// published twice. It deduplicates over all targets, so that the id alone would swallow another
/// request with the same one; and the same request asked in another chain has to be answered there.
#[must_use]
pub fn message_id(
    request: &RequestId,
    correlation: &CorrelationId,
    fingerprint: Fingerprint,
) -> String {
    let id = utf8_percent_encode(request.as_str(), MESSAGE_ID);
    let chain = utf8_percent_encode(correlation.as_str(), MESSAGE_ID);
    format!("{id}.{chain}.{fingerprint}")
}

/// Ids for a request whose author left them out: a function of where the broker stored it, so that
/// a redelivery gets the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MintedIds {
    /// For a missing `request_id`.
    pub request_id: RequestId,
    /// For a missing `correlation_id`.
    pub correlation_id: CorrelationId,
}

impl MintedIds {
    /// UUIDv5 over the stream's name, the message's sequence in it and the time (milliseconds
    /// since the Unix epoch) at which the broker stored it: a stream that was deleted and made
    /// anew counts from 1 again.
    #[must_use]
    pub fn of_message(stream: &str, sequence: u64, stored_at_millis: u64) -> Self {
        let mint = |what: &str| {
            let name = format!("{stream}/{sequence}/{stored_at_millis}/{what}");
            uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, name.as_bytes())
        };
        Self {
            request_id: RequestId::from_uuid(mint("request_id")),
            correlation_id: CorrelationId::from_uuid(mint("correlation_id")),
        }
    }
}

/// A message that is a request but for the ids that its author may have left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Names this invocation, if its author did.
    pub request_id: Option<RequestId>,
    /// Names the chain, if its author did.
    pub correlation_id: Option<CorrelationId>,
    /// The Puruto that asks; `anonymous` when left out.
    pub caller: PurutoName,
    /// The Puruto that is asked.
    pub target: PurutoName,
    /// What it is asked to do.
    pub action: ActionName,
    /// The instruction.
    pub prompt: String,
    /// How long the caller is ready to wait.
    pub timeout_sec: Option<TimeoutSec>,
    /// Depth of delegation.
    pub hop: Hop,
    /// Fields that this version does not know.
    pub extra: Map<String, Value>,
}

/// A message that is no request: everything that is wrong with it, and whatever ids it has, so
/// that its author can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// Every violation, never empty.
    pub violations: Vec<Violation>,
    /// The request id, if it could be read.
    pub request_id: Option<RequestId>,
    /// The correlation id, if it could be read.
    pub correlation_id: Option<CorrelationId>,
    /// Whether it is a JSON object at all, so that there is something of a request in it.
    pub is_object: bool,
}

impl Draft {
    /// Reads a message.
    ///
    /// # Errors
    /// Every violation of the contract at once.
    pub fn parse(message: &[u8]) -> Result<Self, Rejected> {
        let unreadable = |violation| Rejected {
            violations: vec![violation],
            request_id: None,
            correlation_id: None,
            is_object: false,
        };
        let Parsed { value, violations } = Parsed::from_slice(message).map_err(unreadable)?;
        let Value::Object(object) = value else {
            let actual = kind_of(&value);
            return Err(unreadable(Violation::new("$", "a JSON object", actual)));
        };
        Fields { object, violations }.into_draft()
    }

    /// The request, with `minted` ids where the author gave none.
    #[must_use]
    pub fn complete(self, minted: MintedIds) -> InvocationRequest {
        InvocationRequest {
            request_id: self.request_id.unwrap_or(minted.request_id),
            correlation_id: self.correlation_id.unwrap_or(minted.correlation_id),
            caller: self.caller,
            target: self.target,
            action: self.action,
            prompt: self.prompt,
            timeout_sec: self.timeout_sec,
            hop: self.hop,
            extra: self.extra,
        }
    }
}

/// Takes the known fields out of an object and notes what is wrong with each.
struct Fields {
    object: Map<String, Value>,
    violations: Vec<Violation>,
}

impl Fields {
    fn into_draft(mut self) -> Result<Draft, Rejected> {
        let request_id = self.optional::<RequestId>("request_id", RequestId::EXPECTED);
        let correlation_id =
            self.optional::<CorrelationId>("correlation_id", CorrelationId::EXPECTED);
        let caller = self.optional::<PurutoName>("caller", PurutoName::EXPECTED);
        let target = self.required::<PurutoName>("target", PurutoName::EXPECTED);
        let action = self.required::<ActionName>("action", ActionName::EXPECTED);
        let prompt = self.prompt();
        let timeout_sec = self.integer("timeout_sec", TimeoutSec::EXPECTED, TimeoutSec::new);
        let hop = self.integer("hop", Hop::EXPECTED, Hop::new);
        match (target, action, prompt) {
            (Some(target), Some(action), Some(prompt)) if self.violations.is_empty() => Ok(Draft {
                request_id,
                correlation_id,
                caller: caller.unwrap_or_else(PurutoName::anonymous),
                target,
                action,
                prompt,
                timeout_sec,
                hop: hop.unwrap_or_default(),
                extra: self.object,
            }),
            _ => Err(Rejected {
                violations: self.violations,
                request_id,
                correlation_id,
                is_object: true,
            }),
        }
    }

    fn note(&mut self, field: &str, expected: &str, actual: impl std::fmt::Display) {
        self.violations
            .push(Violation::new(field, expected, actual));
    }

    fn optional<T: FromStr<Err = InvalidId>>(&mut self, field: &str, expected: &str) -> Option<T> {
        match self.object.shift_remove(field)? {
            Value::String(raw) => match raw.parse() {
                Ok(parsed) => return Some(parsed),
                Err(error) => self.note(field, error.expected, error.actual),
            },
            other => self.note(field, expected, kind_of(&other)),
        }
        None
    }

    fn required<T: FromStr<Err = InvalidId>>(&mut self, field: &str, expected: &str) -> Option<T> {
        if self.object.contains_key(field) {
            return self.optional(field, expected);
        }
        self.note(field, expected, "nothing");
        None
    }

    fn prompt(&mut self) -> Option<String> {
        let expected = "a string of at most 262144 bytes";
        match self.object.shift_remove("prompt") {
            Some(Value::String(text)) if text.len() <= PROMPT_BYTES_MAX => return Some(text),
            Some(Value::String(text)) => {
                self.note("prompt", expected, format_args!("{} bytes", text.len()));
            }
            Some(other) => self.note("prompt", expected, kind_of(&other)),
            None => self.note("prompt", expected, "nothing"),
        }
        None
    }

    fn integer<T>(
        &mut self,
        field: &str,
        expected: &str,
        make: impl Fn(u64) -> Option<T>,
    ) -> Option<T> {
        let value = self.object.shift_remove(field)?;
        let made = value.as_u64().and_then(make);
        if made.is_none() {
            let actual = match &value {
                Value::Number(number) => Cow::Owned(number.to_string()),
                other => kind_of(other),
            };
            self.note(field, expected, actual);
        }
        made
    }
}

/// What a value is, in words, without repeating what may be a long or private text.
fn kind_of(value: &Value) -> Cow<'static, str> {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string().into(),
        Value::Number(number) => format!("the number {number}").into(),
        Value::String(_) => "a string".into(),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;

//! What a caller sends: a message of either version, read.
//!
//! The versions name a part's kind in other ways; what is in it stands under the same keys.

use serde_json::{Map, Value};

use super::rpc::{RpcCode, RpcError};
use crate::{
    contract::{ActionName, CorrelationId, Lane, TimeoutSec},
    gateway::{executions::IdempotencyKey, skills::timeout_of_millis},
};

/// A message, read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    /// What it says.
    pub(super) prompt: String,
    /// The same id is the same message.
    pub(super) id: IdempotencyKey,
    /// The task that it goes on with.
    pub(super) task: Option<String>,
    /// The chain to which it belongs.
    pub(super) context: Option<CorrelationId>,
    /// What is to be done.
    pub(super) action: Option<ActionName>,
    pub(super) timeout: Option<TimeoutSec>,
    pub(super) lane: Lane,
    /// When it is to be answered.
    pub(super) answered: Answered,
}

/// When a message is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// Once its task has ended, or waits for somebody: what a client that says nothing is owed.
    Settled,
    /// As soon as it is stored.
    AtOnce,
}

impl Message {
    /// The message in the parameters of a call that sends one.
    pub(super) fn read(params: &Map<String, Value>) -> Result<Self, RpcError> {
        let message = object(params, "message")?.ok_or_else(|| missing("message"))?;
        if !matches!(text(message, "role")?, None | Some("user" | "ROLE_USER")) {
            return Err(RpcError::invalid_params(
                "message.role has to be the user's",
            ));
        }
        let id = text(message, "messageId")?.ok_or_else(|| missing("message.messageId"))?;
        let id = IdempotencyKey::new(id).ok_or_else(|| {
            let expected = IdempotencyKey::EXPECTED;
            RpcError::invalid_params(format_args!("message.messageId has to be {expected}"))
        })?;
        let context = text(message, "contextId")?.filter(|it| !it.is_empty());
        let meta = Meta::of(params, message)?;
        Ok(Self {
            prompt: prompt(message)?,
            id,
            task: text(message, "taskId")?
                .filter(|it| !it.is_empty())
                .map(str::to_owned),
            context: parsed("message.contextId", context)?,
            action: parsed("metadata.action", meta.text("action")?)?,
            timeout: meta.timeout()?,
            lane: parsed("metadata.priority", meta.text("priority")?)?.unwrap_or_default(),
            answered: answered(params)?,
        })
    }
}

/// The metadata of the message, and of the call where the message has none of a name.
struct Meta<'p>([Option<&'p Map<String, Value>>; 2]);

impl<'p> Meta<'p> {
    fn of(
        params: &'p Map<String, Value>,
        message: &'p Map<String, Value>,
    ) -> Result<Self, RpcError> {
        Ok(Self([
            object(message, "metadata")?,
            object(params, "metadata")?,
        ]))
    }

    fn get(&self, key: &str) -> Option<&'p Value> {
        self.0.iter().flatten().find_map(|it| it.get(key))
    }

    fn text(&self, key: &str) -> Result<Option<&'p str>, RpcError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(RpcError::invalid_params(format_args!(
                "metadata.{key} has to be a text"
            ))),
        }
    }

    fn timeout(&self) -> Result<Option<TimeoutSec>, RpcError> {
        let Some(value) = self.get("timeout_ms") else {
            return Ok(None);
        };
        // Metadata knows no integers in the newer version: 30000 comes as 30000.0.
        let whole = value.as_f64().filter(|it| it.fract() == 0.0 && *it >= 0.0);
        let millis = value
            .as_u64()
            .or_else(|| format!("{:.0}", whole?).parse().ok());
        let timeout = millis.and_then(timeout_of_millis);
        timeout.map(Some).ok_or_else(|| {
            RpcError::invalid_params("metadata.timeout_ms has to be an integer from 1 to 86400000")
        })
    }
}

/// The texts of all parts, a line each; data as JSON.
fn prompt(message: &Map<String, Value>) -> Result<String, RpcError> {
    let Some(Value::Array(parts)) = message.get("parts") else {
        return Err(RpcError::invalid_params("message.parts has to be a list"));
    };
    let texts = parts.iter().map(|part| {
        if let Some(text) = part.get("text").and_then(Value::as_str) {
            return Ok(text.to_owned());
        }
        if let Some(data) = part.get("data") {
            return Ok(data.to_string());
        }
        if part.is_object() {
            let why = "parts have to be text or data: files are not taken";
            return Err(RpcError::new(RpcCode::ContentType, why));
        }
        Err(RpcError::invalid_params(
            "a part of the message is no object",
        ))
    });
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    if texts.iter().all(String::is_empty) {
        return Err(RpcError::invalid_params("the message says nothing"));
    }
    Ok(texts.join("\n"))
}

fn answered(params: &Map<String, Value>) -> Result<Answered, RpcError> {
    let Some(configuration) = object(params, "configuration")? else {
        return Ok(Answered::Settled);
    };
    let told = |key: &str| configuration.get(key).and_then(Value::as_bool);
    if told("blocking") == Some(false) || told("returnImmediately") == Some(true) {
        Ok(Answered::AtOnce)
    } else {
        Ok(Answered::Settled)
    }
}

/// The id of a task in the parameters of a call about one.
pub(super) fn task_id(params: &Map<String, Value>) -> Result<&str, RpcError> {
    text(params, "id")?.ok_or_else(|| missing("id"))
}

fn object<'p>(
    of: &'p Map<String, Value>,
    key: &str,
) -> Result<Option<&'p Map<String, Value>>, RpcError> {
    match of.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(RpcError::invalid_params(format_args!(
            "{key} has to be an object"
        ))),
    }
}

fn text<'p>(of: &'p Map<String, Value>, key: &str) -> Result<Option<&'p str>, RpcError> {
    match of.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(RpcError::invalid_params(format_args!(
            "{key} has to be a text"
        ))),
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    place: &str,
    text: Option<&str>,
) -> Result<Option<T>, RpcError> {
    let read = text.map(str::parse).transpose();
    read.map_err(|why| RpcError::invalid_params(format_args!("{place}: {why}")))
}

fn missing(what: &str) -> RpcError {
    RpcError::invalid_params(format_args!("{what} is missing"))
}

//! What a caller asks of a model.
//!
//! Never: how a provider spells it on the wire, or what happens when it fails.

use std::{fmt, num::NonZeroU32, str::FromStr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize, Serializer, de};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{
    budget::WhenSpent, calls_made::CallCount, contract::AnswerShape, stream::TokenSink,
    waiting::Waiting,
};
use crate::contract::RequestId;

/// One question to a model and the moment after which nobody wants the answer.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// The invocation that asks; stands in every span and log event of the call.
    pub request_id: RequestId,
    /// The model to ask.
    pub model: ModelName,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// How freely the model chooses; the provider's configuration decides when absent.
    pub temperature: Option<Temperature>,
    /// Longest answer; the provider's configuration decides when absent.
    pub max_tokens: Option<MaxTokens>,
    /// The form that the answer must have.
    pub answer: AnswerShape,
    /// What the model may ask to have called; it is told of nothing where there is none.
    pub tools: Arc<[ToolDefinition]>,
    /// No attempt starts at or after this moment, and a running one ends there.
    pub deadline: Instant,
    /// How often the server was called for it already, perhaps by another worker.
    pub made: CallCount,
    /// What becomes of it while the process makes no more retries.
    pub when_spent: WhenSpent,
    /// Waits for it between attempts; it sleeps by itself when absent.
    pub waiting: Option<Arc<dyn Waiting>>,
    /// Gets the answer piece by piece, as it is being written; without one it is asked for whole.
    pub tokens: Option<TokenSink>,
}

impl ModelCall {
    /// The question in `messages`, all else left open.
    #[must_use]
    pub fn new(
        request_id: RequestId,
        model: ModelName,
        messages: Vec<Message>,
        deadline: Instant,
    ) -> Self {
        Self {
            request_id,
            model,
            messages,
            temperature: None,
            max_tokens: None,
            answer: AnswerShape::Text,
            tools: Arc::default(),
            deadline,
            made: CallCount::default(),
            when_spent: WhenSpent::default(),
            waiting: None,
            tokens: None,
        }
    }

    /// An attempt begins: what earlier ones wrote of the answer is void.
    pub(super) fn begin_attempt(&self) {
        if let Some(tokens) = &self.tokens {
            tokens.begin();
        }
    }

    /// How long its latest attempt took to the first word, where the answer is streamed.
    pub(super) fn time_to_first(&self) -> Option<Duration> {
        self.tokens.as_ref().and_then(TokenSink::time_to_first)
    }

    /// Returns after `delay`.
    pub async fn wait(&self, delay: Duration) {
        match &self.waiting {
            Some(waiting) => waiting.wait(delay).await,
            None => sleep(delay).await,
        }
    }

    /// Time until the deadline; zero once it has passed.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The latest message of the user; empty when there is none.
    #[must_use]
    pub fn prompt(&self) -> &str {
        self.messages
            .iter()
            .rev()
            .find(|message| message.role == Role::User)
            .map_or("", |message| &message.content)
    }
}

/// A tool that a model may ask to have called.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolDefinition {
    /// What the model calls it: 1 to 64 of letters, digits, `_` and `-`.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments: that of an object.
    pub parameters: Value,
}

/// One turn of the conversation.
#[derive(Clone)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What they say; shared, so that a system prompt is not copied for each call.
    pub content: Arc<str>,
}

impl Message {
    /// What the Puruto tells the model about its task.
    pub fn system(content: impl Into<Arc<str>>) -> Self {
        Self {
            role: Role::System,
            content: content.into(),
        }
    }

    /// What the model said before.
    pub fn assistant(content: impl Into<Arc<str>>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
        }
    }

    /// What the caller asks.
    pub fn user(content: impl Into<Arc<str>>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
        }
    }
}

impl fmt::Debug for Message {
    /// Role and length: a prompt never reaches a log by way of `{:?}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({} bytes)", self.role, self.content.len())
    }
}

/// Who speaks in a [`Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The Puruto's own instructions.
    System,
    /// The caller.
    User,
    /// The model.
    Assistant,
    /// The outcome of a tool call.
    Tool,
}

/// The name of a model; cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelName(Arc<str>);

/// Longest model name, in characters.
const MODEL_NAME_CHARS_MAX: usize = 200;

impl ModelName {
    /// What a model name may be.
    pub const EXPECTED: &'static str = "1 to 200 characters, no control characters";

    /// The name as the provider spells it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that names no model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a model name has {}", ModelName::EXPECTED)]
pub struct InvalidModelName;

impl FromStr for ModelName {
    type Err = InvalidModelName;

    fn from_str(raw: &str) -> Result<Self, Self::Err> {
        let fits = !raw.trim().is_empty()
            && raw.chars().count() <= MODEL_NAME_CHARS_MAX
            && !raw.chars().any(char::is_control);
        if fits {
            Ok(Self(raw.into()))
        } else {
            Err(InvalidModelName)
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl Serialize for ModelName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ModelName {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(from)?;
        raw.parse()
            .map_err(|error| de::Error::custom(format_args!("invalid value: {raw:?}: {error}")))
    }
}

/// How freely the model chooses its words: 0 to 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Temperature(f64);

/// A number that is no [`Temperature`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("invalid value: {0}: a temperature is a number from 0 to 2")]
pub struct InvalidTemperature(f64);

impl TryFrom<f64> for Temperature {
    type Error = InvalidTemperature;

    fn try_from(raw: f64) -> Result<Self, Self::Error> {
        if (0.0..=2.0).contains(&raw) {
            Ok(Self(raw))
        } else {
            Err(InvalidTemperature(raw))
        }
    }
}

impl From<Temperature> for f64 {
    fn from(temperature: Temperature) -> Self {
        temperature.0
    }
}

/// Longest answer that is asked for, in tokens of the model; at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MaxTokens(pub NonZeroU32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_shows_its_length_and_never_its_words() {
        let shown = format!("{:?}", Message::user("the secret plan"));
        assert_eq!(shown, "User(15 bytes)");
    }

    #[test]
    fn a_model_name_is_not_blank_and_has_no_control_characters() {
        assert!("gpt-4o".parse::<ModelName>().is_ok());
        for bad in ["", "  ", "a\nb", &"x".repeat(201)] {
            assert_eq!(bad.parse::<ModelName>(), Err(InvalidModelName), "{bad:?}");
        }
    }

    #[test]
    fn a_temperature_lies_between_zero_and_two() {
        assert!(Temperature::try_from(2.0).is_ok());
        assert!(Temperature::try_from(2.1).is_err());
        assert!(Temperature::try_from(-0.1).is_err());
        assert!(Temperature::try_from(f64::NAN).is_err());
    }
}

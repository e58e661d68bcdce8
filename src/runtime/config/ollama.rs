//! The keys of `provider = "ollama"`.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    ApiKeyPlace, BaseUrl, ByteSize, HumanDuration, Limits, default_between_bytes_timeout, is_yes,
    yes,
};
use crate::{
    circuit::RateLimits,
    runtime::{MaxTokens, ModelName, Temperature},
};

/// Longest attempt by default.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);

/// Where an Ollama server is, and how it is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OllamaConfig {
    /// Where the server is; `/api/chat` is added. This machine by default.
    #[serde(default = "this_machine")]
    pub base_url: BaseUrl,
    /// The model to ask.
    pub model: ModelName,
    /// The form that every answer must have; any by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<AnswerFormat>,
    /// The environment variable that holds the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// The file that holds the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_file: Option<PathBuf>,
    /// Longest attempt. A model that is not in memory is loaded within it.
    #[serde(default = "default_request_timeout")]
    pub request_timeout: HumanDuration,
    /// From the request to the beginning of the answer; a model may have to be loaded meanwhile. As
    /// long as an attempt by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_timeout: Option<HumanDuration>,
    /// Longest silence in the middle of an answer.
    #[serde(default = "default_between_bytes_timeout")]
    pub between_bytes_timeout: HumanDuration,
    /// Longest answer that is read, in bytes.
    #[serde(default = "default_body_max")]
    pub body_max: ByteSize,
    /// Longest answer, for calls that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<MaxTokens>,
    /// How freely the model chooses, for calls that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Temperature>,
    /// Whether the server is told the JSON Schema that the answer must hold.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub send_schema: bool,
    /// What the account at the server allows, all workers together.
    #[serde(default, skip_serializing_if = "RateLimits::is_none")]
    pub limits: RateLimits,
}

/// A form that the server is told to give the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerFormat {
    /// One JSON value.
    Json,
}

impl OllamaConfig {
    pub(super) fn api_key(&self) -> ApiKeyPlace<'_> {
        ApiKeyPlace {
            env: self.api_key_env.as_deref(),
            file: self.api_key_file.as_deref(),
        }
    }

    pub(in crate::runtime) fn limits(&self) -> Limits {
        Limits {
            request: self.request_timeout.0,
            first_byte: self.first_byte_timeout.map(|it| it.0),
            between_bytes: self.between_bytes_timeout.0,
            body_max: self.body_max.bytes(),
        }
    }
}

fn this_machine() -> BaseUrl {
    "http://127.0.0.1:11434".parse().expect("a base url")
}

const fn default_request_timeout() -> HumanDuration {
    HumanDuration(REQUEST_TIMEOUT)
}

/// Enough for any answer that a small model gives in its time.
const fn default_body_max() -> ByteSize {
    ByteSize::of(100_000)
}

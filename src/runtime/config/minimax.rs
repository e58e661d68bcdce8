//! The keys of `provider = "minimax"`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize, de};

use super::{
    ApiKeyPlace, BaseUrl, ByteSize, HumanDuration, Limits, default_between_bytes_timeout,
    default_body_max, default_request_timeout,
};
use crate::{
    circuit::RateLimits,
    runtime::{MaxTokens, ModelName, Temperature},
};

/// Where MiniMax is, and how it is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MiniMaxConfig {
    /// Where the API starts; the path of the route is added. MiniMax's own by default.
    #[serde(default = "worldwide")]
    pub base_url: BaseUrl,
    /// Which of the two APIs is asked.
    #[serde(default)]
    pub route: MiniMaxRoute,
    /// The model to ask.
    pub model: ModelName,
    /// The environment variable that holds the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// The file that holds the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_file: Option<PathBuf>,
    /// Longest attempt.
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
    /// How freely the model chooses, for calls that do not say: above 0, at most 1.
    #[serde(
        default,
        deserialize_with = "temperature",
        skip_serializing_if = "Option::is_none"
    )]
    pub temperature: Option<Temperature>,
    /// Whether the server is told the JSON Schema that the answer must hold; few models take it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub send_schema: bool,
    /// What the account at the server allows, all workers together.
    #[serde(default, skip_serializing_if = "RateLimits::is_none")]
    pub limits: RateLimits,
}

/// One of MiniMax's two APIs for the same models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MiniMaxRoute {
    /// `/text/chatcompletion_v2`.
    #[default]
    Native,
    /// `/chat/completions`, as OpenAI has it.
    OpenAi,
}

impl MiniMaxRoute {
    /// The path behind the base url.
    pub(in crate::runtime) const fn path(self) -> &'static str {
        match self {
            Self::Native => "text/chatcompletion_v2",
            Self::OpenAi => "chat/completions",
        }
    }
}

impl MiniMaxConfig {
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

/// The API answers any other number with an error.
fn temperature<'de, D: de::Deserializer<'de>>(from: D) -> Result<Option<Temperature>, D::Error> {
    let raw = f64::deserialize(from)?;
    if raw > 0.0 && raw <= 1.0 {
        return Temperature::try_from(raw)
            .map(Some)
            .map_err(de::Error::custom);
    }
    Err(de::Error::custom(format_args!(
        "invalid value: {raw}: a temperature of MiniMax is above 0 and at most 1"
    )))
}

fn worldwide() -> BaseUrl {
    "https://api.minimax.io/v1".parse().expect("a base url")
}

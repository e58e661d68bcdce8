//! The `[model]` table of a Puruto: which provider answers, and how.
//!
//! Every mistake names its key, the value found and what is allowed. Never: a key's text; the
//! table says where the key is, not what it is.

mod api_key;
mod base_url;
mod byte_size;
mod duration;
mod minimax;
mod ollama;
mod openai;

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize, de};
use serde_json::{Map, Value};

use self::api_key::ApiKeyPlace;
pub(super) use self::api_key::Authorization;
pub use self::{
    base_url::BaseUrl,
    byte_size::ByteSize,
    duration::HumanDuration,
    minimax::{MiniMaxConfig, MiniMaxRoute},
    ollama::{AnswerFormat, OllamaConfig},
    openai::OpenAiConfig,
};
use super::{
    Shared,
    connector::{
        Connector, Network,
        minimax::MiniMax,
        ollama::Ollama,
        openai::OpenAi,
        simulated::{Simulated, SimulatedConfig},
        transport::Limits,
    },
};

/// Longest attempt by default.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

// The tables of the providers repeat what they share: fields that serde flattens together would take
// unknown keys for known ones, and a mistake would no longer name its key.
/// One provider, as `provider = "..."` and that provider's own keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "provider", rename_all = "lowercase")]
pub enum ProviderConfig {
    /// A model that answers as scripted here.
    Simulated(SimulatedConfig),
    /// Any endpoint that speaks OpenAI's chat completions.
    OpenAi(OpenAiConfig),
    /// A model that Ollama runs.
    Ollama(OllamaConfig),
    /// MiniMax, over either of its two APIs.
    MiniMax(MiniMaxConfig),
}

const fn yes() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference over"
)]
const fn is_yes(flag: &bool) -> bool {
    *flag
}

const fn default_between_bytes_timeout() -> HumanDuration {
    HumanDuration(Limits::BETWEEN_BYTES)
}

const fn default_body_max() -> ByteSize {
    ByteSize::of(Limits::BODY_MAX)
}

const fn default_request_timeout() -> HumanDuration {
    HumanDuration(REQUEST_TIMEOUT)
}

impl<'de> Deserialize<'de> for ProviderConfig {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(Map::deserialize(from)?).map_err(de::Error::custom)
    }
}

impl ProviderConfig {
    /// The provider that `table` describes.
    ///
    /// # Errors
    /// The first thing that does not fit, and under which key it stands.
    pub fn read(mut table: Map<String, Value>) -> Result<Self, Misread> {
        let provider = table.remove("provider");
        let named = provider.as_ref().and_then(Value::as_str);
        match named {
            Some("simulated") => keys(table).map(Self::Simulated),
            Some("openai") => keys(table).map(Self::OpenAi),
            Some("ollama") => keys(table).map(Self::Ollama),
            Some("minimax") => keys(table).map(Self::MiniMax),
            _ => {
                let found = provider.unwrap_or_default();
                Err(Misread {
                    key: Some("provider".to_owned()),
                    why: format!(
                        "invalid value: {found}, expected \"simulated\", \"openai\", \
                         \"minimax\" or \"ollama\""
                    ),
                })
            }
        }
    }
}

/// Serde's own tagged enums forget at which key a value did not fit.
fn keys<T: de::DeserializeOwned>(table: Map<String, Value>) -> Result<T, Misread> {
    serde_path_to_error::deserialize(Value::Object(table)).map_err(|error| {
        let key = error.path().to_string();
        Misread {
            // A missing key stands in the message itself.
            key: (key != ".").then_some(key),
            why: error.into_inner().to_string(),
        }
    })
}

/// Why a table describes no provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misread {
    /// The key at which it does not fit; `None` when a key is missing.
    pub key: Option<String>,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{key}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl ProviderConfig {
    /// The connector that this table describes, over the pools of `shared`. Its key is looked up
    /// with `env` or read from its file, once; `env` names the proxies too.
    ///
    /// # Errors
    /// What is wrong beyond the form of single values: where the key should be.
    pub fn connect(
        &self,
        env: impl Fn(&str) -> Option<String>,
        shared: &Shared,
    ) -> Result<Connector, Mistake> {
        let network = Network::of(shared, &env);
        match self {
            Self::Simulated(config) => {
                let chance = shared.chance.clone();
                Ok(Connector::Simulated(Simulated::new(config.clone(), chance)))
            }
            Self::OpenAi(config) => {
                let authorization = config.api_key().authorization(env)?;
                OpenAi::new(config, authorization.as_ref(), &network).map(Connector::OpenAi)
            }
            Self::Ollama(config) => {
                let authorization = config.api_key().authorization(env)?;
                Ollama::new(config, authorization.as_ref(), &network).map(Connector::Ollama)
            }
            Self::MiniMax(config) => {
                let authorization = config.api_key().authorization(env)?;
                MiniMax::new(config, authorization.as_ref(), &network).map(Connector::MiniMax)
            }
        }
    }
}

/// One thing that is wrong with a provider's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The key in the table.
    pub key: &'static str,
    /// What stands there.
    pub value: String,
    /// What is wrong with it.
    pub why: String,
}

impl Mistake {
    pub(super) fn new(key: &'static str, value: &str, why: String) -> Self {
        Self {
            key,
            value: value.to_owned(),
            why,
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, why } = self;
        write!(f, "{key} = {value:?}: {why}")
    }
}

impl std::error::Error for Mistake {}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::{Chance, Clock};

    fn read(toml: &str) -> Result<ProviderConfig, String> {
        toml::from_str(toml).map_err(|error| error.message().to_owned())
    }

    fn openai(more: &str) -> String {
        format!(
            "provider = \"openai\"\nbase_url = \"http://localhost:1/v1/\"\nmodel = \"m\"\n{more}"
        )
    }

    fn shared() -> Shared {
        Shared::new(Clock::system(), Chance::seeded(1), Arc::new(()))
    }

    fn minimax(more: &str) -> String {
        format!("provider = \"minimax\"\nmodel = \"m\"\n{more}")
    }

    fn connect(toml: &str, env: &[(&str, &str)]) -> Result<Connector, Mistake> {
        let looked_up = |name: &str| {
            let found = env.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let config = read(toml).expect("well formed");
        config.connect(looked_up, &shared())
    }

    #[test]
    fn a_table_prints_as_it_is_read() {
        for table in [
            openai("api_key_env = \"KEY\"\nrequest_timeout = \"1m 30s\"\nfirst_byte_timeout = \"1m\"\nbody_max = \"1 MiB\"\nmax_tokens = 9\ntemperature = 0.5"),
            "provider = \"simulated\"\nanswer = \"{prompt}\"\nlatency = { min = \"1ms\", max = \"2ms\" }\n\
             errors = [\"503\", \"429 2s\", \"timeout\"]\n[[rules]]\nwhen = \"pay\"\nanswer = \"paid\"".to_owned(),
            "provider = \"ollama\"\nmodel = \"m\"\nformat = \"json\"".to_owned(),
            minimax("route = \"openai\"\ntemperature = 1.0"),
            openai("[limits]\nrequests_per_minute = 500\ntokens_per_minute = 200000"),
        ] {
            let config = read(&table).expect("well formed");
            let printed = toml::to_string(&config).expect("prints");
            assert_eq!(read(&printed), Ok(config), "{printed}");
        }
    }

    #[test]
    fn a_limit_that_is_none_names_its_key() {
        for (limits, key) in [
            ("requests_per_minute = 0", "limits.requests_per_minute"),
            ("tokens_per_minute = \"9k\"", "limits.tokens_per_minute"),
            ("rpm = 9", "rpm"),
        ] {
            let said = read(&openai(&format!("[limits]\n{limits}"))).expect_err(limits);
            assert!(said.contains(key), "{limits}: {said}");
        }
    }

    #[test]
    fn every_mistake_names_its_key_and_what_stands_there() {
        for (table, key, value) in [
            ("provider = \"oracle\"".to_owned(), "provider", "oracle"),
            ("answer = \"x\"".to_owned(), "provider", "null"),
            (
                "provider = \"openai\"\nmodel = \"m\"".to_owned(),
                "base_url",
                "missing",
            ),
            (openai("modle = \"x\""), "modle", "unknown field"),
            (openai("request_timeout = 5"), "request_timeout", "5"),
            (
                openai("request_timeout = \"soon\""),
                "request_timeout",
                "soon",
            ),
            (openai("request_timeout = \"0s\""), "request_timeout", "0s"),
            (openai("body_max = \"4 GB\""), "body_max", "4 GB"),
            (openai("body_max = 0"), "body_max", "0"),
            (
                openai("first_byte_timeout = \"0s\""),
                "first_byte_timeout",
                "0s",
            ),
            (openai("max_tokens = 0"), "max_tokens", "0"),
            (openai("temperature = 3"), "temperature", "3"),
            (minimax("temperature = 0"), "temperature", "0"),
            (minimax("temperature = 1.5"), "temperature", "1.5"),
            (minimax("temperature = \"warm\""), "temperature", "warm"),
            (
                "provider = \"ollama\"\nmodel = \"m\"\nformat = \"xml\"".to_owned(),
                "format",
                "xml",
            ),
            (
                "provider = \"simulated\"\nlatency = \"fast\"".to_owned(),
                "latency",
                "fast",
            ),
            (
                "provider = \"simulated\"\nlatency = { min = \"2s\", max = \"1s\" }".to_owned(),
                "latency",
                "2s",
            ),
            (
                "provider = \"simulated\"\nerrors = [\"503\", \"200\"]".to_owned(),
                "errors[1]",
                "200",
            ),
            (
                "provider = \"simulated\"\n[[rules]]\nwen = \"x\"".to_owned(),
                "rules[0]",
                "wen",
            ),
        ] {
            let said = read(&table).expect_err(&table);
            assert!(
                said.contains(key) && said.contains(value),
                "{table}: {said}"
            );
        }
    }

    #[test]
    fn a_key_comes_from_the_environment_or_a_file_and_never_shows() {
        let from_env = openai("api_key_env = \"KEY\"");
        let connector = connect(&from_env, &[("KEY", "sk-123")]).expect("complete");
        assert!(!format!("{connector:?}").contains("sk-123"));
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        std::fs::write(&path, "sk-456\n").expect("written");
        let from_file = openai(&format!("api_key_file = {path:?}"));
        let connector = connect(&from_file, &[]).expect("complete");
        assert!(!format!("{connector:?}").contains("sk-456"));
    }

    #[test]
    fn a_key_that_is_not_there_is_a_mistake_that_says_where_it_was_sought() {
        let said = |toml: &str, env: &[(&str, &str)]| {
            let mistake = connect(toml, env).expect_err("no key");
            mistake.to_string()
        };
        let from_env = openai("api_key_env = \"KEY\"");
        assert_eq!(
            said(&from_env, &[]),
            "api_key_env = \"KEY\": the environment variable is not set"
        );
        assert_eq!(
            said(&from_env, &[("KEY", " ")]),
            "api_key_env = \"KEY\": it holds no key"
        );
        let no_header = said(&from_env, &[("KEY", "sk-1\nsk-2")]);
        assert!(
            no_header.starts_with("api_key_env") && !no_header.contains("sk-"),
            "{no_header}"
        );
        let both = openai("api_key_env = \"KEY\"\napi_key_file = \"k\"");
        assert!(said(&both, &[("KEY", "x")]).contains("keep one"));
        let nowhere = openai("api_key_file = \"/nowhere/key\"");
        assert!(said(&nowhere, &[]).starts_with("api_key_file = \"/nowhere/key\""));
    }
}

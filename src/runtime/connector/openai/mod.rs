//! Any endpoint that speaks OpenAI's chat completions.
//!
//! Never: a retry, or the key in anything but the one header.

mod refusal;
#[cfg(test)]
mod tests;
mod wire;

use std::time::Duration;

use reqwest::{
    Client, Response, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};

pub(super) use self::wire::read;
use super::{Payload, http};
use crate::{
    clock::Clock,
    runtime::{
        Fault, ModelCall, ModelName,
        config::{Mistake, OpenAiConfig},
        retry_after,
        secret::Secret,
    },
};

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// One endpoint and the client with the connections to it.
#[derive(Debug)]
pub struct OpenAi {
    client: Client,
    endpoint: Url,
    /// Marked sensitive: its `{:?}` shows no key.
    authorization: Option<HeaderValue>,
    defaults: wire::Defaults,
    model: ModelName,
    request_timeout: Duration,
    clock: Clock,
}

impl OpenAi {
    /// The endpoint of `config`, asked with `key`.
    ///
    /// # Errors
    /// A key that cannot stand in a header, or a machine on which no HTTP client can be made.
    pub fn new(config: &OpenAiConfig, key: Option<&Secret>, clock: Clock) -> Result<Self, Mistake> {
        let client = http::client().map_err(|error| {
            let why = format!("no http client can be made on this machine: {error:?}");
            Mistake::new("base_url", &config.base_url.to_string(), why)
        })?;
        Ok(Self {
            client,
            endpoint: config.base_url.join("chat/completions"),
            authorization: key.map(|key| bearer(config, key)).transpose()?,
            defaults: wire::Defaults {
                temperature: config.temperature,
                max_tokens: config.max_tokens,
            },
            model: config.model.clone(),
            request_timeout: config.request_timeout.0,
            clock,
        })
    }

    pub(super) fn endpoint(&self) -> &str {
        self.endpoint.as_str()
    }

    /// Host and port.
    pub(super) fn host(&self) -> &str {
        self.endpoint.authority()
    }

    pub(super) const fn model(&self) -> &ModelName {
        &self.model
    }

    pub(super) const fn request_timeout(&self) -> Duration {
        self.request_timeout
    }

    pub(super) fn build(&self, call: &ModelCall) -> Payload {
        Payload(wire::request(call, self.defaults).into())
    }

    /// The body of a success.
    pub(super) async fn attempt(&self, payload: &Payload) -> Result<Vec<u8>, Fault> {
        let mut request = self
            .client
            .post(self.endpoint.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(payload.0.clone());
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let response = request.send().await.map_err(http::unanswered)?;
        if response.status().is_success() {
            http::body(response, http::BODY_MAX).await
        } else {
            Err(self.refused(response).await)
        }
    }

    async fn refused(&self, response: Response) -> Fault {
        let status = response.status().as_u16();
        let retry_after = self.retry_after(response.headers());
        let body = http::error_body(response).await;
        refusal::classify(status, &body, retry_after)
    }

    fn retry_after(&self, headers: &HeaderMap) -> Option<Duration> {
        let values = |name| {
            let all = headers.get_all(name).into_iter();
            all.filter_map(|value: &HeaderValue| value.to_str().ok())
        };
        retry_after::read(
            values(RETRY_AFTER),
            values(RETRY_AFTER_MS),
            self.clock.now(),
        )
    }
}

fn bearer(config: &OpenAiConfig, key: &Secret) -> Result<HeaderValue, Mistake> {
    let header = HeaderValue::try_from(format!("Bearer {}", key.expose()));
    let mut header = header.map_err(|_| {
        let why = "the key holds characters that no header can carry".to_owned();
        match (&config.api_key_env, &config.api_key_file) {
            (Some(name), _) => Mistake::new("api_key_env", name, why),
            (None, path) => {
                let path = path.as_deref().unwrap_or_else(|| std::path::Path::new(""));
                Mistake::new("api_key_file", &path.display().to_string(), why)
            }
        }
    })?;
    header.set_sensitive(true);
    Ok(header)
}

//! Any endpoint that speaks OpenAI's chat completions.
//!
//! Never: a retry, or what becomes of a refusal.

mod refusal;
#[cfg(test)]
mod tests;
mod wire;

use std::time::Duration;

pub(super) use self::{
    refusal::{classify as refusal, of_error as refusal_of},
    wire::{Defaults, Request, draft, read},
};
use super::{Payload, endpoint::Endpoint, http};
use crate::{
    clock::Clock,
    runtime::{
        Fault, ModelCall, ModelName,
        config::{Authorization, Mistake, OpenAiConfig},
    },
};

/// One endpoint and how its model is asked.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    defaults: Defaults,
    model: ModelName,
    request_timeout: Duration,
}

impl OpenAi {
    /// The endpoint of `config`, asked with the key in `authorization`.
    ///
    /// # Errors
    /// A machine on which no HTTP client can be made.
    pub(in crate::runtime) fn new(
        config: &OpenAiConfig,
        authorization: Option<Authorization>,
        clock: Clock,
    ) -> Result<Self, Mistake> {
        let url = config.base_url.join("chat/completions");
        Ok(Self {
            endpoint: Endpoint::new(url, authorization, clock)?,
            defaults: Defaults {
                temperature: config.temperature,
                max_tokens: config.max_tokens,
                send_schema: config.send_schema,
            },
            model: config.model.clone(),
            request_timeout: config.request_timeout.0,
        })
    }

    pub(super) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
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
        let reply = self.endpoint.post(payload, http::BODY_MAX).await?;
        if reply.is_success() {
            Ok(reply.body)
        } else {
            Err(refusal::classify(&reply))
        }
    }
}

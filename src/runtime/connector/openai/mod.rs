//! Any endpoint that speaks OpenAI's chat completions.
//!
//! Never: a retry, or what becomes of a refusal.

mod refusal;
#[cfg(test)]
mod tests;
mod wire;

pub(super) use self::{
    refusal::{classify as refusal, of_error as refusal_of},
    wire::{Defaults, Request, draft, read},
};
use super::{
    Network, Payload,
    endpoint::Endpoint,
    transport::{Limits, Permit},
};
use crate::runtime::{
    Fault, ModelCall, ModelName,
    config::{Authorization, Mistake, OpenAiConfig},
};

/// One endpoint and how its model is asked.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
    defaults: Defaults,
    model: ModelName,
}

impl OpenAi {
    /// The endpoint of `config`, asked with the key in `authorization`.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub(in crate::runtime) fn new(
        config: &OpenAiConfig,
        authorization: Option<&Authorization>,
        network: &Network<'_>,
    ) -> Result<Self, Mistake> {
        let url = config.base_url.join("chat/completions");
        let limits = Limits::within(config.request_timeout.0);
        Ok(Self {
            endpoint: Endpoint::new("openai", url, authorization, limits, network)?,
            defaults: Defaults {
                temperature: config.temperature,
                max_tokens: config.max_tokens,
                send_schema: config.send_schema,
            },
            model: config.model.clone(),
        })
    }

    pub(super) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) const fn model(&self) -> &ModelName {
        &self.model
    }

    pub(super) fn build(&self, call: &ModelCall) -> Payload {
        Payload(wire::request(call, self.defaults).into())
    }

    /// The body of a success.
    pub(super) async fn attempt(
        &self,
        payload: &Payload,
        permit: Permit,
    ) -> Result<Vec<u8>, Fault> {
        let reply = self.endpoint.post(payload, permit).await?.read().await?;
        if reply.is_success() {
            Ok(reply.body)
        } else {
            Err(refusal::classify(&reply))
        }
    }
}

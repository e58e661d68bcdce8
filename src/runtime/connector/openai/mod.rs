//! Any endpoint that speaks OpenAI's chat completions.
//!
//! Never: a retry, or what becomes of a refusal.

mod refusal;
mod stream;
#[cfg(test)]
mod tests;
mod tool_calls;
mod wire;

use serde_json::Value;

pub(super) use self::{
    refusal::{classify as refusal, of_error as refusal_of},
    stream::Chunks,
    wire::{Defaults, Request, draft, has_choice, read},
};
use super::{
    Network, Payload, Reply, assembly::Assembly, endpoint::Endpoint, estimate, server::Server,
    streamed, transport::Permit,
};
use crate::runtime::{
    Fault, ModelCall,
    config::{Authorization, Mistake, OpenAiConfig},
    contract::{Draft, DraftUsage},
    fleet::Quota,
    stream::events::Events,
};

/// One endpoint and how its model is asked.
#[derive(Debug)]
pub struct OpenAi {
    server: Server,
    defaults: Defaults,
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
        Ok(Self {
            server: Server {
                endpoint: Endpoint::new("openai", url, authorization, config.limits(), network)?,
                model: config.model.clone(),
                temperature: config.temperature,
                quota: Quota {
                    limits: config.limits,
                    max_tokens: config.max_tokens,
                },
            },
            defaults: Defaults {
                temperature: config.temperature,
                max_tokens: config.max_tokens,
                send_schema: config.send_schema,
                stream_usage: config.stream_usage,
            },
        })
    }

    pub(super) const fn server(&self) -> &Server {
        &self.server
    }

    pub(super) fn build(&self, call: &ModelCall) -> Payload {
        Payload(wire::request(call, self.defaults).into())
    }

    /// The body of a success, or the draft of one that was streamed.
    pub(super) async fn attempt(
        &self,
        call: &ModelCall,
        payload: &Payload,
        permit: Permit,
    ) -> Result<Reply, Fault> {
        let response = self.server.endpoint.post(payload, permit).await?;
        if !response.is_success() {
            return Err(refusal::classify(&response.read().await?));
        }
        let Some(tokens) = &call.tokens else {
            return Ok(response.read().await?.into());
        };
        let assembly = Assembly::new(Events::new(), Chunks::default());
        let draft = streamed::read(response, assembly, tokens).await?;
        Ok(Reply::Draft(self.counted(call, draft)))
    }

    /// A server that was not asked to count may not have.
    fn counted(&self, call: &ModelCall, mut draft: Draft) -> Draft {
        if let (false, DraftUsage::Missing) = (self.defaults.stream_usage, &draft.usage) {
            estimate::mark(&mut draft.metadata);
            draft.usage = DraftUsage::Counters {
                prompt: estimate::asked(call),
                completion: estimate::answered(&draft.content),
                total: Value::Null,
            };
        }
        draft
    }
}

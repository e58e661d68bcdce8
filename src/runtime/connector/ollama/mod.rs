//! A model that Ollama runs, asked over `/api/chat`.
//!
//! Never: a retry, or a server's own sentences; an Ollama server has no error codes beside its
//! status.

mod stream;
#[cfg(test)]
mod tests;
mod wire;

use self::stream::Parts;
pub(super) use self::wire::read;
use super::{
    Network, Payload, Reply, assembly::Assembly, endpoint::Endpoint, server::Server, streamed,
    transport::Permit,
};
use crate::runtime::{
    Fault, ModelCall,
    config::{AnswerFormat, Authorization, Mistake, OllamaConfig},
    contract::AnswerShape,
    fault::Refusal,
    fleet::Quota,
    stream::lines::Lines,
};

/// One server and how its model is asked.
#[derive(Debug)]
pub struct Ollama {
    server: Server,
    defaults: wire::Options,
    answer: AnswerShape,
    send_schema: bool,
}

impl Ollama {
    /// The server of `config`, asked with the key in `authorization`.
    ///
    /// # Errors
    /// As [`Endpoint::new`].
    pub(in crate::runtime) fn new(
        config: &OllamaConfig,
        authorization: Option<&Authorization>,
        network: &Network<'_>,
    ) -> Result<Self, Mistake> {
        let url = config.base_url.join("api/chat");
        Ok(Self {
            server: Server {
                endpoint: Endpoint::new("ollama", url, authorization, config.limits(), network)?,
                model: config.model.clone(),
                temperature: config.temperature,
                quota: Quota {
                    limits: config.limits,
                    max_tokens: config.max_tokens,
                },
            },
            defaults: wire::Options {
                temperature: config.temperature,
                num_predict: config.max_tokens,
            },
            answer: match config.format {
                Some(AnswerFormat::Json) => AnswerShape::Json,
                None => AnswerShape::Text,
            },
            send_schema: config.send_schema,
        })
    }

    pub(super) const fn server(&self) -> &Server {
        &self.server
    }

    pub(super) fn build(&self, call: &ModelCall) -> Payload {
        let format = match (self.shape(call), &self.answer) {
            // The form that the configuration names is always told.
            (AnswerShape::Schema(_), own) if !self.send_schema => own,
            (shape, _) => shape,
        };
        Payload(wire::request(call, self.defaults, format).into())
    }

    /// The form that the answer must have: what the call says, else what the configuration does.
    pub(super) fn shape<'c>(&'c self, call: &'c ModelCall) -> &'c AnswerShape {
        match &call.answer {
            AnswerShape::Text => &self.answer,
            asked @ (AnswerShape::Json | AnswerShape::Schema(_)) => asked,
        }
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
            return Err(Fault::of_status(Refusal {
                status: response.status,
                code: None,
                retry_after: response.retry_after,
            }));
        }
        let Some(tokens) = &call.tokens else {
            return Ok(response.read().await?.into());
        };
        let assembly = Assembly::new(
            Lines::default(),
            Parts::of(call, self.server.endpoint.limits().body_max),
        );
        let draft = streamed::read(response, assembly, tokens).await?;
        Ok(Reply::Draft(draft))
    }
}

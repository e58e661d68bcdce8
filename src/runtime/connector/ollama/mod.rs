//! A model that Ollama runs, asked over `/api/chat`.
//!
//! Never: a retry, or a server's own sentences; an Ollama server has no error codes beside its
//! status.

#[cfg(test)]
mod tests;
mod wire;

use std::time::Duration;

pub(super) use self::wire::read;
use super::{Payload, endpoint::Endpoint};
use crate::{
    clock::Clock,
    runtime::{
        Fault, ModelCall, ModelName,
        config::{AnswerFormat, Authorization, Mistake, OllamaConfig},
        contract::AnswerShape,
        fault::Refusal,
    },
};

/// Longest body of a success, in bytes.
const BODY_MAX: usize = 100_000;

/// One server and how its model is asked.
#[derive(Debug)]
pub struct Ollama {
    endpoint: Endpoint,
    defaults: wire::Options,
    answer: AnswerShape,
    send_schema: bool,
    model: ModelName,
    request_timeout: Duration,
}

impl Ollama {
    /// The server of `config`, asked with the key in `authorization`.
    ///
    /// # Errors
    /// A machine on which no HTTP client can be made.
    pub(in crate::runtime) fn new(
        config: &OllamaConfig,
        authorization: Option<Authorization>,
        clock: Clock,
    ) -> Result<Self, Mistake> {
        let url = config.base_url.join("api/chat");
        Ok(Self {
            endpoint: Endpoint::new(url, authorization, clock)?,
            defaults: wire::Options {
                temperature: config.temperature,
                num_predict: config.max_tokens,
            },
            answer: match config.format {
                Some(AnswerFormat::Json) => AnswerShape::Json,
                None => AnswerShape::Text,
            },
            send_schema: config.send_schema,
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

    /// The body of a success.
    pub(super) async fn attempt(&self, payload: &Payload) -> Result<Vec<u8>, Fault> {
        let reply = self.endpoint.post(payload, BODY_MAX).await?;
        if reply.is_success() {
            return Ok(reply.body);
        }
        Err(Fault::of_status(Refusal {
            status: reply.status,
            code: None,
            retry_after: reply.retry_after,
        }))
    }
}

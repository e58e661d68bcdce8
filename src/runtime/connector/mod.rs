//! One attempt at a model, whichever provider serves it.
//!
//! A connector builds the payload once a call, sends it once an attempt, and reads the reply into
//! a draft. Never: a retry, a time-out of its own, or a check of the output contract.

/// MiniMax, over either of its two APIs.
pub mod minimax;
/// A model that Ollama runs.
pub mod ollama;
/// Any endpoint that speaks OpenAI's chat completions.
pub mod openai;
/// A model that answers as its configuration says.
pub mod simulated;

mod endpoint;
mod fields;
mod http;
#[cfg(test)]
mod shape_tests;
#[cfg(test)]
mod test_server;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

pub use self::http::install_tls;
use self::{minimax::MiniMax, ollama::Ollama, openai::OpenAi, simulated::Simulated};
use super::{
    Fault, ModelCall, ModelName,
    breaker::{Breaker, BreakerRules, CircuitName, Circuits},
    contract::{AnswerShape, Draft},
    observe::Observe,
    retry::Attempt,
};

/// The provider behind a runtime. An enum, so that an attempt at the simulated one costs no
/// allocation.
#[derive(Debug)]
pub enum Connector {
    /// Deterministic, scripted by configuration.
    Simulated(Simulated),
    /// Any OpenAI-compatible endpoint.
    OpenAi(OpenAi),
    /// A model that Ollama runs.
    Ollama(Ollama),
    /// MiniMax, over either of its two APIs.
    MiniMax(MiniMax),
}

/// A call in the provider's wire form.
#[derive(Clone, Debug, Default)]
pub struct Payload(Bytes);

impl Payload {
    /// Size on the wire, in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.0.len()
    }
}

/// What an attempt brought back.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "lives for a moment; a box would cost each simulated call an allocation"
)]
pub enum Reply {
    /// The body of a successful response, unread.
    Body(Vec<u8>),
    /// A draft that needs no reading.
    Draft(Draft),
}

impl Reply {
    /// Size of what is to be read, in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        match self {
            Self::Body(body) => body.len(),
            Self::Draft(_) => 0,
        }
    }
}

/// Longest attempt at a simulated model: the default of the real ones.
const SIMULATED_TIMEOUT: Duration = super::config::REQUEST_TIMEOUT;

impl Connector {
    /// The provider's name.
    #[must_use]
    pub const fn provider(&self) -> &'static str {
        match self {
            Self::Simulated(_) => "simulated",
            Self::OpenAi(_) => "openai",
            Self::Ollama(_) => "ollama",
            Self::MiniMax(_) => "minimax",
        }
    }

    /// Where attempts go; without credentials.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        match self {
            Self::Simulated(_) => "simulated",
            Self::OpenAi(openai) => openai.endpoint().as_str(),
            Self::Ollama(ollama) => ollama.endpoint().as_str(),
            Self::MiniMax(minimax) => minimax.endpoint().as_str(),
        }
    }

    /// The model that the configuration names.
    #[must_use]
    pub const fn model(&self) -> &ModelName {
        match self {
            Self::Simulated(simulated) => simulated.model(),
            Self::OpenAi(openai) => openai.model(),
            Self::Ollama(ollama) => ollama.model(),
            Self::MiniMax(minimax) => minimax.model(),
        }
    }

    /// The breaker that guards it. A simulated model has one of its own: no server stands behind it
    /// that others call.
    #[must_use]
    pub fn breaker(
        &self,
        circuits: &Circuits,
        rules: BreakerRules,
        observe: &Arc<dyn Observe>,
    ) -> Breaker {
        let name = CircuitName::new(self.provider(), self.host(), self.model().as_str());
        match self {
            Self::Simulated(_) => Breaker::new(name, rules, Arc::clone(observe)),
            Self::OpenAi(_) | Self::Ollama(_) | Self::MiniMax(_) => {
                circuits.breaker(&name, rules, observe)
            }
        }
    }

    fn host(&self) -> &str {
        match self {
            Self::Simulated(_) => "simulated",
            Self::OpenAi(openai) => openai.endpoint().host(),
            Self::Ollama(ollama) => ollama.endpoint().host(),
            Self::MiniMax(minimax) => minimax.endpoint().host(),
        }
    }

    /// How long one attempt may take.
    #[must_use]
    pub const fn request_timeout(&self) -> Duration {
        match self {
            Self::Simulated(_) => SIMULATED_TIMEOUT,
            Self::OpenAi(openai) => openai.request_timeout(),
            Self::Ollama(ollama) => ollama.request_timeout(),
            Self::MiniMax(minimax) => minimax.request_timeout(),
        }
    }

    /// The form that the answer to `call` must have: what the call says, else the configuration.
    #[must_use]
    pub fn shape<'c>(&'c self, call: &'c ModelCall) -> &'c AnswerShape {
        match self {
            Self::Ollama(ollama) => ollama.shape(call),
            Self::Simulated(_) | Self::OpenAi(_) | Self::MiniMax(_) => &call.answer,
        }
    }

    /// The call in the provider's wire form, for all its attempts.
    #[must_use]
    pub fn build(&self, call: &ModelCall) -> Payload {
        match self {
            Self::Simulated(_) => Payload::default(),
            Self::OpenAi(openai) => openai.build(call),
            Self::Ollama(ollama) => ollama.build(call),
            Self::MiniMax(minimax) => minimax.build(call),
        }
    }

    /// One attempt. Dropping the future abandons it.
    ///
    /// # Errors
    /// Why there is no reply.
    pub async fn attempt(
        &self,
        call: &ModelCall,
        payload: &Payload,
        attempt: Attempt,
    ) -> Result<Reply, Fault> {
        match self {
            Self::Simulated(simulated) => simulated.attempt(call, attempt).await.map(Reply::Draft),
            // Boxed, so that ten thousand simulated calls do not each carry an HTTP exchange.
            Self::OpenAi(openai) => Box::pin(openai.attempt(payload)).await.map(Reply::Body),
            Self::Ollama(ollama) => Box::pin(ollama.attempt(payload)).await.map(Reply::Body),
            Self::MiniMax(minimax) => Box::pin(minimax.attempt(payload)).await.map(Reply::Body),
        }
    }

    /// The reply to `call`, field by field and unchecked.
    ///
    /// # Errors
    /// The fault that the reply tells of.
    pub fn read(&self, call: &ModelCall, reply: Reply) -> Result<Draft, Fault> {
        match (self, reply) {
            (_, Reply::Draft(draft)) => Ok(draft),
            (Self::Ollama(_), Reply::Body(body)) => ollama::read(call, &body),
            (Self::MiniMax(_), Reply::Body(body)) => minimax::read(&body),
            (Self::OpenAi(_) | Self::Simulated(_), Reply::Body(body)) => openai::read(&body),
        }
    }
}

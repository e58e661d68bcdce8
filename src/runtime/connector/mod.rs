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

mod assembly;
mod endpoint;
mod estimate;
mod fields;
mod network;
mod server;
#[cfg(test)]
mod shape_tests;
mod streamed;
#[cfg(test)]
mod streaming_tests;
#[cfg(test)]
mod test_server;
mod tools;
/// How bytes get to a model server and back.
pub mod transport;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

pub(super) use self::network::Network;
use self::{
    minimax::MiniMax, ollama::Ollama, openai::OpenAi, server::Server, simulated::Simulated,
    transport::Permit,
};
use super::{
    Fault, MaxTokens, ModelCall, ModelName, Temperature,
    breaker::{Breaker, BreakerRules, CircuitName, Circuits},
    contract::{AnswerShape, Draft},
    fleet::Quota,
    observe::{self, Observe},
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
    /// A successful response, unread.
    Body {
        /// Its body.
        bytes: Vec<u8>,
        /// How long the server asks to be left alone, should it tell of a failure after all.
        retry_after: Option<Duration>,
    },
    /// A draft that needs no reading.
    Draft(Draft),
}

impl Reply {
    /// Size of what is to be read, in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        match self {
            Self::Body { bytes, .. } => bytes.len(),
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
        self.server().map_or("simulated", |it| it.endpoint.as_str())
    }

    /// The server behind it, if there is one.
    const fn server(&self) -> Option<&Server> {
        match self {
            Self::Simulated(_) => None,
            Self::OpenAi(openai) => Some(openai.server()),
            Self::Ollama(ollama) => Some(ollama.server()),
            Self::MiniMax(minimax) => Some(minimax.server()),
        }
    }

    /// The model that the configuration names.
    #[must_use]
    pub const fn model(&self) -> &ModelName {
        match self {
            Self::Simulated(simulated) => simulated.model(),
            Self::OpenAi(openai) => &openai.server().model,
            Self::Ollama(ollama) => &ollama.server().model,
            Self::MiniMax(minimax) => &minimax.server().model,
        }
    }

    /// The circuit of its server.
    #[must_use]
    pub fn circuit(&self) -> CircuitName {
        CircuitName::new(self.provider(), self.host(), self.model().as_str())
    }

    /// Whether a server stands behind it, which others may call too.
    #[must_use]
    pub const fn is_real(&self) -> bool {
        self.server().is_some()
    }

    /// The breaker that guards it. A simulated model has one of its own.
    #[must_use]
    pub fn breaker(
        &self,
        circuits: &Circuits,
        rules: BreakerRules,
        observe: &Arc<dyn Observe>,
    ) -> Breaker {
        let name = self.circuit();
        if self.is_real() {
            circuits.breaker(&name, rules, observe)
        } else {
            Breaker::new(name, rules, Arc::clone(observe))
        }
    }

    /// What the account at the server allows, and what a call will probably take of it.
    #[must_use]
    pub(super) const fn quota(&self) -> Quota {
        match self.server() {
            Some(server) => server.quota,
            None => Quota::NONE,
        }
    }

    /// How freely the model is to choose: what the call says, else the configuration.
    pub(super) fn temperature(&self, call: &ModelCall) -> Option<Temperature> {
        call.temperature.or_else(|| self.server()?.temperature)
    }

    /// The longest answer: what the call says, else the configuration.
    pub(super) fn max_tokens(&self, call: &ModelCall) -> Option<MaxTokens> {
        call.max_tokens.or_else(|| self.quota().max_tokens)
    }

    /// The name or address of its server, without the port.
    pub(super) fn server_address(&self) -> Option<&str> {
        self.server()?.endpoint.address()
    }

    /// The port of its server.
    pub(super) fn server_port(&self) -> Option<u16> {
        self.server()?.endpoint.port()
    }

    fn host(&self) -> &str {
        self.server().map_or("simulated", |it| it.endpoint.host())
    }

    /// How long one attempt may take.
    #[must_use]
    pub const fn request_timeout(&self) -> Duration {
        match self.server() {
            Some(server) => server.endpoint.limits().request,
            None => SIMULATED_TIMEOUT,
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

    /// Waits for leave to use a connection, `limit` at most. A simulated model needs none.
    ///
    /// # Errors
    /// None became free in time.
    pub async fn acquire(&self, limit: Duration, request: &Span) -> Result<Permit, Fault> {
        let Some(server) = self.server() else {
            return Ok(Permit::unpooled());
        };
        let asked = Instant::now();
        let span = observe::acquire_span(request, self.provider());
        // Boxed as the attempt is: a simulated call does not carry the wait either.
        let permit = Box::pin(server.endpoint.pool().acquire(limit));
        let permit = permit.instrument(span.clone()).await;
        observe::acquire_ended(&span, asked.elapsed());
        permit
    }

    /// One attempt, under `permit`. Dropping the future abandons it, connection and all.
    ///
    /// # Errors
    /// Why there is no reply.
    pub async fn attempt(
        &self,
        call: &ModelCall,
        payload: &Payload,
        attempt: Attempt,
        permit: Permit,
    ) -> Result<Reply, Fault> {
        match self {
            Self::Simulated(simulated) => simulated.attempt(call, attempt).await.map(Reply::Draft),
            // Boxed, so that ten thousand simulated calls do not each carry an HTTP exchange.
            Self::OpenAi(openai) => Box::pin(openai.attempt(call, payload, permit)).await,
            Self::Ollama(ollama) => Box::pin(ollama.attempt(call, payload, permit)).await,
            Self::MiniMax(minimax) => Box::pin(minimax.attempt(call, payload, permit)).await,
        }
    }

    /// The reply to `call`, field by field and unchecked.
    ///
    /// # Errors
    /// The fault that the reply tells of.
    pub fn read(&self, call: &ModelCall, reply: Reply) -> Result<Draft, Fault> {
        let (bytes, retry_after) = match reply {
            Reply::Draft(draft) => return Ok(draft),
            Reply::Body { bytes, retry_after } => (bytes, retry_after),
        };
        let draft = match self {
            Self::Ollama(_) => ollama::read(call, &bytes),
            Self::MiniMax(_) => minimax::read(&bytes),
            Self::OpenAi(_) | Self::Simulated(_) => openai::read(&bytes),
        };
        draft.map_err(|fault| fault.not_before(retry_after))
    }
}

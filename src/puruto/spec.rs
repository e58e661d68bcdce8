//! How a Puruto is served, as values that cannot be wrong.

use std::num::NonZeroUsize;

use serde::Deserialize;

use super::{Actions, AgentSpec, Decider};
use crate::{
    contract::Limits,
    handler::{Answering, CommandConfig, OnCircuitOpen},
    runtime::{config::ProviderConfig, contract::AnswerShape, repair::Repair},
};

/// How a Puruto is served: its `worker.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerSpec {
    /// What runs for a request.
    pub work: Work,
    /// What the Puruto is for, for whoever lists the fleet.
    pub description: Option<String>,
    /// What it can be asked to do.
    pub actions: Actions,
    /// How many requests one worker process runs at once.
    pub concurrency: Concurrency,
    /// What becomes of a request whose model's circuit breaker is open.
    pub on_circuit_open: OnCircuitOpen,
    /// How its model is asked.
    pub answering: Answering,
    /// What one request may use, with all that is delegated from it.
    pub budget: Limits,
}

/// What runs for a request, with what it needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// One question to a model.
    Chat(Box<ChatSpec>),
    /// This program of the Puruto.
    Command(CommandConfig),
    /// Step by step, as a model decides.
    Agent(Box<AgentSpec>),
}

impl Work {
    /// The models that are asked, the one that is asked first first; none where no model is asked.
    #[must_use]
    pub fn models(&self) -> Vec<&ProviderConfig> {
        let (model, fallbacks) = match self {
            Self::Chat(chat) => (&chat.model, &chat.fallbacks),
            Self::Agent(agent) => match &agent.decider {
                Decider::Models { model, fallbacks } => (&**model, fallbacks),
                Decider::Policy(_) => return Vec::new(),
            },
            Self::Command(_) => return Vec::new(),
        };
        std::iter::once(model).chain(fallbacks).collect()
    }
}

/// Which models a question goes to, and what their answer must be like.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatSpec {
    /// The model that is asked first.
    pub model: ProviderConfig,
    /// Those that are asked where it fails, in their order.
    pub fallbacks: Vec<ProviderConfig>,
    /// The form that every answer must have.
    pub answer: AnswerShape,
    /// Whether a model may correct an answer of another form.
    pub repair: Repair,
}

/// The kind of work, as `worker.toml` names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    #[default]
    Chat,
    Command,
    Agent,
}

/// How many requests one worker process runs at once: 1 to 100,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "usize")]
pub struct Concurrency(NonZeroUsize);

/// More would only move the queue from the broker into one process.
const CONCURRENCY_MAX: usize = 100_000;
const CONCURRENCY_DEFAULT: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");

/// A number that is no [`Concurrency`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an integer from 1 to {CONCURRENCY_MAX}, got {0}")]
pub struct InvalidConcurrency(usize);

impl Concurrency {
    /// The number.
    #[must_use]
    pub const fn get(self) -> NonZeroUsize {
        self.0
    }
}

impl Default for Concurrency {
    fn default() -> Self {
        Self(CONCURRENCY_DEFAULT)
    }
}

impl TryFrom<usize> for Concurrency {
    type Error = InvalidConcurrency;

    fn try_from(slots: usize) -> Result<Self, InvalidConcurrency> {
        NonZeroUsize::new(slots)
            .filter(|it| it.get() <= CONCURRENCY_MAX)
            .map(Self)
            .ok_or(InvalidConcurrency(slots))
    }
}

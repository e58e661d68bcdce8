//! Output contract 1.0: what every provider's answer must hold before anyone sees it.
//!
//! A provider turns its wire form into a `Draft`; here the draft becomes a `ModelAnswer` or the
//! list of everything that is wrong with it. Never: I/O, or knowledge of a provider's wire form.

mod coercer;
mod schema;
mod shape;
#[cfg(test)]
mod tests;
mod validator;

use serde_json::{Map, Value};

pub(crate) use self::shape::unfenced;
use self::validator::SchemaValidator;
pub use self::{
    coercer::Coercion,
    schema::{AnswerSchema, InvalidSchema},
    shape::AnswerShape,
};
use super::{Fault, ModelAnswer};

/// Longest content, in Unicode characters.
pub const CONTENT_CHARS_MAX: usize = 128_000;

/// An answer as a provider gave it, field by field and unchecked; absent and `null` are the same.
#[derive(Default)]
pub struct Draft {
    /// What the model says.
    pub content: Value,
    /// The model that answered.
    pub model: Value,
    /// What the call consumed.
    pub usage: DraftUsage,
    /// Why the model stopped.
    pub finish_reason: Value,
    /// Tools that the model wants called, in OpenAI's shape.
    pub tool_calls: Value,
    /// Sources that the model names.
    pub citations: Value,
    /// What else the provider tells; made by our own code, so it needs no check.
    pub metadata: Map<String, Value>,
}

impl std::fmt::Debug for Draft {
    /// No field that may hold the model's words.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Draft")
            .field("usage", &self.usage)
            .finish_non_exhaustive()
    }
}

/// The counters of a [`Draft`].
#[derive(Debug, Default)]
pub enum DraftUsage {
    /// The provider gave none.
    #[default]
    Missing,
    /// It gave something else than an object.
    NoObject(Value),
    /// It gave these; a missing counter is filled where the other two tell it.
    Counters {
        /// Tokens of the question.
        prompt: Value,
        /// Tokens of the answer.
        completion: Value,
        /// Tokens in all.
        total: Value,
    },
}

/// What the contract says of a draft.
#[derive(Debug)]
pub struct Verdict {
    /// The answer, or why there is none: [`Fault::Contract`] with every violation,
    /// [`Fault::Unfit`] when it has another form than was asked for, or [`Fault::Incomplete`] when
    /// the provider itself says that it broke the answer off.
    pub answer: Result<ModelAnswer, Fault>,
    /// Types that were changed without loss before the check.
    pub coercions: Vec<Coercion>,
}

/// Holds `draft` against output contract 1.0, and then against the form that was asked for.
#[must_use]
pub fn check(draft: Draft, shape: &AnswerShape) -> Verdict {
    let mut validator = SchemaValidator::default();
    let answer = validator.answer(draft);
    let mut coercions = validator.into_coercions();
    Verdict {
        answer: answer.and_then(|it| shape.fitted(it, &mut coercions)),
        coercions,
    }
}

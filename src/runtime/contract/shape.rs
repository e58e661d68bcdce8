//! The form that a call asks for: any text, some JSON, or JSON that a schema holds.
//!
//! Comes after output contract 1.0, whose answer it may read. Never: a guess at what the model
//! meant; a fence around the whole answer is the one thing that is taken off.

use serde_json::Value;

use super::{AnswerSchema, Coercion};
use crate::{
    contract::Violation,
    runtime::{Fault, FinishReason, ModelAnswer, fault::Unfit},
};

/// The form that an answer must have.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AnswerShape {
    /// Any text.
    #[default]
    Text,
    /// One JSON value, whichever.
    Json,
    /// One JSON value that this schema holds.
    Schema(AnswerSchema),
}

impl AnswerShape {
    /// `answer` with its JSON read, where JSON was asked for.
    ///
    /// # Errors
    /// [`Fault::Contract`] when the model was stopped before it had said everything, and
    /// [`Fault::Unfit`] when what it said has another form.
    pub(super) fn fitted(
        &self,
        mut answer: ModelAnswer,
        coercions: &mut Vec<Coercion>,
    ) -> Result<ModelAnswer, Fault> {
        let schema = match self {
            Self::Text => return Ok(answer),
            Self::Json => None,
            Self::Schema(schema) => Some(schema),
        };
        match answer.finish_reason {
            FinishReason::Stop => {}
            // The answer proper comes once the tools have been called.
            FinishReason::ToolCalls => return Ok(answer),
            // Also a server that was told to write JSON may be stopped in the middle of it, or
            // write white space until the answer is as long as it may be.
            cut @ (FinishReason::Length | FinishReason::ContentFilter) => return Err(stopped(cut)),
        }
        let (text, fenced) = match unfenced(&answer.content) {
            Some(inner) => (inner, true),
            None => (answer.content.as_str(), false),
        };
        let Ok(json) = serde_json::from_str::<Value>(text) else {
            let violations = vec![no_json(&answer.content)];
            return Err(unfit(violations, answer));
        };
        let violations = schema.map_or_else(Vec::new, |it| it.violations(&json));
        if !violations.is_empty() {
            return Err(unfit(violations, answer));
        }
        if fenced {
            answer.content = text.to_owned();
            coercions.push(Coercion {
                field: "content".to_owned(),
                from: "JSON in a fence",
                to: "JSON",
            });
        }
        answer.json = Some(Box::new(json));
        Ok(answer)
    }
}

fn stopped(reason: FinishReason) -> Fault {
    let expected = "stop, as half a JSON is none";
    let violation = Violation::new("finish_reason", expected, reason.as_str());
    Fault::Contract(vec![violation])
}

fn no_json(content: &str) -> Violation {
    let chars = content.chars().count();
    let actual = format!("a string of {chars} characters that is none");
    Violation::new("content", "JSON", actual)
}

fn unfit(violations: Vec<Violation>, answer: ModelAnswer) -> Fault {
    Fault::Unfit(Box::new(Unfit { violations, answer }))
}

/// What stands in the fence, when one encloses the whole text: models are fond of it.
pub(crate) fn unfenced(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    let (language, inner) = inner.split_once('\n')?;
    let named = language.trim();
    (named.is_empty() || named.eq_ignore_ascii_case("json")).then_some(inner)
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;

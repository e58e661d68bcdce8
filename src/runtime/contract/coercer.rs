//! Changes types where nothing is lost, before the check: `"12"` to 12, 12.0 to 12.
//!
//! Never: a guess. What would lose something comes back unchanged, for the validator to name.

use std::fmt::Display;

use serde_json::Value;

use crate::runtime::FinishReason;

/// A type that was changed without loss. Holds no value: those may be content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coercion {
    /// Path of the field, such as `usage.prompt_tokens`.
    pub field: String,
    /// What it was.
    pub from: &'static str,
    /// What it is now.
    pub to: &'static str,
}

/// Coerces, and remembers what it coerced.
#[derive(Debug, Default)]
pub(super) struct TypeCoercer {
    pub(super) done: Vec<Coercion>,
}

/// Largest whole number up to which a double holds every one.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

impl TypeCoercer {
    /// A whole number that is not negative, from a number or its plain decimal digits.
    pub(super) fn whole(&mut self, field: impl Display, value: &Value) -> Option<u64> {
        match value {
            Value::Number(number) => number.as_u64().or_else(|| {
                let whole = whole_double(number.as_f64()?)?;
                self.note(field, "decimal number", "integer");
                Some(whole)
            }),
            Value::String(text) => {
                let whole: u64 = text.parse().ok()?;
                // A sign or leading zeros would be lost.
                (whole.to_string() == *text).then_some(())?;
                self.note(field, "string", "integer");
                Some(whole)
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// A string id, from a string or a number.
    pub(super) fn id(&mut self, field: impl Display, value: Value) -> Result<String, Value> {
        match value {
            Value::String(text) => Ok(text),
            Value::Number(number) => {
                self.note(field, "number", "string");
                Ok(number.to_string())
            }
            other => Err(other),
        }
    }

    /// A tool's arguments as text, from text or from the object that it would spell.
    pub(super) fn arguments(&mut self, field: impl Display, value: Value) -> Result<String, Value> {
        match value {
            Value::String(text) => Ok(text),
            object @ Value::Object(_) => {
                self.note(field, "object", "string");
                Ok(object.to_string())
            }
            other => Err(other),
        }
    }

    /// A finish reason, from its own name or another provider's name for the same.
    pub(super) fn finish_reason(&mut self, raw: &str) -> Option<FinishReason> {
        let (reason, from) = match raw {
            "stop" => return Some(FinishReason::Stop),
            "length" => return Some(FinishReason::Length),
            "content_filter" => return Some(FinishReason::ContentFilter),
            "tool_calls" => return Some(FinishReason::ToolCalls),
            "function_call" => (FinishReason::ToolCalls, "function_call"),
            "eos_token" => (FinishReason::Stop, "eos_token"),
            "end_turn" => (FinishReason::Stop, "end_turn"),
            "max_tokens" => (FinishReason::Length, "max_tokens"),
            "sensitive" => (FinishReason::ContentFilter, "sensitive"),
            "safety" => (FinishReason::ContentFilter, "safety"),
            "output_sensitive" => (FinishReason::ContentFilter, "output_sensitive"),
            _ => return None,
        };
        self.note("finish_reason", from, reason.as_str());
        Some(reason)
    }

    fn note(&mut self, field: impl Display, from: &'static str, to: &'static str) {
        self.done.push(Coercion {
            field: field.to_string(),
            from,
            to,
        });
    }
}

fn whole_double(number: f64) -> Option<u64> {
    let exact = (0.0..=EXACT_MAX).contains(&number) && number.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 0 to 2^53"
    )]
    exact.then_some(number as u64)
}

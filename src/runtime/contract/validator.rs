//! The rules of output contract 1.0: presence, type, range, enumeration.
//!
//! Goes through every field even after the first violation. Never: content in a violation; values
//! are described, not repeated.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::{CONTENT_CHARS_MAX, Coercion, Draft, DraftUsage, coercer::TypeCoercer};
use crate::{
    contract::Violation,
    runtime::{Fault, FinishReason, ModelAnswer, ModelName, ToolCall, Usage},
};

/// Longest finish reason that a violation repeats, in bytes: beyond it may be anything.
const REASON_SHOWN_MAX: usize = 32;
const COUNTER: &str = "a whole number that is not negative";

#[derive(Debug, Default)]
pub(super) struct SchemaValidator {
    coercer: TypeCoercer,
    violations: Vec<Violation>,
}

impl SchemaValidator {
    pub(super) fn into_coercions(self) -> Vec<Coercion> {
        self.coercer.done
    }

    pub(super) fn answer(&mut self, draft: Draft) -> Result<ModelAnswer, Fault> {
        // Whoever broke off owes no complete answer: that is a failure to retry, not a violation.
        if let Some(reason) = broken_off(&draft.finish_reason) {
            return Err(Fault::Incomplete { reason });
        }
        let calls_tools = matches!(&draft.tool_calls, Value::Array(calls) if !calls.is_empty());
        let content = self.content(draft.content, calls_tools);
        let model = self.model(draft.model);
        let usage = self.usage(draft.usage);
        let finish_reason = self.finish_reason(&draft.finish_reason);
        let tool_calls = self.tool_calls(draft.tool_calls);
        let citations = self.citations(draft.citations);
        match (content, model, usage, finish_reason) {
            (Some(content), Some(model), Some(usage), Some(finish_reason))
                if self.violations.is_empty() =>
            {
                Ok(ModelAnswer {
                    content,
                    json: None,
                    model,
                    usage,
                    finish_reason,
                    tool_calls,
                    citations,
                    metadata: draft.metadata,
                })
            }
            _ => Err(Fault::Contract(std::mem::take(&mut self.violations))),
        }
    }

    fn content(&mut self, value: Value, calls_tools: bool) -> Option<String> {
        match value {
            Value::Null if calls_tools => Some(String::new()),
            Value::String(text) if within_chars(&text, CONTENT_CHARS_MAX) => Some(text),
            other => self.violated("content", "a string of at most 128000 characters", &other),
        }
    }

    fn model(&mut self, value: Value) -> Option<ModelName> {
        let raw = match self.coercer.id("model", value) {
            Ok(raw) => raw,
            Err(other) => return self.violated("model", ModelName::EXPECTED, &other),
        };
        match raw.parse() {
            Ok(name) => Some(name),
            Err(_) => self.violated("model", ModelName::EXPECTED, &Value::String(raw)),
        }
    }

    fn usage(&mut self, usage: DraftUsage) -> Option<Usage> {
        let (prompt, completion, total) = match usage {
            DraftUsage::Missing => return self.violated("usage", "an object", &Value::Null),
            DraftUsage::NoObject(other) => return self.violated("usage", "an object", &other),
            DraftUsage::Counters {
                prompt,
                completion,
                total,
            } => (prompt, completion, total),
        };
        let before = self.violations.len();
        let prompt = self.counter("usage.prompt_tokens", &prompt);
        let completion = self.counter("usage.completion_tokens", &completion);
        let total = self.counter("usage.total_tokens", &total);
        if self.violations.len() > before {
            return None;
        }
        self.filled(prompt, completion, total)
    }

    /// `None` when the counter is absent and, with a violation noted, when it is no counter.
    fn counter(&mut self, field: &'static str, value: &Value) -> Option<u64> {
        if value.is_null() {
            return None;
        }
        let whole = self.coercer.whole(field, value);
        whole.or_else(|| self.violated(field, COUNTER, value))
    }

    fn filled(
        &mut self,
        prompt: Option<u64>,
        completion: Option<u64>,
        total: Option<u64>,
    ) -> Option<Usage> {
        let rest = |part: Option<u64>| total?.checked_sub(part?);
        let sum = || prompt?.checked_add(completion?);
        let prompt_tokens = prompt.or_else(|| rest(completion));
        let completion_tokens = completion.or_else(|| rest(prompt));
        let total_tokens = total.or_else(sum);
        for (field, counter) in [
            ("usage.prompt_tokens", prompt_tokens),
            ("usage.completion_tokens", completion_tokens),
            ("usage.total_tokens", total_tokens),
        ] {
            if counter.is_none() {
                self.violated::<u64>(field, COUNTER, &Value::Null);
            }
        }
        Some(Usage {
            prompt_tokens: prompt_tokens?,
            completion_tokens: completion_tokens?,
            total_tokens: total_tokens?,
        })
    }

    fn finish_reason(&mut self, value: &Value) -> Option<FinishReason> {
        const EXPECTED: &str = "one of stop, length, content_filter, tool_calls";
        match value {
            Value::String(raw) => self.coercer.finish_reason(raw).or_else(|| {
                let shown = if raw.len() <= REASON_SHOWN_MAX {
                    format!("{raw:?}")
                } else {
                    described(value)
                };
                self.violations
                    .push(Violation::new("finish_reason", EXPECTED, shown));
                None
            }),
            other => self.violated("finish_reason", EXPECTED, other),
        }
    }

    fn tool_calls(&mut self, value: Value) -> Vec<ToolCall> {
        let calls = self.list("tool_calls", value).into_iter().enumerate();
        calls
            .filter_map(|(index, call)| match call {
                Value::Object(call) => self.tool_call(&format!("tool_calls[{index}]"), call),
                other => self.violated(format_args!("tool_calls[{index}]"), "an object", &other),
            })
            .collect()
    }

    fn tool_call(&mut self, at: &str, mut call: Map<String, Value>) -> Option<ToolCall> {
        let mut function = match taken(&mut call, "function") {
            Value::Object(function) => function,
            _ => Map::new(),
        };
        let id = self
            .coercer
            .id(format_args!("{at}.id"), taken(&mut call, "id"));
        let id = self.read(format_args!("{at}.id"), id);
        let name = match taken(&mut function, "name") {
            Value::String(name) if !name.is_empty() => Some(name),
            other => self.violated(
                format_args!("{at}.function.name"),
                "a string that is not empty",
                &other,
            ),
        };
        let arguments_at = format!("{at}.function.arguments");
        let arguments = taken(&mut function, "arguments");
        let arguments = self.coercer.arguments(&arguments_at, arguments);
        let arguments = self.read(&arguments_at, arguments);
        Some(ToolCall {
            id: id?,
            name: name?,
            arguments: arguments?,
        })
    }

    fn read(&mut self, field: impl Display, text: Result<String, Value>) -> Option<String> {
        text.map_or_else(|other| self.violated(field, "a string", &other), Some)
    }

    fn citations(&mut self, value: Value) -> Vec<Map<String, Value>> {
        let citations = self.list("citations", value).into_iter().enumerate();
        citations
            .filter_map(|(index, citation)| match citation {
                Value::Object(citation) => Some(citation),
                other => self.violated(format_args!("citations[{index}]"), "an object", &other),
            })
            .collect()
    }

    fn list(&mut self, field: &'static str, value: Value) -> Vec<Value> {
        match value {
            Value::Null => Vec::new(),
            Value::Array(items) => items,
            other => self.violated(field, "an array", &other).unwrap_or_default(),
        }
    }

    /// Notes a violation; `None` stands for the value that is not there.
    fn violated<T>(&mut self, field: impl Display, expected: &str, actual: &Value) -> Option<T> {
        let violation = Violation::new(field.to_string(), expected, described(actual));
        self.violations.push(violation);
        None
    }
}

/// The reason, when it says that the provider itself did not finish.
fn broken_off(finish_reason: &Value) -> Option<&'static str> {
    match finish_reason {
        Value::Null => Some("null"),
        Value::String(raw) => match raw.as_str() {
            "" | "none" => Some("null"),
            "abort" => Some("abort"),
            "error" => Some("error"),
            "network_error" => Some("network_error"),
            _ => None,
        },
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn within_chars(text: &str, max: usize) -> bool {
    // Bytes bound characters from above, so that a short text is not counted.
    text.len() <= max || text.chars().count() <= max
}

fn taken(object: &mut Map<String, Value>, key: &str) -> Value {
    object.get_mut(key).map(Value::take).unwrap_or_default()
}

/// What `value` is, without what it says.
fn described(value: &Value) -> String {
    match value {
        Value::Null => "null or nothing".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("a string of {} characters", text.chars().count()),
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

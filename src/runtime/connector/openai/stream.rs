//! The chunks of a streamed answer, folded into the response that would have come whole.
//!
//! Whatever reads a whole response reads the folded one too, so that both ways end in the same
//! draft. A whole response among the chunks, which some servers send last and others instead of
//! any, adds what no chunk has said. Never: a judgement of the answer.

use serde_json::{Map, Value, json};

use super::{refusal, tool_calls::ToolCalls, wire};
use crate::runtime::{
    Fault,
    connector::{
        assembly::Assembler,
        fields::{object, object_in, taken},
    },
    contract::Draft,
    stream::Delta,
};

/// What ends a stream, and is no JSON.
const DONE: &[u8] = b"[DONE]";

/// Fields beside the choices that a whole response has too.
const KEPT: [&str; 4] = ["id", "model", "base_resp", "output_sensitive"];

/// The answer as far as it has come.
#[derive(Default)]
pub(in super::super) struct Chunks {
    response: Map<String, Value>,
    content: Option<String>,
    reasoning: String,
    refusal: String,
    tool_calls: ToolCalls,
    annotations: Vec<Value>,
    usage: Value,
    finish_reason: Value,
    done: bool,
}

impl Chunks {
    /// Whether this is the mark that nothing more comes.
    pub(in super::super) fn is_end(&mut self, data: &[u8]) -> bool {
        self.done |= data.trim_ascii() == DONE;
        self.done
    }

    /// Takes a chunk in that is no error; what it adds to the answer.
    pub(in super::super) fn fold(&mut self, mut chunk: Map<String, Value>) -> Vec<Delta> {
        for key in KEPT {
            let value = taken(&mut chunk, key);
            if !value.is_null() && value != "" {
                self.response.insert(key.to_owned(), value);
            }
        }
        let usage = taken(&mut chunk, "usage");
        // Some servers send zeros until they have counted.
        if self.usage.is_null() || counts(&usage) {
            self.usage = usage;
        }
        let choices = match taken(&mut chunk, "choices") {
            Value::Array(choices) => choices,
            _ => Vec::new(),
        };
        let mut first = choices.into_iter().map(object).filter(is_first);
        first.next().map_or_else(Vec::new, |it| self.choice(it))
    }

    fn choice(&mut self, mut choice: Map<String, Value>) -> Vec<Delta> {
        let reason = taken(&mut choice, "finish_reason");
        if !reason.is_null() && reason != "" {
            self.finish_reason = reason;
        }
        match (taken(&mut choice, "message"), taken(&mut choice, "delta")) {
            (Value::Object(message), _) => self.whole(message),
            (_, Value::Object(delta)) => self.add(delta),
            _ => Vec::new(),
        }
    }

    /// A whole message repeats what the chunks before it said, if there were any.
    fn whole(&mut self, mut message: Map<String, Value>) -> Vec<Delta> {
        let spoke = |text: &Option<String>| text.as_ref().is_some_and(|it| !it.is_empty());
        for (known, keys) in [
            (!self.reasoning.is_empty(), &wire::REASONING[..]),
            (spoke(&self.content), &["content", "refusal"]),
            (!self.refusal.is_empty(), &["content", "refusal"]),
            (!self.tool_calls.is_empty(), &["tool_calls"]),
            (!self.annotations.is_empty(), &["annotations"]),
        ] {
            for key in keys.iter().filter(|_| known) {
                taken(&mut message, key);
            }
        }
        self.add(message)
    }

    fn add(&mut self, mut delta: Map<String, Value>) -> Vec<Delta> {
        let reasoning = wire::reasoning(&mut delta).unwrap_or_default();
        self.reasoning.push_str(&reasoning);
        let mut said = String::new();
        if let Value::String(content) = wire::text(taken(&mut delta, "content")) {
            self.content.get_or_insert_default().push_str(&content);
            said.push_str(&content);
        }
        if let Value::String(refusal) = taken(&mut delta, "refusal") {
            self.refusal.push_str(&refusal);
            said.push_str(&refusal);
        }
        if let Value::Array(calls) = taken(&mut delta, "tool_calls") {
            calls.into_iter().for_each(|call| self.tool_calls.add(call));
        }
        if let Value::Array(annotations) = taken(&mut delta, "annotations") {
            self.annotations.extend(annotations);
        }
        let deltas = [Delta::Reasoning(reasoning), Delta::Content(said)];
        deltas.into_iter().filter(|it| !it.is_empty()).collect()
    }

    /// Whether the model has said anything.
    pub(in super::super) fn has_begun(&self) -> bool {
        self.content.is_some() || !self.reasoning.is_empty()
    }

    /// Ends the answer, for a reason that no choice gives.
    pub(in super::super) fn finish(&mut self, reason: &str) {
        self.finish_reason = reason.into();
    }

    /// The response that would have come whole.
    pub(in super::super) fn into_response(self) -> Map<String, Value> {
        let mut response = self.response;
        let mut message = Map::new();
        // Nothing but a refusal is no content.
        let content = self
            .content
            .filter(|it| !it.is_empty() || self.refusal.is_empty());
        message.insert("content".to_owned(), content.into());
        for (key, text) in [("refusal", self.refusal), ("reasoning", self.reasoning)] {
            if !text.is_empty() {
                message.insert(key.to_owned(), text.into());
            }
        }
        message.insert("tool_calls".to_owned(), self.tool_calls.into_value());
        message.insert("annotations".to_owned(), self.annotations.into());
        let choice = json!({"message": message, "finish_reason": self.finish_reason});
        response.insert("choices".to_owned(), Value::Array(vec![choice]));
        response.insert("usage".to_owned(), self.usage);
        response
    }
}

impl Assembler for Chunks {
    fn take(&mut self, data: &[u8]) -> Result<Vec<Delta>, Fault> {
        if self.is_end(data) {
            return Ok(Vec::new());
        }
        let chunk = object_in(data)?;
        match chunk.get("error") {
            // An error beside a choice is none, as in a whole response.
            Some(error) if !error.is_null() && !wire::has_choice(&chunk) => {
                Err(refusal::under_success(error))
            }
            Some(_) | None => Ok(self.fold(chunk)),
        }
    }

    fn is_over(&self) -> bool {
        self.done
    }

    fn has_ended(&self) -> bool {
        self.done || !self.finish_reason.is_null()
    }

    fn is_whole(&self) -> bool {
        !self.finish_reason.is_null() && counts(&self.usage)
    }

    fn draft(self) -> Result<Draft, Fault> {
        wire::draft(self.into_response())
    }
}

/// Only one choice is asked for.
fn is_first(choice: &Map<String, Value>) -> bool {
    matches!(
        choice.get("index").map(Value::as_u64),
        None | Some(None | Some(0))
    )
}

/// Whether a usage counts anything.
fn counts(usage: &Value) -> bool {
    ["prompt_tokens", "completion_tokens"]
        .iter()
        .any(|key| usage.get(key).is_some_and(|it| !it.is_null() && *it != 0))
}

#[cfg(test)]
mod tests;

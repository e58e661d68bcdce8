//! The lines of a streamed answer, folded into the response that would have come whole.
//!
//! Each line brings what the model has said since the one before; the last one says `done` and
//! why, and has the counters. Never: a judgement of the answer.

use serde_json::{Map, Value};

use super::wire;
use crate::runtime::{
    Fault, ModelCall,
    connector::{
        assembly::Assembler,
        fields::{object, object_in, taken},
    },
    contract::Draft,
    stream::Delta,
};

/// The answer as far as it has come.
pub(super) struct Parts<'c> {
    call: &'c ModelCall,
    cap: usize,
    content: Option<String>,
    thinking: String,
    tool_calls: Vec<Value>,
    /// The last line, once it has come.
    last: Option<Map<String, Value>>,
}

impl<'c> Parts<'c> {
    /// Nothing yet of an answer to `call` of `cap` bytes at most.
    pub(super) const fn of(call: &'c ModelCall, cap: usize) -> Self {
        Self {
            call,
            cap,
            content: None,
            thinking: String::new(),
            tool_calls: Vec::new(),
            last: None,
        }
    }

    fn add(&mut self, mut message: Map<String, Value>) -> Result<Vec<Delta>, Fault> {
        let mut text = |key| match taken(&mut message, key) {
            Value::String(text) => Some(text),
            _ => None,
        };
        let (thinking, content) = (text("thinking").unwrap_or_default(), text("content"));
        self.thinking.push_str(&thinking);
        if let Some(content) = &content {
            self.content.get_or_insert_default().push_str(content);
        }
        // Every line repeats model and time, so what may not grow is the answer.
        if self.thinking.len() + self.content.as_ref().map_or(0, String::len) > self.cap {
            return Err(Fault::BodyTooLarge { cap: self.cap });
        }
        if let Value::Array(calls) = taken(&mut message, "tool_calls") {
            self.tool_calls.extend(calls);
        }
        let deltas = [
            Delta::Reasoning(thinking),
            Delta::Content(content.unwrap_or_default()),
        ];
        Ok(deltas.into_iter().filter(|it| !it.is_empty()).collect())
    }
}

impl Assembler for Parts<'_> {
    fn take(&mut self, line: &[u8]) -> Result<Vec<Delta>, Fault> {
        let mut response = object_in(line)?;
        if wire::tells_of_failure(&response) {
            return Err(wire::failed_under_success());
        }
        let deltas = self.add(object(taken(&mut response, "message")))?;
        if response.get("done") == Some(&Value::Bool(true)) {
            self.last = Some(response);
        }
        Ok(deltas)
    }

    fn is_over(&self) -> bool {
        self.last.is_some()
    }

    fn has_ended(&self) -> bool {
        self.is_over()
    }

    fn is_whole(&self) -> bool {
        self.is_over()
    }

    fn draft(self) -> Result<Draft, Fault> {
        let mut message = Map::new();
        message.insert("content".to_owned(), self.content.into());
        if !self.thinking.is_empty() {
            message.insert("thinking".to_owned(), self.thinking.into());
        }
        if !self.tool_calls.is_empty() {
            message.insert("tool_calls".to_owned(), self.tool_calls.into());
        }
        let mut response = self.last.unwrap_or_default();
        response.insert("message".to_owned(), message.into());
        Ok(wire::draft(self.call, &mut response))
    }
}

#[cfg(test)]
mod tests;

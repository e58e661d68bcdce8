//! What a model answered, once it holds output contract 1.0.
//!
//! Never: made from anything but a checked draft; the fields need no second look.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use super::ModelName;

/// An answer that holds the output contract.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct ModelAnswer {
    /// What the model says; at most 128,000 characters, empty when it only calls tools.
    pub content: String,
    /// The content as a value, when the call asked for JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<Box<Value>>,
    /// The model that answered, as the provider names it.
    pub model: ModelName,
    /// What the call consumed.
    pub usage: Usage,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// Tools that the model wants called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Sources that the model names, in the provider's own shape.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Map<String, Value>>,
    /// What else the provider tells.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl ModelAnswer {
    /// What the provider calls this answer, if it told.
    #[must_use]
    pub fn response_id(&self) -> Option<&str> {
        self.metadata.get("response_id")?.as_str()
    }
}

impl fmt::Debug for ModelAnswer {
    /// Everything but the words: an answer never reaches a log by way of `{:?}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelAnswer")
            .field("content_bytes", &self.content.len())
            .field("model", &self.model)
            .field("usage", &self.usage)
            .field("finish_reason", &self.finish_reason)
            .field("tool_calls", &self.tool_calls.len())
            .field("citations", &self.citations.len())
            .finish_non_exhaustive()
    }
}

/// Tokens that a call consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Tokens of the question.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub completion_tokens: u64,
    /// Tokens in all, as the provider counts them.
    pub total_tokens: u64,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It had said everything.
    Stop,
    /// It reached the longest answer allowed.
    Length,
    /// The provider cut it for what it said.
    ContentFilter,
    /// It waits for the outcome of tools.
    ToolCalls,
}

impl FinishReason {
    /// The reason as it stands in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::ToolCalls => "tool_calls",
        }
    }
}

/// One tool that the model wants called.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct ToolCall {
    /// What the outcome is to be labelled with.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments as the model wrote them: meant as JSON, not promised to be.
    pub arguments: String,
}

impl fmt::Debug for ToolCall {
    /// Id and name: arguments are content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolCall({} {})", self.id, self.name)
    }
}

//! `/api/chat` on the wire: a call to its request, a response to a draft.
//!
//! Never: a judgement of the answer; the output contract makes that.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::runtime::{
    Fault, MaxTokens, ModelCall, Role, Temperature,
    connector::{
        estimate,
        fields::{object, object_in, taken},
        tools::{self, Tool},
    },
    contract::{AnswerShape, Draft, DraftUsage},
    fault::{HttpStatus, Refusal},
};

/// How the model generates; also what is sent for a call that does not say.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<Temperature>,
    /// Longest answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) num_predict: Option<MaxTokens>,
}

#[derive(Serialize)]
struct Request<'c> {
    model: &'c str,
    messages: Vec<Message<'c>>,
    // The server streams unless told not to.
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'c>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'c>>,
    options: Options,
}

/// What the server is told of the form of the answer.
#[derive(Serialize)]
#[serde(untagged)]
enum Format<'c> {
    Named(&'static str),
    Schema(&'c Value),
}

impl<'c> Format<'c> {
    fn of(shape: &'c AnswerShape) -> Option<Self> {
        match shape {
            AnswerShape::Text => None,
            AnswerShape::Json => Some(Self::Named("json")),
            AnswerShape::Schema(schema) => Some(Self::Schema(schema.source())),
        }
    }
}

#[derive(Serialize)]
struct Message<'c> {
    role: Role,
    content: &'c str,
}

pub(super) fn request(call: &ModelCall, defaults: Options, shape: &AnswerShape) -> Vec<u8> {
    let messages = call.messages.iter().map(|message| Message {
        role: message.role,
        content: &message.content,
    });
    let request = Request {
        model: call.model.as_str(),
        messages: messages.collect(),
        stream: call.tokens.is_some(),
        format: Format::of(shape),
        tools: tools::of(call),
        options: Options {
            temperature: call.temperature.or(defaults.temperature),
            num_predict: call.max_tokens.or(defaults.num_predict),
        },
    };
    serde_json::to_vec(&request).expect("texts and numbers can always be written as JSON")
}

/// The response in `body` to `call`, as a draft.
///
/// # Errors
/// [`Fault::Contract`] when there is no JSON object; the server's own fault when the body is an
/// error.
pub(in super::super) fn read(call: &ModelCall, body: &[u8]) -> Result<Draft, Fault> {
    let mut response = object_in(body)?;
    if tells_of_failure(&response) {
        return Err(failed_under_success());
    }
    Ok(draft(call, &mut response))
}

/// Whether the server says that it failed.
pub(super) fn tells_of_failure(response: &Map<String, Value>) -> bool {
    response.get("error").is_some_and(|error| !error.is_null())
}

/// Generation failed after the server had begun to answer.
pub(super) fn failed_under_success() -> Fault {
    Fault::Server(Refusal {
        status: HttpStatus(200),
        code: None,
        retry_after: None,
    })
}

/// A response that is no error, as a draft.
pub(super) fn draft(call: &ModelCall, response: &mut Map<String, Value>) -> Draft {
    let mut message = object(taken(response, "message"));
    let mut metadata = Map::new();
    if let Value::String(thinking) = taken(&mut message, "thinking") {
        metadata.insert(
            "reasoning_chars".to_owned(),
            thinking.chars().count().into(),
        );
    }
    let content = taken(&mut message, "content");
    let usage = usage(call, &content, response, &mut metadata);
    let tool_calls = tool_calls(taken(&mut message, "tool_calls"));
    Draft {
        finish_reason: finish_reason(response, &tool_calls),
        content,
        model: taken(response, "model"),
        usage,
        tool_calls,
        citations: Value::Null,
        metadata,
    }
}

/// `null` stands for an answer that was broken off, as everywhere.
fn finish_reason(response: &mut Map<String, Value>, tool_calls: &Value) -> Value {
    let calls_tools = matches!(tool_calls, Value::Array(calls) if !calls.is_empty());
    match (taken(response, "done"), taken(response, "done_reason")) {
        (Value::Bool(true), Value::String(reason)) => match reason.as_str() {
            // The server has no reason of its own for it.
            "stop" if calls_tools => "tool_calls".into(),
            // A model came into memory or left it, and said nothing.
            "load" | "unload" => Value::Null,
            _ => reason.into(),
        },
        // Absent when the process that generates went away.
        (Value::Bool(true), reason) => reason,
        // Generation was aborted inside the server, which still answers 200.
        _ => Value::Null,
    }
}

/// The server leaves a counter out when it is zero, and that of the question also when it had the
/// question in its cache. Zero would be a lie then; an estimate says that it is one.
fn usage(
    call: &ModelCall,
    content: &Value,
    response: &mut Map<String, Value>,
    metadata: &mut Map<String, Value>,
) -> DraftUsage {
    let mut counter = |key, estimate: &dyn Fn() -> Value| match taken(response, key) {
        Value::Null => {
            estimate::mark(metadata);
            estimate()
        }
        counted => counted,
    };
    DraftUsage::Counters {
        prompt: counter("prompt_eval_count", &|| estimate::asked(call)),
        completion: counter("eval_count", &|| estimate::answered(content)),
        total: Value::Null,
    }
}

/// Older servers give a tool call no id.
fn tool_calls(mut calls: Value) -> Value {
    let each = calls.as_array_mut().into_iter().flatten();
    for (index, call) in each.enumerate() {
        if let Value::Object(call) = call {
            call.entry("id")
                .or_insert_with(|| format!("call_{index}").into());
        }
    }
    calls
}

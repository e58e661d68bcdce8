//! MiniMax on the wire: OpenAI's shapes with what it adds to them.
//!
//! Never: a judgement of the answer; the output contract makes that.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{code::Code, refusal};
use crate::runtime::{
    Fault, ModelCall,
    config::MiniMaxRoute,
    connector::{fields::object_in, openai},
    contract::Draft,
};

#[derive(Serialize)]
struct Request<'c> {
    #[serde(flatten)]
    chat: openai::Request<'c>,
    /// Keeps what the model thinks out of the content; the native route has no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_split: Option<bool>,
}

pub(super) fn request(
    call: &ModelCall,
    defaults: openai::Defaults,
    route: MiniMaxRoute,
) -> Vec<u8> {
    let request = Request {
        chat: openai::Request::of(call, defaults),
        reasoning_split: match route {
            MiniMaxRoute::Native => None,
            MiniMaxRoute::OpenAi => Some(true),
        },
    };
    serde_json::to_vec(&request).expect("texts and numbers can always be written as JSON")
}

/// The first choice of the response in `body`, as a draft.
///
/// # Errors
/// The fault that the body tells of: MiniMax fails under HTTP 200 too.
pub(in super::super) fn read(body: &[u8]) -> Result<Draft, Fault> {
    draft(object_in(body)?)
}

/// The first choice of `response`, as a draft.
///
/// # Errors
/// As [`read`].
pub(super) fn draft(response: Map<String, Value>) -> Result<Draft, Fault> {
    let cut = Code::in_base_resp(&response) == Some(Code::OUTPUT_SENSITIVE);
    // What is left of an answer that was cut is an answer.
    if !(cut && openai::has_choice(&response))
        && let Some(fault) = refusal::under_success(&response)
    {
        return Err(fault);
    }
    let flagged = response.get("output_sensitive") == Some(&Value::Bool(true));
    let mut draft = openai::draft(response)?;
    if cut || flagged {
        filtered(&mut draft);
    }
    without_reasoning(&mut draft);
    Ok(draft)
}

/// Nothing may be left of the answer; the contract wants a text.
fn filtered(draft: &mut Draft) {
    draft.finish_reason = "content_filter".into();
    if draft.content.is_null() {
        draft.content = "".into();
    }
}

/// Some models write `<think>...</think>` before the answer. What was cut short may have no end
/// of it, and then no answer.
fn without_reasoning(draft: &mut Draft) {
    let split = draft.content.as_str().and_then(|content| {
        let thought = content.trim_start().strip_prefix("<think>")?;
        let (thought, answer) = thought.split_once("</think>").unwrap_or((thought, ""));
        Some((thought.chars().count(), answer.trim_start().to_owned()))
    });
    if let Some((chars, answer)) = split {
        noted(&mut draft.metadata, chars);
        draft.content = answer.into();
    }
}

fn noted(metadata: &mut Map<String, Value>, reasoning_chars: usize) {
    metadata.insert("reasoning_chars".to_owned(), reasoning_chars.into());
}

//! What came of a call, as an observation or as one sentence on why nothing came of it.

use rmcp::{
    model::{CallToolResponse, CallToolResult, ContentBlock, ResourceContents},
    service::ServiceError,
};
use serde_json::{Value, json};

use crate::handler::agent::tools::ToolFailed;

/// Longest sentence of a server that is repeated, in characters.
const SENTENCE_CHARS_MAX: usize = 300;

/// Reads what `server` answered.
///
/// # Errors
/// It says that nothing came of it, or wants something that nobody here can give.
pub(super) fn of(server: &str, answer: CallToolResponse) -> Result<Value, ToolFailed> {
    match answer {
        CallToolResponse::Complete(result) if result.is_error == Some(true) => {
            Err(failed(&said(&result)))
        }
        CallToolResponse::Complete(result) => Ok(observed(result)),
        CallToolResponse::InputRequired(_) => Err(failed(&format!(
            "{server} wants to ask a person, and there is none"
        ))),
        _ => Err(failed(&format!(
            "{server} wants to be asked again for its answer, which is not done here"
        ))),
    }
}

/// What is told of a call that was not answered.
pub(super) fn unanswered(server: &str, error: &ServiceError) -> ToolFailed {
    match error {
        ServiceError::McpError(error) => failed(&error.message),
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => failed(&format!(
            "{server} went away in the middle of it; whether it was done is not known"
        )),
        other => failed(&format!("{server} did not answer: {other}")),
    }
}

/// One sentence, on one line and cut to a readable length.
pub(super) fn failed(sentence: &str) -> ToolFailed {
    let mut line = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(SENTENCE_CHARS_MAX) {
        line.truncate(end);
        line.push_str("...");
    }
    ToolFailed(line)
}

/// The structured content, if there is some; else the text, or each part of several.
fn observed(result: CallToolResult) -> Value {
    if let Some(structured) = result.structured_content {
        return structured;
    }
    let mut parts: Vec<_> = result.content.into_iter().map(part).collect();
    match parts.len() {
        0 => Value::Null,
        1 => parts.remove(0),
        _ => Value::Array(parts),
    }
}

/// Text as it is; of anything else, what it is.
fn part(block: ContentBlock) -> Value {
    match block {
        ContentBlock::Text(text) => text.text.into(),
        ContentBlock::Image(image) => media("image", &image.mime_type, image.data.len()),
        ContentBlock::Audio(audio) => media("audio", &audio.mime_type, audio.data.len()),
        ContentBlock::ResourceLink(link) => {
            json!({"type": "link", "uri": link.uri, "name": link.name})
        }
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                json!({"type": "text", "uri": uri, "text": text})
            }
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                json!({"type": "data", "uri": uri, "base64_chars": blob.len()})
            }
            _ => unknown(),
        },
        _ => unknown(),
    }
}

/// What a later version of the protocol may know.
fn unknown() -> Value {
    json!({"type": "unknown"})
}

fn media(kind: &str, mime_type: &str, base64_chars: usize) -> Value {
    json!({"type": kind, "mime_type": mime_type, "base64_chars": base64_chars})
}

/// The words of an answer that is an error.
fn said(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let said = texts.collect::<Vec<_>>().join(" ");
    match said.trim() {
        "" => "the tool failed and does not say why".to_owned(),
        said => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(result: Value) -> Result<Value, ToolFailed> {
        let result = serde_json::from_value(result).expect("a result");
        of("git", CallToolResponse::Complete(result))
    }

    #[test]
    fn an_answer_is_its_structured_content_else_its_text_else_its_parts() {
        let text = json!({"type": "text", "text": "4"});
        let both = json!({"content": [text], "structuredContent": {"sum": 4}});
        assert_eq!(answered(both), Ok(json!({"sum": 4})));
        assert_eq!(answered(json!({"content": [text]})), Ok("4".into()));
        assert_eq!(answered(json!({"content": []})), Ok(Value::Null));
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let told = json!([
            "4",
            {"type": "image", "mime_type": "image/png", "base64_chars": 4},
        ]);
        assert_eq!(answered(json!({"content": [text, image]})), Ok(told));
    }

    #[test]
    fn an_error_is_one_short_sentence() {
        let text =
            |text: &str| json!({"isError": true, "content": [{"type": "text", "text": text}]});
        let failed = answered(text("no such\n  file")).expect_err("an error");
        assert_eq!(failed.0, "no such file");
        let failed = answered(text(&"é".repeat(1_000))).expect_err("an error");
        assert_eq!(failed.0.chars().count(), SENTENCE_CHARS_MAX + 3);
        let silent = answered(json!({"isError": true, "content": []}));
        assert!(silent.expect_err("an error").0.contains("does not say why"));
        let gone = unanswered("git", &ServiceError::TransportClosed);
        assert!(gone.0.contains("git went away"), "{gone}");
    }
}

//! OpenAI's chat completions on the wire: a call to its request, a response to a draft.
//!
//! Never: a judgement of the answer; the output contract makes that.

use serde::Serialize;
use serde_json::{Map, Value};

use super::refusal;
use crate::runtime::{
    Fault, MaxTokens, ModelCall, Role, Temperature,
    connector::{
        fields::{object, object_in, taken, violated},
        tools::{self, Tool},
    },
    contract::{AnswerShape, Draft, DraftUsage},
};

/// What is sent for a call that does not say.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Defaults {
    pub(in super::super) temperature: Option<Temperature>,
    pub(in super::super) max_tokens: Option<MaxTokens>,
    /// Whether the server is told which JSON is asked for.
    pub(in super::super) send_schema: bool,
    /// Whether a streamed answer is asked to count its tokens.
    pub(in super::super) stream_usage: bool,
}

/// Where servers put what the model thinks.
pub(super) const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

#[derive(Serialize)]
pub(in super::super) struct Request<'c> {
    model: &'c str,
    messages: Vec<Message<'c>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<Temperature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<MaxTokens>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'c>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'c>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

/// Without it no streamed answer says what it consumed.
#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// What the server is told of the form of the answer.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat<'c> {
    JsonObject,
    JsonSchema { json_schema: NamedSchema<'c> },
}

#[derive(Serialize)]
struct NamedSchema<'c> {
    name: &'static str,
    schema: &'c Value,
}

impl<'c> ResponseFormat<'c> {
    fn of(shape: &'c AnswerShape) -> Option<Self> {
        match shape {
            AnswerShape::Text => None,
            AnswerShape::Json => Some(Self::JsonObject),
            AnswerShape::Schema(schema) => Some(Self::JsonSchema {
                json_schema: NamedSchema {
                    name: "answer",
                    schema: schema.source(),
                },
            }),
        }
    }
}

#[derive(Serialize)]
struct Message<'c> {
    role: Role,
    content: &'c str,
}

impl<'c> Request<'c> {
    pub(in super::super) fn of(call: &'c ModelCall, defaults: Defaults) -> Self {
        let messages = call.messages.iter().map(|message| Message {
            role: message.role,
            content: &message.content,
        });
        let counted = call.tokens.is_some() && defaults.stream_usage;
        Self {
            model: call.model.as_str(),
            messages: messages.collect(),
            temperature: call.temperature.or(defaults.temperature),
            max_tokens: call.max_tokens.or(defaults.max_tokens),
            response_format: ResponseFormat::of(&call.answer).filter(|_| defaults.send_schema),
            tools: tools::of(call),
            stream: call.tokens.is_some(),
            stream_options: counted.then_some(StreamOptions {
                include_usage: true,
            }),
        }
    }
}

pub(super) fn request(call: &ModelCall, defaults: Defaults) -> Vec<u8> {
    let request = Request::of(call, defaults);
    serde_json::to_vec(&request).expect("texts and numbers can always be written as JSON")
}

/// The first choice of the response in `body`, as a draft.
///
/// # Errors
/// [`Fault::Contract`] when there is no JSON object or no choice; the server's own fault when the
/// body is an error.
pub(in super::super) fn read(body: &[u8]) -> Result<Draft, Fault> {
    draft(object_in(body)?)
}

/// The first choice of `response`, as a draft.
///
/// # Errors
/// As [`read`].
pub(in super::super) fn draft(mut response: Map<String, Value>) -> Result<Draft, Fault> {
    let choice = match taken(&mut response, "choices") {
        Value::Array(choices) => choices.into_iter().next(),
        _ => None,
    };
    let error = taken(&mut response, "error");
    match choice {
        Some(Value::Object(choice)) => Ok(draft_of(response, choice)),
        _ if !error.is_null() => Err(refusal::under_success(&error)),
        _ => Err(violated("choices", "an array with an object", "none")),
    }
}

fn draft_of(mut response: Map<String, Value>, mut choice: Map<String, Value>) -> Draft {
    let mut message = object(taken(&mut choice, "message"));
    let mut metadata = Map::new();
    if let id @ Value::String(_) = taken(&mut response, "id") {
        metadata.insert("response_id".to_owned(), id);
    }
    if let Some(reasoning) = reasoning(&mut message) {
        let chars = reasoning.chars().count();
        metadata.insert("reasoning_chars".to_owned(), chars.into());
    }
    let mut content = text(taken(&mut message, "content"));
    if let (Value::Null, refusal @ Value::String(_)) = (&content, taken(&mut message, "refusal")) {
        metadata.insert("refusal".to_owned(), Value::Bool(true));
        content = refusal;
    }
    Draft {
        content,
        model: taken(&mut response, "model"),
        usage: usage(taken(&mut response, "usage")),
        finish_reason: taken(&mut choice, "finish_reason"),
        tool_calls: taken(&mut message, "tool_calls"),
        citations: citations(taken(&mut message, "annotations")),
        metadata,
    }
}

/// Whether `response` has anything to say.
pub(in super::super) fn has_choice(response: &Map<String, Value>) -> bool {
    matches!(response.get("choices"), Some(Value::Array(choices)) if !choices.is_empty())
}

/// What the model thinks; a server that says it in two places says the same.
pub(super) fn reasoning(message: &mut Map<String, Value>) -> Option<String> {
    let thoughts = REASONING.map(|key| match taken(message, key) {
        Value::String(text) => text,
        Value::Array(details) => {
            let texts = details.iter().filter_map(|it| it.get("text")?.as_str());
            texts.collect()
        }
        _ => String::new(),
    });
    thoughts.into_iter().find(|it| !it.is_empty())
}

/// Some servers send the content as parts; parts that are all text are one text.
pub(super) fn text(content: Value) -> Value {
    let joined = match &content {
        Value::Array(parts) => parts
            .iter()
            .map(|part| part.get("text").and_then(Value::as_str))
            .collect::<Option<String>>(),
        _ => None,
    };
    joined.map_or(content, Value::String)
}

fn usage(usage: Value) -> DraftUsage {
    match usage {
        Value::Null => DraftUsage::Missing,
        Value::Object(mut counters) => DraftUsage::Counters {
            prompt: taken(&mut counters, "prompt_tokens"),
            completion: taken(&mut counters, "completion_tokens"),
            total: taken(&mut counters, "total_tokens"),
        },
        other => DraftUsage::NoObject(other),
    }
}

fn citations(annotations: Value) -> Value {
    let Value::Array(annotations) = annotations else {
        return Value::Null;
    };
    let cited = annotations
        .into_iter()
        .map(|annotation| taken(&mut object(annotation), "url_citation"))
        .filter(|citation| !citation.is_null());
    Value::Array(cited.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::runtime::{Message as Turn, contract};

    #[tokio::test]
    async fn a_call_is_sent_with_the_defaults_it_leaves_open() {
        let call = ModelCall::new(
            "r-1".parse().expect("valid"),
            "m-1".parse().expect("valid"),
            vec![Turn::system("be brief"), Turn::user("hello")],
            Instant::now(),
        );
        let defaults = Defaults {
            temperature: Temperature::try_from(0.5).ok(),
            max_tokens: None,
            send_schema: true,
            stream_usage: true,
        };
        let sent: Value = serde_json::from_slice(&request(&call, defaults)).expect("JSON");
        let expected = json!({
            "model": "m-1",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hello"},
            ],
            "temperature": 0.5,
            "stream": false,
        });
        assert_eq!(sent, expected);
    }

    fn with_message(message: &Value) -> Vec<u8> {
        let response = json!({
            "id": "c-1",
            "object": "chat.completion",
            "model": "m-1",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": null}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
            "timings": {"unknown": "fields pass"},
        });
        response.to_string().into_bytes()
    }

    fn content(message: &Value) -> String {
        let draft = read(&with_message(message)).expect("a response");
        contract::check(draft, &AnswerShape::Text)
            .answer
            .expect("holds the contract")
            .content
    }

    #[test]
    fn content_comes_as_text_as_parts_or_as_a_refusal() {
        assert_eq!(content(&json!({"content": "hi", "tool_calls": null})), "hi");
        let parts =
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]});
        assert_eq!(content(&parts), "ab");
        assert_eq!(
            content(&json!({"content": null, "refusal": "I will not"})),
            "I will not"
        );
    }

    #[test]
    fn url_annotations_are_citations() {
        let cited = json!({"url": "https://a", "title": "A"});
        let annotations =
            json!([{"type": "url_citation", "url_citation": cited}, {"type": "x"}, 3]);
        let body = with_message(&json!({"content": "hi", "annotations": annotations}));
        let answer = contract::check(read(&body).expect("a response"), &AnswerShape::Text)
            .answer
            .expect("valid");
        assert_eq!(Value::from(answer.citations[0].clone()), cited);
        assert_eq!(answer.metadata["response_id"], "c-1");
    }

    #[test]
    fn what_holds_no_choice_is_a_violation_or_the_servers_own_error() {
        for (body, error_type) in [
            ("", "contract_violation"),
            ("<html>", "contract_violation"),
            ("[]", "contract_violation"),
            ("{}", "contract_violation"),
            (r#"{"choices":null}"#, "contract_violation"),
            (r#"{"choices":[]}"#, "contract_violation"),
            (r#"{"choices":[],"error":{"code":503}}"#, "server_error"),
            (
                r#"{"error":{"code":"insufficient_quota"}}"#,
                "quota_exhausted",
            ),
        ] {
            let fault = read(body.as_bytes()).expect_err(body);
            assert_eq!(fault.error_type(), error_type, "{body}");
        }
        let deep = "[".repeat(100_000);
        assert!(read(deep.as_bytes()).is_err(), "and the stack holds");
    }
}

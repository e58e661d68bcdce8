//! Skills over HTTP: the three steps, whatever befalls the gateway.

mod described;
mod issuer;
pub(crate) mod process;
mod readiness;
mod steps;
mod tokens;
mod whose;

use serde_json::{Value, json};

use crate::fleet::Fleet;

/// Answers as the prompt says; some prompts make it slow, or fail it.
pub(crate) const TRANSLATOR: (&str, &str) = (
    "translator",
    r#"
        stream = true
        [model]
        provider = "simulated"
        answer = "{\"translated_text\": \"ni hao\", \"confidence\": 0.98}"
        [[model.rules]]
        when = "slowly"
        latency = "3s"
        [[model.rules]]
        when = "for ever"
        latency = "10m"
        [[model.rules]]
        when = "word by word"
        answer = "one two three four"
        latency = "2s"
        word_latency = "150ms"
        [[model.rules]]
        when = "badly"
        errors = ["400"]
    "#,
);

pub(crate) const SKILL: &str = "com.example.translate-v1";

/// The skill of the protocol's own example, with this way to show who one is.
pub(crate) fn translate(id: &str, auth: &Value) -> Value {
    json!({
        "protocol": "skill-sharing/1.0",
        "id": id,
        "name": "Translate",
        "version": "1.0.0",
        "capability_type": "text",
        "description": "Translates a text.",
        "provider": {"name": "Example"},
        "inputs": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "target_language": {"type": "string"}},
            "required": ["text", "target_language"],
        },
        "output": {"type": "object"},
        "auth": auth,
        "access": {"visibility": "public"},
        "puruto": {
            "target": "translator",
            "action": "translate",
            "prompt": "Translate into {{ inputs.target_language }}: {{ inputs.text }}",
        },
    })
}

/// The protocol's own example of an invocation, with this text.
pub(crate) fn invocation(text: &str) -> Value {
    json!({
        "caller": {"id": "ifay-instance-001", "type": "ifay", "credentials": {}},
        "skill_id": SKILL,
        "inputs": {"text": text, "target_language": "zh-CN"},
        "context": {"trace_id": "trace-abc-123", "priority": "normal", "timeout_ms": 30000},
    })
}

/// A fleet that translates, for anybody who asks over HTTP.
async fn translating() -> Fleet {
    let fleet = Fleet::of(&[TRANSLATOR]).await;
    fleet.open_to_http(&["translator"]);
    fleet.skill(&translate(SKILL, &json!({"type": "none"})));
    fleet
}

//! The runtime before `aimock`, which answers in OpenAI's and Ollama's forms from fixtures: two
//! readings of the same protocols by people who do not know each other.

use std::fs;

use puruto_fleet::runtime::FinishReason;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    asking::{PLENTY, call, runtime, table},
    streaming::{shown, streamed},
    support::foreign::{aimock, mock::Mock, need},
};

fn fixtures() -> Value {
    let error = |status: u16| json!({"error": {"message": "no", "type": "t"}, "status": status});
    let fixture = |prompt: &str, response: Value| json!({"match": {"userMessage": prompt}, "response": response});
    let nth = |prompt: &str, index: u8, response: Value| {
        let matched = json!({"userMessage": prompt, "sequenceIndex": index});
        json!({"match": matched, "response": response})
    };
    json!({"fixtures": [
        fixture("greet again", json!({"content": "¡Hola de nuevo! 🦀🦀🦀"})),
        fixture("greet", json!({"content": "¡Hola, señor! 🦀"})),
        fixture("search", json!({"toolCalls": [{"name": "search", "arguments": {"query": "db"}}]})),
        fixture("refused", error(401)),
        fixture("absent", error(404)),
        nth("patience", 0, error(503)),
        nth("patience", 1, error(429)),
        nth("patience", 2, json!({"content": "at last"})),
    ]})
}

async fn server(folder: &TempDir) -> Option<Mock> {
    let path = folder.path().join("fixtures.json");
    fs::write(&path, fixtures().to_string()).expect("a file");
    need(aimock(&["--fixtures", path.to_str().expect("text")]).await)
}

#[tokio::test]
async fn both_protocols_are_read_as_others_write_them() {
    let folder = TempDir::new().expect("a folder");
    for (provider, path) in [("openai", "/v1"), ("ollama", "")] {
        // A server each: it counts how often it was asked for the same.
        let Some(server) = server(&folder).await else {
            return;
        };
        let runtime = runtime(&table(provider, &(server.base_url() + path), ""));
        let ask = async |prompt: &str| runtime.call(&call(prompt, PLENTY)).await;

        let greeting = ask("greet").await.expect("an answer");
        let search = ask("search").await.expect("a call of a tool");
        let patient = ask("patience").await.expect("an answer in the end");
        let (said, streamed) = streamed(&runtime, "greet again").await;
        let refused = ask("refused").await.expect_err("refused");
        let absent = ask("absent").await.expect_err("no such model");

        assert_eq!(greeting.content, "¡Hola, señor! 🦀", "{provider}");
        assert_eq!(greeting.finish_reason, FinishReason::Stop);
        assert_eq!(greeting.model.as_str(), "m-1");
        assert_eq!(search.finish_reason, FinishReason::ToolCalls, "{provider}");
        let tool = search.tool_calls.first().expect("a tool");
        assert_eq!(tool.name, "search");
        let arguments: Value = serde_json::from_str(&tool.arguments).expect("JSON");
        assert_eq!(arguments, json!({"query": "db"}));
        assert_eq!(patient.content, "at last", "{provider}");
        let streamed = streamed.expect("an answer in pieces");
        assert_eq!(streamed.content, "¡Hola de nuevo! 🦀🦀🦀", "{provider}");
        assert_eq!(shown(&said), streamed.content);
        assert_eq!((refused.fault.error_type(), refused.attempts), ("auth", 1));
        assert_eq!(
            (absent.fault.error_type(), absent.attempts),
            ("rejected", 1)
        );
    }
}

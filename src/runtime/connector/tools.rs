//! What a model may ask to have called, on the wire: OpenAI's form, which the others took over.
//!
//! Never: a choice for the model; it may also just answer.

use serde::Serialize;

use crate::runtime::{ModelCall, ToolDefinition};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Tool<'c> {
    Function { function: &'c ToolDefinition },
}

/// The tools of `call`.
pub(super) fn of(call: &ModelCall) -> Vec<Tool<'_>> {
    let tools = call.tools.iter();
    tools.map(|function| Tool::Function { function }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::runtime::connector::test_server::{PLENTY, call, connector};

    #[tokio::test]
    async fn every_provider_is_told_of_the_tools_and_of_none_where_there_is_none() {
        let parameters = json!({"type": "object", "properties": {"id": {"type": "string"}}});
        let read = ToolDefinition {
            name: "read".to_owned(),
            description: "Reads a document".to_owned(),
            parameters,
        };
        let told = json!([{"type": "function", "function": read}]);
        let openai = "provider = \"openai\"\nbase_url = \"http://localhost:1/v1\"";
        for table in [openai, "provider = \"minimax\"", "provider = \"ollama\""] {
            let connector = connector(&format!("{table}\nmodel = \"m\"\n"));
            let mut call = call(PLENTY);
            let sent = |call: &ModelCall| {
                let sent = serde_json::from_slice::<Value>(&connector.build(call).0);
                sent.expect("JSON")["tools"].clone()
            };
            assert_eq!(sent(&call), Value::Null, "{table}");
            call.tools = [read.clone()].into();
            assert_eq!(sent(&call), told, "{table}");
        }
    }
}

//! JSON Schemas of the contract, generated from its types.

use schemars::{Schema, schema_for};
use serde_json::json;

use super::{Event, InvocationRequest, InvocationResult, TokenMessage};

/// The schema of an InvocationRequest as a person may type it: `request_id`, `correlation_id` and
/// `caller` may be left out.
#[must_use]
pub fn request_schema() -> Schema {
    let mut schema = schema_for!(InvocationRequest);
    schema.insert("required".to_owned(), json!(["target", "action", "prompt"]));
    schema.insert("additionalProperties".to_owned(), json!(true));
    schema
}

/// The schema of an InvocationResult.
#[must_use]
pub fn result_schema() -> Schema {
    schema_for!(InvocationResult)
}

/// The schema of a message with a piece of an answer.
#[must_use]
pub fn token_schema() -> Schema {
    schema_for!(TokenMessage)
}

/// The schema of what is told of a request.
#[must_use]
pub fn event_schema() -> Schema {
    schema_for!(Event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, schema: &Schema) {
        let root = env!("CARGO_MANIFEST_DIR");
        let path = format!("{root}/config/schemas/{file}");
        let written = std::fs::read_to_string(&path).expect("the schema file is readable");
        let generated = serde_json::to_string_pretty(schema).expect("JSON") + "\n";
        assert!(
            written == generated,
            "{path} is stale; it should be:\n{generated}"
        );
    }

    #[test]
    fn the_schema_files_are_those_of_the_types() {
        check("invocation-request.json", &request_schema());
        check("invocation-result.json", &result_schema());
        check("token-message.json", &token_schema());
        check("event.json", &event_schema());
    }
}

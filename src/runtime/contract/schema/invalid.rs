//! Why a document is no schema, and where in it.

use std::fmt;

use jsonschema::{ValidationError, error::ValidationErrorKind};
use serde_json::Value;

/// Longest explanation, in characters: the library repeats parts of the document.
const WHY_CHARS_MAX: usize = 300;
/// The keywords that can name another document.
const REFERENCES: [&str; 5] = ["$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id"];

/// Why a document is no schema of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSchema {
    /// Where in the document, as a JSON Pointer; empty for the document as a whole.
    pub at: String,
    /// What is wrong there.
    pub why: String,
}

impl InvalidSchema {
    pub(super) fn of(schema: &Value, error: &ValidationError<'_>) -> Self {
        match error.kind() {
            ValidationErrorKind::Referencing(refused) => Self::unresolved(schema, refused),
            _ => Self {
                at: error.instance_path().as_str().to_owned(),
                why: excerpt(&error.to_string()),
            },
        }
    }

    /// The library says which reference it cannot follow, and not where it stands.
    fn unresolved(schema: &Value, refused: &impl fmt::Display) -> Self {
        let said = refused.to_string();
        Self {
            at: reference_named_in(&said, schema, "").unwrap_or_default(),
            why: excerpt(&format!(
                "what it refers to is not in this document, and nothing is fetched: {said}"
            )),
        }
    }
}

impl fmt::Display for InvalidSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, why } = self;
        match at.as_str() {
            "" => f.write_str(why),
            at => write!(f, "{at}: {why}"),
        }
    }
}

impl std::error::Error for InvalidSchema {}

/// Where a reference stands whose text, without its fragment, `said` repeats.
fn reference_named_in(said: &str, value: &Value, at: &str) -> Option<String> {
    let inside = |key: &str, value: &Value| {
        let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        match value {
            Value::String(target) if REFERENCES.contains(&key) => {
                // Within the document the library repeats the fragment, else the document.
                let (document, fragment) = target.split_once('#').unwrap_or((target, ""));
                let named = if document.is_empty() {
                    fragment
                } else {
                    document
                };
                (!named.is_empty() && said.contains(named)).then_some(at)
            }
            value => reference_named_in(said, value, &at),
        }
    };
    match value {
        Value::Object(fields) => fields.iter().find_map(|(key, value)| inside(key, value)),
        Value::Array(items) => {
            let mut numbered = items.iter().enumerate();
            numbered.find_map(|(index, value)| inside(&index.to_string(), value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(WHY_CHARS_MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

//! One way in which a value breaks its contract.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest excerpt of an offending value that a violation repeats.
const ACTUAL_CHARS_MAX: usize = 80;

/// One way in which a value breaks its contract: where, what was allowed, what was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// Path of the field, such as `timeout_sec`; `$` for the document as a whole.
    pub field: String,
    /// What the contract allows there.
    pub expected: String,
    /// What was found, cut short.
    pub actual: String,
}

impl Violation {
    /// A violation at `field`; `actual` is cut to a readable length.
    pub fn new(
        field: impl Into<String>,
        expected: impl Into<String>,
        actual: impl fmt::Display,
    ) -> Self {
        Self {
            field: field.into(),
            expected: expected.into(),
            actual: excerpt(&actual.to_string()),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            expected,
            actual,
        } = self;
        write!(f, "{field}: expected {expected}, got {actual}")
    }
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(ACTUAL_CHARS_MAX) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

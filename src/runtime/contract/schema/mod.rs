//! The JSON Schema that an answer must hold, compiled once.
//!
//! Never: a network or a file system, so that a schema means the same everywhere; or words of the
//! answer in a violation.

mod invalid;
mod violations;

use std::{fmt, sync::Arc};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

pub use self::invalid::InvalidSchema;
use crate::contract::Violation;

/// Most violations that one answer is told.
const VIOLATIONS_MAX: usize = 20;
/// Largest compiled `pattern`, in bytes.
const PATTERN_BYTES_MAX: usize = 10 << 20;

/// A JSON Schema that answers are held against; cheap to clone.
#[derive(Clone)]
pub struct AnswerSchema(Arc<Compiled>);

struct Compiled {
    source: Value,
    validator: Validator,
}

impl AnswerSchema {
    /// The schema that `source` is: of draft 2020-12, unless its `$schema` names another. Formats
    /// are checked where they are known. A `pattern` has neither look-around nor back-references,
    /// so that no answer makes it slow.
    ///
    /// # Errors
    /// Where it is no schema, or refers to one that it does not hold.
    pub fn compile(source: Value) -> Result<Self, InvalidSchema> {
        let options = jsonschema::options()
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES_MAX));
        match options.build(&source) {
            Ok(validator) => Ok(Self(Arc::new(Compiled { source, validator }))),
            Err(error) => Err(InvalidSchema::of(&source, &error)),
        }
    }

    /// The schema as it was written.
    #[must_use]
    pub fn source(&self) -> &Value {
        &self.0.source
    }

    /// In which ways `json`, the answer's content, breaks it: the first twenty.
    pub(crate) fn violations(&self, json: &Value) -> Vec<Violation> {
        self.violations_in("content", json)
    }

    /// In which ways `json`, which stands in the field `root`, breaks it: the first twenty.
    pub(crate) fn violations_in(&self, root: &str, json: &Value) -> Vec<Violation> {
        let errors = self.0.validator.iter_errors(json);
        let violations = errors.flat_map(|error| violations::of(root, &error));
        violations.take(VIOLATIONS_MAX).collect()
    }

    /// Whether `json` holds it.
    pub(crate) fn is_held_by(&self, json: &Value) -> bool {
        self.0.validator.is_valid(json)
    }
}

impl PartialEq for AnswerSchema {
    fn eq(&self, other: &Self) -> bool {
        self.source() == other.source()
    }
}

impl fmt::Debug for AnswerSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnswerSchema({})", self.source())
    }
}

#[cfg(test)]
mod tests;

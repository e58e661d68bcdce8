//! What the library finds wrong with an answer, as violations of the output contract.
//!
//! The schema's own words are repeated, cut to a readable length; the answer's are described.

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind},
    paths::LocationSegment,
};
use serde_json::Value;

use crate::contract::Violation;

/// Longest name of a property in a path, in characters: the model may have made it up.
const NAME_CHARS_MAX: usize = 60;
/// Longest path of a field and longest expectation, in characters.
const WORDS_CHARS_MAX: usize = 200;

/// One violation for each property that is too much, and one for anything else.
pub(super) fn of(root: &str, error: &ValidationError<'_>) -> Vec<Violation> {
    let at = path(root, error);
    let found = error.instance();
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let field = format!("{at}{}", name(property.as_str().unwrap_or_default()));
            vec![violation(&field, "a value, as it is required", "nothing")]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .map(|property| {
                let field = format!("{at}{}", name(property));
                let value = found.get(property).unwrap_or(&Value::Null);
                violation(&field, "no such property", &described(value))
            })
            .collect(),
        kind => vec![violation(&at, &expected(kind), &described(found))],
    }
}

fn violation(field: &str, expected: &str, actual: &str) -> Violation {
    let [field, expected] = [field, expected].map(|words| cut(words, WORDS_CHARS_MAX));
    Violation::new(field, expected, actual)
}

/// `content.items[2].name`, where the root is `content`.
fn path(root: &str, error: &ValidationError<'_>) -> String {
    let mut path = root.to_owned();
    for segment in error.instance_path().segments() {
        path += &match segment {
            LocationSegment::Property(property) => name(&property),
            LocationSegment::Index(index) => format!("[{index}]"),
        };
    }
    path
}

/// `.name`, or `["na me"]` where a point would mislead.
fn name(property: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$');
    let shown = cut(property, NAME_CHARS_MAX);
    if !property.is_empty() && property.chars().all(plain) {
        format!(".{shown}")
    } else {
        format!("[{}]", Value::String(shown))
    }
}

fn expected(kind: &ValidationErrorKind) -> String {
    use ValidationErrorKind as K;
    match kind {
        K::Type { kind } => types(kind),
        K::Enum { options } => one_of(options),
        K::Constant { expected_value } => expected_value.to_string(),
        K::Minimum { limit } => format!("at least {limit}"),
        K::ExclusiveMinimum { limit } => format!("more than {limit}"),
        K::Maximum { limit } => format!("at most {limit}"),
        K::ExclusiveMaximum { limit } => format!("less than {limit}"),
        K::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        K::MinLength { limit } => format!("at least {limit} characters"),
        K::MaxLength { limit } => format!("at most {limit} characters"),
        K::MinItems { limit } => format!("at least {limit} items"),
        K::MaxItems { limit } => format!("at most {limit} items"),
        K::AdditionalItems { limit } => format!("at most {limit} items"),
        K::MinProperties { limit } => format!("at least {limit} properties"),
        K::MaxProperties { limit } => format!("at most {limit} properties"),
        K::Pattern { pattern } => format!("a string that matches {pattern}"),
        K::Format { format } => format!("a string of the format {format}"),
        K::UniqueItems => "items that differ from each other".to_owned(),
        K::FalseSchema => "nothing".to_owned(),
        K::AnyOf { context } | K::OneOfNotValid { context } => {
            format!("what one of the {} schemas allows", context.len())
        }
        K::OneOfMultipleValid { .. } => "what exactly one of the schemas allows".to_owned(),
        // The schema says it better than a sentence could.
        other => format!("what {:?} allows", other.keyword()),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(only) => only.to_string(),
        TypeKind::Multiple(several) => {
            let names: Vec<_> = several.iter().map(|it| it.to_string()).collect();
            names.join(" or ")
        }
    }
}

fn one_of(options: &Value) -> String {
    let options = options.as_array().into_iter().flatten();
    let options: Vec<_> = options.map(Value::to_string).collect();
    format!("one of {}", options.join(", "))
}

fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("a string of {} characters", text.chars().count()),
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::Object(fields) => format!("an object of {} properties", fields.len()),
    }
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

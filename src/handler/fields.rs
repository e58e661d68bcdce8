//! An object, read field by field, with everything that is wrong with it.
//!
//! Never: the words of a value in a violation; what a model or a program says may be anything.

use serde_json::{Map, Value};

use crate::contract::Violation;

/// Longest key that a violation repeats, in bytes.
const NAME_BYTES_MAX: usize = 32;

/// What becomes of a key that nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It is a violation with its name: whoever wrote it is shown it and may correct it.
    Named,
    /// It is a violation without its name, which may say anything and is shown to others.
    Unnamed,
}

/// What is left to read of an object.
pub(super) struct Fields<'v> {
    at: String,
    object: Map<String, Value>,
    unknown: Unknown,
    violations: &'v mut Vec<Violation>,
}

impl<'v> Fields<'v> {
    /// The fields of `value`, which stands at `at`; none where it is no object.
    pub(super) fn of(
        at: &str,
        value: Value,
        unknown: Unknown,
        violations: &'v mut Vec<Violation>,
    ) -> Self {
        let object = match value {
            Value::Object(object) => object,
            other => {
                violations.push(Violation::new(at, "an object", described(&other)));
                Map::new()
            }
        };
        Self {
            at: at.to_owned(),
            object,
            unknown,
            violations,
        }
    }

    /// The fields of `value`, which stands in the field `key` of this object.
    pub(super) fn inside(&mut self, key: &str, value: Value) -> Fields<'_> {
        Fields::of(&self.path(key), value, self.unknown, self.violations)
    }

    /// Where the field `key` stands.
    fn path(&self, key: &str) -> String {
        match self.at.as_str() {
            "$" => key.to_owned(),
            at => format!("{at}.{key}"),
        }
    }

    /// The field, or `null` where it is absent.
    pub(super) fn take(&mut self, key: &str) -> Value {
        self.object.remove(key).unwrap_or_default()
    }

    /// Whether there is such a field.
    pub(super) fn has(&self, key: &str) -> bool {
        self.object.contains_key(key)
    }

    /// The text in a field that must be there.
    pub(super) fn text(&mut self, key: &str, expected: &str) -> Option<String> {
        match self.take(key) {
            Value::String(text) => Some(text),
            other => {
                self.violated(key, expected, &other);
                None
            }
        }
    }

    /// The text in a field that must be there, as `parse` reads it.
    pub(super) fn parsed<T>(
        &mut self,
        key: &str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(key, expected)?;
        let parsed = parse(&text);
        if parsed.is_none() {
            self.violated(key, expected, &text.into());
        }
        parsed
    }

    /// Notes that a field is not what it should be.
    pub(super) fn violated(&mut self, key: &str, expected: &str, actual: &Value) {
        let field = self.path(key);
        self.violations
            .push(Violation::new(field, expected, described(actual)));
    }

    /// How many violations there are by now.
    pub(super) const fn mistakes(&self) -> usize {
        self.violations.len()
    }

    /// Notes every field that nobody took.
    pub(super) fn end(self) {
        for key in self.object.keys() {
            // A key may be anything too.
            let shown = match self.unknown {
                Unknown::Named if is_name(key) => key,
                Unknown::Named | Unknown::Unnamed => "?",
            };
            let field = self.path(shown);
            self.violations
                .push(Violation::new(field, "no such key", "one"));
        }
    }
}

fn is_name(key: &str) -> bool {
    let clean = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    key.len() <= NAME_BYTES_MAX && key.bytes().all(clean)
}

/// What `value` is, without what it says.
pub(super) fn described(value: &Value) -> String {
    match value {
        Value::Null => "null or nothing".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("a string of {} characters", text.chars().count()),
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::Object(fields) => format!("an object of {} keys", fields.len()),
    }
}

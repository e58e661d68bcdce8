//! Takes the keys out of a descriptor one by one and notes what is wrong with each.
//!
//! Every key is read by itself, so that a mistake in one hides none in another. Places are JSON
//! Pointers.

use std::{fmt, path::Path, str::FromStr};

use serde_json::{Map, Value};

use crate::policy::{Finding, FindingCode};

/// What is wrong with one file.
#[derive(Debug)]
pub(super) struct Mistakes<'f> {
    file: &'f Path,
    found: Vec<Finding>,
}

impl<'f> Mistakes<'f> {
    pub(super) const fn of(file: &'f Path) -> Self {
        let found = Vec::new();
        Self { file, found }
    }

    /// A value at `pointer` that is not allowed there.
    pub(super) fn note(&mut self, pointer: &str, message: impl fmt::Display) {
        let code = FindingCode::InvalidSkill;
        let place = if pointer.is_empty() { "$" } else { pointer };
        self.found
            .push(Finding::at(code, self.file, place, message));
    }

    /// A key at `pointer` that has to be there.
    fn missing(&mut self, pointer: &str, expected: &str) {
        let code = FindingCode::SkillMissingKey;
        let message = format!("expected {expected}, got nothing");
        self.found
            .push(Finding::at(code, self.file, pointer, message));
    }

    pub(super) fn into_findings(self) -> Vec<Finding> {
        self.found
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// An object of a descriptor, as far as its keys were not taken yet.
#[derive(Debug)]
pub(super) struct Fields {
    /// Where it stands, as a JSON Pointer.
    at: String,
    object: Map<String, Value>,
}

impl Fields {
    /// The object `value` at `at`; none where it is another type.
    pub(super) fn of(at: String, value: Value, mistakes: &mut Mistakes<'_>) -> Option<Self> {
        match value {
            Value::Object(object) => Some(Self { at, object }),
            other => {
                mistakes.note(&at, unexpected("an object", &other));
                None
            }
        }
    }

    /// Where `key` stands.
    pub(super) fn place(&self, key: &str) -> String {
        let key = key.replace('~', "~0").replace('/', "~1");
        format!("{}/{key}", self.at)
    }

    /// The value of `key`.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.object.shift_remove(key)
    }

    /// The value of `key`, which has to be there.
    pub(super) fn need(
        &mut self,
        key: &str,
        expected: &str,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<Value> {
        let value = self.take(key);
        if value.is_none() {
            mistakes.missing(&self.place(key), expected);
        }
        value
    }

    /// The object under `key`, if there is one.
    pub(super) fn object(&mut self, key: &str, mistakes: &mut Mistakes<'_>) -> Option<Self> {
        let value = self.take(key)?;
        Self::of(self.place(key), value, mistakes)
    }

    /// The text under `key`, if there is one.
    pub(super) fn text(&mut self, key: &str, mistakes: &mut Mistakes<'_>) -> Option<String> {
        let value = self.take(key)?;
        self.as_text(key, value, mistakes)
    }

    /// The text under `key`, which has to be there.
    pub(super) fn need_text(&mut self, key: &str, mistakes: &mut Mistakes<'_>) -> Option<String> {
        let value = self.need(key, "a text", mistakes)?;
        self.as_text(key, value, mistakes)
    }

    fn as_text(&self, key: &str, value: Value, mistakes: &mut Mistakes<'_>) -> Option<String> {
        match value {
            Value::String(text) => Some(text),
            other => {
                mistakes.note(&self.place(key), unexpected("a text", &other));
                None
            }
        }
    }

    /// What the text under `key` is read as, if there is one.
    pub(super) fn parsed<T: FromStr<Err: fmt::Display>>(
        &mut self,
        key: &str,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<T> {
        let text = self.text(key, mistakes)?;
        self.as_parsed(key, &text, mistakes)
    }

    /// What the text under `key` is read as, which has to be there.
    pub(super) fn need_parsed<T: FromStr<Err: fmt::Display>>(
        &mut self,
        key: &str,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<T> {
        let text = self.need_text(key, mistakes)?;
        self.as_parsed(key, &text, mistakes)
    }

    fn as_parsed<T: FromStr<Err: fmt::Display>>(
        &self,
        key: &str,
        text: &str,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<T> {
        let read = text.parse();
        read.map_err(|why| mistakes.note(&self.place(key), why))
            .ok()
    }

    /// What the whole number under `key` makes, if there is one.
    pub(super) fn whole<T>(
        &mut self,
        key: &str,
        expected: &str,
        make: impl Fn(u64) -> Option<T>,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<T> {
        let value = self.take(key)?;
        let made = value.as_u64().and_then(make);
        if made.is_none() {
            mistakes.note(&self.place(key), unexpected(expected, &value));
        }
        made
    }

    /// Notes every key that was not taken; `known` are all that could have been.
    pub(super) fn none_left(self, known: &[&str], mistakes: &mut Mistakes<'_>) {
        let known = known.join(", ");
        for key in self.object.keys() {
            let why = format!("is an unknown key: the keys here are {known}");
            mistakes.note(&self.place(key), why);
        }
    }
}

/// `expected ..., got ...`; names what is there by its type where it may be long.
pub(super) fn unexpected(expected: &str, value: &Value) -> String {
    let got = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    format!("expected {expected}, got {got}")
}

//! A program that asks others instead of answering, as values.
//!
//! What it says beside of a child, such as a hop or an ancestry, is passed over: the fleet keeps
//! those. Never: the text of a value or the name of a key that is not known.

use serde_json::Value;

use crate::{
    contract::Violation,
    handler::{
        asked::{self, Asked, Beyond, MISTAKES_MAX},
        fields::{Fields, Unknown},
    },
};

/// Reads the value of `delegate`.
pub(super) fn read(delegate: Value) -> Result<Asked, Vec<Violation>> {
    let mut violations = Vec::new();
    let mut fields = Fields::of("delegate", delegate, Unknown::Unnamed, &mut violations);
    // One mistake is enough where there is nothing to read.
    let asked = match fields.mistakes() {
        0 => asked::read(&mut fields, Beyond::Ignored),
        _ => None,
    };
    violations.truncate(MISTAKES_MAX);
    match asked {
        Some(asked) if violations.is_empty() => Ok(asked),
        Some(_) | None => Err(violations),
    }
}

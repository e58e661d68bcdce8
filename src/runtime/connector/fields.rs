//! The fields of a response, taken out of it without a copy.
//!
//! Never: a judgement of them; the output contract makes that.

use serde_json::{Map, Value};

use crate::{contract::Violation, runtime::Fault};

/// # Errors
/// [`Fault::Contract`] when `body` is no JSON object.
pub(super) fn object_in(body: &[u8]) -> Result<Map<String, Value>, Fault> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) | Err(_) => Err(violated("$", "a JSON object", "something else")),
    }
}

pub(super) fn violated(field: &str, expected: &str, actual: &str) -> Fault {
    Fault::Contract(vec![Violation::new(field, expected, actual)])
}

/// The object that `value` is; anything else has no fields.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// The value of `key`; absent and `null` are the same.
pub(super) fn taken(object: &mut Map<String, Value>, key: &str) -> Value {
    object.get_mut(key).map(Value::take).unwrap_or_default()
}

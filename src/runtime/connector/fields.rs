//! The fields of a response, taken out of it without a copy.
//!
//! Never: a judgement of them; the output contract makes that.

use serde_json::{Map, Value};

use crate::{
    contract::{Parsed, Violation},
    runtime::Fault,
};

/// How some servers begin a text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// # Errors
/// [`Fault::Contract`] when `body` is no JSON object, or holds a key twice: whoever reads the first
/// of them and whoever reads the last would see two different answers.
pub(super) fn object_in(body: &[u8]) -> Result<Map<String, Value>, Fault> {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let Ok(parsed) = Parsed::from_slice(body) else {
        return Err(violated("$", "a JSON object", "something else"));
    };
    match (parsed.value, parsed.violations.len()) {
        (Value::Object(object), 0) => Ok(object),
        (Value::Object(_), keys) => {
            // Not which: keys of the arguments of a tool are the model's words.
            let twice = format!("{keys} of them twice");
            Err(violated("$", "each key once", &twice))
        }
        _ => Err(violated("$", "a JSON object", "something else")),
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

//! Tool calls that come in parts.
//!
//! The parts of one call are told by its index; where a server sends none, or one index for all,
//! a new id begins a new call. Never: a look into the arguments.

use serde_json::{Map, Value, json};

use crate::runtime::connector::fields::{object, taken};

/// The calls as far as they have come.
#[derive(Default)]
pub(super) struct ToolCalls(Vec<Call>);

struct Call {
    index: Option<u64>,
    id: Value,
    name: Value,
    arguments: Option<String>,
}

impl ToolCalls {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes one part in.
    pub(super) fn add(&mut self, part: Value) {
        let mut part = object(part);
        let index = taken(&mut part, "index").as_u64();
        let id = said(&mut part, "id");
        let mut function = object(taken(&mut part, "function"));
        let call = self.call(index, &id);
        if call.id.is_null() {
            call.id = id;
        }
        if call.name.is_null() {
            call.name = said(&mut function, "name");
        }
        let arguments = match taken(&mut function, "arguments") {
            Value::Null => return,
            Value::String(text) => text,
            // Some servers send them parsed.
            other => other.to_string(),
        };
        call.arguments.get_or_insert_default().push_str(&arguments);
    }

    /// The call to which a part with this index and id belongs.
    fn call(&mut self, index: Option<u64>, id: &Value) -> &mut Call {
        let same_id = |call: &Call| id.is_null() || call.id.is_null() || call.id == *id;
        let found = match index {
            Some(_) => self.0.iter().rposition(|call| call.index == index),
            None => self.0.len().checked_sub(1),
        };
        let found = found.filter(|at| self.0.get(*at).is_some_and(same_id));
        let at = found.unwrap_or_else(|| {
            self.0.push(Call {
                index,
                id: Value::Null,
                name: Value::Null,
                arguments: None,
            });
            self.0.len() - 1
        });
        self.0.get_mut(at).expect("found, or just put there")
    }

    /// The calls as a whole response has them; `null` when there is none.
    pub(super) fn into_value(self) -> Value {
        let calls = self.0.into_iter().map(|call| {
            let function = json!({"name": call.name, "arguments": call.arguments});
            json!({"id": call.id, "type": "function", "function": function})
        });
        let calls: Vec<Value> = calls.collect();
        if calls.is_empty() {
            Value::Null
        } else {
            calls.into()
        }
    }
}

/// A value that says something: servers repeat a key with `null` or nothing in it.
fn said(object: &mut Map<String, Value>, key: &str) -> Value {
    match taken(object, key) {
        Value::String(text) if text.is_empty() => Value::Null,
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assembled(parts: &[Value]) -> Vec<(Value, Value, Value)> {
        let mut calls = ToolCalls::default();
        parts.iter().for_each(|part| calls.add(part.clone()));
        let calls = calls.into_value();
        let calls = calls.as_array().cloned().unwrap_or_default();
        let fields = calls.into_iter().map(|call| {
            let function = &call["function"];
            (
                call["id"].clone(),
                function["name"].clone(),
                function["arguments"].clone(),
            )
        });
        fields.collect()
    }

    fn part(index: Value, id: &str, name: &str, arguments: &str) -> Value {
        json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})
    }

    fn call(id: &str, name: &str, arguments: &str) -> (Value, Value, Value) {
        (id.into(), name.into(), arguments.into())
    }

    #[test]
    fn parts_are_joined_by_their_index_however_they_come() {
        let two = assembled(&[
            part(json!(0), "a", "pay", ""),
            part(json!(0), "", "", "{\"n\":"),
            part(json!(1), "b", "read", "{}"),
            part(json!(0), "", "", "1}"),
        ]);
        assert_eq!(
            two,
            [call("a", "pay", "{\"n\":1}"), call("b", "read", "{}")]
        );
    }

    #[test]
    fn without_an_index_or_with_one_for_all_a_new_id_begins_a_new_call() {
        for index in [Value::Null, json!(0)] {
            let two = assembled(&[
                part(index.clone(), "a", "pay", "{"),
                part(index.clone(), "", "", "}"),
                part(index.clone(), "b", "read", "{}"),
            ]);
            assert_eq!(two, [call("a", "pay", "{}"), call("b", "read", "{}")]);
        }
    }

    #[test]
    fn a_name_is_not_said_twice_and_parsed_arguments_are_written_again() {
        let repeated = [
            part(json!(0), "a", "pay", "{"),
            part(json!(0), "a", "pay", "}"),
        ];
        assert_eq!(assembled(&repeated), [call("a", "pay", "{}")]);
        let parsed = json!({"id": "a", "function": {"name": "pay", "arguments": {"n": 1}}});
        assert_eq!(assembled(&[parsed]), [call("a", "pay", "{\"n\":1}")]);
        assert_eq!(
            assembled(&[Value::Null]).len(),
            1,
            "for the contract to refuse"
        );
        assert_eq!(ToolCalls::default().into_value(), Value::Null);
    }
}

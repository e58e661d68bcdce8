//! What a tool is called with: its schema, and the reading of it, which finds every mistake at once.
//!
//! Never: the contract's own bounds on a prompt; the fleet holds them for every door.

use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

use super::tools::Offer;
use crate::contract::{ActionName, Lane, TimeoutSec, Violation};

const ACTION: &str = "action";
const PROMPT: &str = "prompt";
const TIMEOUT: &str = "timeout_sec";
const PRIORITY: &str = "priority";

/// What a caller asks for, as far as the tool does not say it already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    /// What for.
    pub(super) action: ActionName,
    /// The instruction.
    pub(super) prompt: String,
    /// How long it may take.
    pub(super) timeout: Option<TimeoutSec>,
    /// How urgent it is.
    pub(super) lane: Lane,
}

/// The schema of what `offer` is called with.
pub(super) fn schema(offer: &Offer) -> Arc<JsonObject> {
    let mut properties = Map::new();
    let mut required = vec![PROMPT];
    if offer.action.is_none() {
        required.push(ACTION);
        let action = json!({
            "type": "string",
            "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
            "description": "What it is asked to do, by name",
        });
        properties.insert(ACTION.to_owned(), action);
    }
    let prompt = json!({
        "type": "string",
        "description": "The instruction, in words; at most 256 KiB of UTF-8",
    });
    let timeout = json!({
        "type": "integer", "minimum": 1, "maximum": 86_400,
        "description": "How long it may take, in seconds; as the fleet's policy says when left out",
    });
    let priority = json!({
        "type": "string", "enum": Lane::ALL.map(Lane::as_str), "default": Lane::default().as_str(),
        "description": "How urgent it is",
    });
    for (key, property) in [(PROMPT, prompt), (TIMEOUT, timeout), (PRIORITY, priority)] {
        properties.insert(key.to_owned(), property);
    }
    let mut schema = JsonObject::new();
    for (key, value) in [
        ("type", json!("object")),
        ("properties", Value::Object(properties)),
        ("required", json!(required)),
        ("additionalProperties", json!(false)),
    ] {
        schema.insert(key.to_owned(), value);
    }
    schema.into()
}

/// Reads what `offer` is called with.
///
/// # Errors
/// Everything that is wrong with it.
pub(super) fn read(offer: &Offer, given: Option<JsonObject>) -> Result<Arguments, Vec<Violation>> {
    let mut reading = Reading {
        given: given.unwrap_or_default(),
        violations: Vec::new(),
    };
    let action = match &offer.action {
        Some(action) => Some(action.clone()),
        None => reading.required(ACTION, ActionName::EXPECTED, |it| it.as_str()?.parse().ok()),
    };
    let prompt = reading.required(PROMPT, "a text", |it| it.as_str().map(str::to_owned));
    let timeout = reading.optional(TIMEOUT, TimeoutSec::EXPECTED, seconds);
    let lane = reading.optional(PRIORITY, "high, normal or low", |it| {
        it.as_str()?.parse().ok()
    });
    reading.nothing_else();
    match (action, prompt, reading.violations.is_empty()) {
        (Some(action), Some(prompt), true) => Ok(Arguments {
            action,
            prompt,
            timeout,
            lane: lane.unwrap_or_default(),
        }),
        _ => Err(reading.violations),
    }
}

/// Models write whole numbers as `30.0` too.
fn seconds(value: &Value) -> Option<TimeoutSec> {
    let whole = value.as_u64().or_else(|| {
        let written = value.as_f64().filter(|it| it.fract() == 0.0)?;
        format!("{written:.0}").parse().ok()
    });
    TimeoutSec::new(whole?)
}

struct Reading {
    given: JsonObject,
    violations: Vec<Violation>,
}

impl Reading {
    fn required<T>(
        &mut self,
        key: &str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<T> {
        if !self.given.contains_key(key) {
            self.violations
                .push(Violation::new(key, expected, "nothing"));
        }
        self.optional(key, expected, read)
    }

    fn optional<T>(
        &mut self,
        key: &str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.given.shift_remove(key)?;
        let read = read(&value);
        if read.is_none() {
            self.violations.push(Violation::new(key, expected, value));
        }
        read
    }

    /// A misspelled key would be a wish that nobody hears.
    fn nothing_else(&mut self) {
        let known = "one of the keys that the tool's schema names";
        let strays = self.given.keys();
        let strays = strays.map(|key| Violation::new(key, known, "an unknown key"));
        self.violations.extend(strays);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::mcp::tools::tests::{any_of, pay_of};

    fn read_of(offer: &Offer, given: Value) -> Result<Arguments, Vec<String>> {
        let given = given.as_object().cloned();
        let read = read(offer, given);
        read.map_err(|them| them.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_is_left_out_is_as_for_every_other_request() {
        let least = read_of(&pay_of("bank"), json!({"prompt": "Pay"})).expect("enough");
        let expected = Arguments {
            action: "pay".parse().expect("an action"),
            prompt: "Pay".to_owned(),
            timeout: None,
            lane: Lane::Normal,
        };
        assert_eq!(least, expected);
        let all = json!({"prompt": "Pay", "timeout_sec": 30.0, "priority": "high"});
        let all = read_of(&pay_of("bank"), all).expect("allowed");
        assert_eq!((all.timeout, all.lane), (TimeoutSec::new(30), Lane::High));
        let any = json!({"prompt": "Pay", "action": "pay"});
        assert_eq!(read_of(&any_of("bank"), any), Ok(least));
    }

    #[test]
    fn every_mistake_is_told_at_once() {
        let wrong =
            json!({"promt": "Pay", "timeout_sec": 0.5, "priority": "soon", "action": "pay"});
        assert_eq!(
            read_of(&pay_of("bank"), wrong).expect_err("four mistakes"),
            [
                "prompt: expected a text, got nothing",
                "timeout_sec: expected an integer from 1 to 86400, got 0.5",
                "priority: expected high, normal or low, got \"soon\"",
                "promt: expected one of the keys that the tool's schema names, got an unknown key",
                "action: expected one of the keys that the tool's schema names, got an unknown key",
            ]
        );
        let none = read(&any_of("bank"), None).expect_err("nothing given");
        assert_eq!(none.len(), 2);
    }

    #[test]
    fn the_schema_names_what_is_read() {
        let of_pay = Value::Object((*schema(&pay_of("bank"))).clone());
        assert_eq!(of_pay["required"], json!(["prompt"]));
        let keys: Vec<_> = of_pay["properties"]
            .as_object()
            .expect("some")
            .keys()
            .collect();
        assert_eq!(keys, ["prompt", "timeout_sec", "priority"]);
        let of_any = Value::Object((*schema(&any_of("bank"))).clone());
        assert_eq!(of_any["required"], json!(["prompt", "action"]));
        assert!(of_any["properties"]["action"]["pattern"].is_string());
    }
}

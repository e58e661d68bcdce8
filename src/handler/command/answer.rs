//! What a program wrote, as the outcome of its request, or everything that is wrong with it.
//!
//! Exactly an InvocationResult of this request, or a delegation. Never repeats the text of a value.

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::delegate;
use crate::{
    contract::{ErrorCode, InvocationRequest, Outcome, Parsed, ResultError, Violation},
    handler::asked::Asked,
};

/// What a program wrote.
#[derive(Debug)]
pub(super) enum Written {
    /// The outcome of its request.
    Outcome(Outcome),
    /// Others are to be asked first; then it wants to be run again.
    Delegate(Asked),
}

/// The fields of an InvocationResult that say what came of a request.
const OUTCOME_FIELDS: [&str; 3] = ["status", "result", "error"];

/// Reads `output` as the InvocationResult of `request`, or as a delegation.
pub(super) fn read(output: &[u8], request: &InvocationRequest) -> Result<Written, Vec<Violation>> {
    let Parsed { value, violations } = Parsed::from_slice(output).map_err(|it| vec![it])?;
    // Counted, not listed: the names of keys are text of the program, and may be many.
    let violations = match violations.len() {
        0 => Vec::new(),
        doubled => {
            let actual = format_args!("{doubled} keys twice");
            vec![Violation::new("$", "one value a key", actual)]
        }
    };
    let Value::Object(object) = value else {
        let violation = Violation::new("$", "an InvocationResult", kind_of(Some(&value)));
        return Err(vec![violation]);
    };
    let mut fields = Fields { object, violations };
    match fields.take("delegate") {
        Some(delegate) => fields.into_delegation(delegate).map(Written::Delegate),
        None => fields.into_outcome(request).map(Written::Outcome),
    }
}

/// Takes the known fields out of an object and notes what is wrong with each.
struct Fields {
    object: Map<String, Value>,
    violations: Vec<Violation>,
}

impl Fields {
    fn into_outcome(mut self, request: &InvocationRequest) -> Result<Outcome, Vec<Violation>> {
        self.id("request_id", request.request_id.as_str());
        self.id("correlation_id", request.correlation_id.as_str());
        self.duration();
        let outcome = self.outcome();
        match outcome {
            Some(outcome) if self.violations.is_empty() => Ok(outcome),
            Some(_) | None => Err(self.violations),
        }
    }

    /// Either it answers or it asks.
    fn into_delegation(mut self, delegate: Value) -> Result<Asked, Vec<Violation>> {
        for field in OUTCOME_FIELDS {
            if self.take(field).is_some() {
                self.note(field, "nothing beside delegate", "a value");
            }
        }
        let mut violations = self.violations;
        match delegate::read(delegate) {
            Ok(asked) if violations.is_empty() => Ok(asked),
            Ok(_) => Err(violations),
            Err(inside) => {
                violations.extend(inside);
                Err(violations)
            }
        }
    }

    fn note(&mut self, field: &str, expected: &str, actual: &str) {
        self.violations
            .push(Violation::new(field, expected, actual));
    }

    fn id(&mut self, field: &str, asked: &str) {
        match self.object.get(field) {
            Some(Value::String(answered)) if answered == asked => {}
            Some(Value::String(_)) => self.note(field, "that of the request", "another one"),
            other => {
                let actual = kind_of(other);
                self.note(field, "that of the request", actual);
            }
        }
    }

    fn duration(&mut self) {
        let value = self.object.get("duration_ms");
        if value.and_then(Value::as_u64).is_none() {
            let actual = kind_of(value);
            self.note("duration_ms", "a whole number of milliseconds", actual);
        }
    }

    fn outcome(&mut self) -> Option<Outcome> {
        let (result, error) = (self.take("result"), self.take("error"));
        let status = self.object.get("status");
        match (status.and_then(Value::as_str), result, error) {
            (Some("ok"), Some(result), None) => return Some(Outcome::Ok(result)),
            (Some("error"), None, Some(error)) => return self.error(&error).map(Outcome::Error),
            (Some("ok"), result, error) => {
                self.misplaced(("result", result), ("error", error));
            }
            (Some("error"), result, error) => {
                self.misplaced(("error", error), ("result", result));
            }
            (Some(_), _, _) => self.note("status", "ok or error", "another text"),
            (None, _, _) => {
                let actual = kind_of(status);
                self.note("status", "ok or error", actual);
            }
        }
        None
    }

    /// The value of an optional field; `null` is no value.
    fn take(&mut self, field: &str) -> Option<Value> {
        self.object.shift_remove(field).filter(|it| !it.is_null())
    }

    /// The status needs the one value and forbids the other.
    fn misplaced(&mut self, needed: (&str, Option<Value>), forbidden: (&str, Option<Value>)) {
        if needed.1.is_none() {
            self.note(needed.0, "a value, by the status", "nothing");
        }
        if forbidden.1.is_some() {
            self.note(forbidden.0, "nothing, by the status", "a value");
        }
    }

    fn error(&mut self, error: &Value) -> Option<ResultError> {
        let Some(error) = error.as_object() else {
            self.note("error", "an object", kind_of(Some(error)));
            return None;
        };
        let code = error.get("code");
        let code = code.and_then(|it| ErrorCode::deserialize(it).ok());
        if code.is_none() {
            self.note("error.code", "a code of the contract", "none of them");
        }
        let message = error.get("message");
        let text = message.and_then(Value::as_str);
        if text.is_none() {
            self.note("error.message", "a string", kind_of(message));
        }
        let details = error.get("details").filter(|it| !it.is_null());
        if details.is_some_and(|it| !it.is_object()) {
            self.note("error.details", "an object or null", kind_of(details));
        }
        Some(ResultError {
            code: code?,
            message: text?.to_owned(),
            details: details.and_then(Value::as_object).cloned(),
        })
    }
}

/// What a value is, in words.
pub(super) const fn kind_of(value: Option<&Value>) -> &'static str {
    match value {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a string",
        Some(Value::Array(_)) => "an array",
        Some(Value::Object(_)) => "an object",
    }
}

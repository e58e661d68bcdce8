//! InvocationResult: the one answer that a request gets.

use std::{borrow::Cow, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{CorrelationId, ErrorCode, RequestId, ResultError};

/// The one answer that a request gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct InvocationResult {
    /// The request that it answers.
    pub request_id: RequestId,
    /// The chain to which the request belongs.
    pub correlation_id: CorrelationId,
    /// From the first claim to the commit; whole milliseconds on the wire.
    pub duration: Duration,
    /// What came out.
    pub outcome: Outcome,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was done. Free form; the fleet always puts `summary`, a string.
    Ok(Value),
    /// It was not.
    Error(ResultError),
}

impl Outcome {
    /// `ok` or `error`.
    #[must_use]
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Ok(_) => "ok",
            Self::Error(_) => "error",
        }
    }

    /// What went wrong, if anything did.
    #[must_use]
    pub const fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Ok(_) => None,
            Self::Error(error) => Some(error.code),
        }
    }
}

impl InvocationResult {
    /// The result as it is committed and published.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a result has only string keys and finite numbers")
    }
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Error,
}

/// The result as it stands in JSON.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Wire {
    /// The request that it answers.
    request_id: RequestId,
    /// The chain to which the request belongs.
    correlation_id: CorrelationId,
    /// Whether there is a `result` or an `error`.
    status: Status,
    /// From the first claim to the commit, in milliseconds.
    duration_ms: u64,
    /// Free form; the fleet always puts `summary`, a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// Why there is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ResultError>,
}

impl From<InvocationResult> for Wire {
    fn from(it: InvocationResult) -> Self {
        let (status, result, error) = match it.outcome {
            Outcome::Ok(result) => (Status::Ok, Some(result), None),
            Outcome::Error(error) => (Status::Error, None, Some(error)),
        };
        Self {
            request_id: it.request_id,
            correlation_id: it.correlation_id,
            status,
            duration_ms: u64::try_from(it.duration.as_millis()).unwrap_or(u64::MAX),
            result,
            error,
        }
    }
}

/// `status` and the keys that are there do not agree.
#[derive(Debug, thiserror::Error)]
#[error("a result has `result` with status ok, or `error` with status error, and never both")]
struct Mismatch;

impl TryFrom<Wire> for InvocationResult {
    type Error = Mismatch;

    fn try_from(wire: Wire) -> Result<Self, Mismatch> {
        let outcome = match (wire.status, wire.result, wire.error) {
            (Status::Ok, Some(result), None) => Outcome::Ok(result),
            (Status::Error, None, Some(error)) => Outcome::Error(error),
            (Status::Ok | Status::Error, _, _) => return Err(Mismatch),
        };
        Ok(Self {
            request_id: wire.request_id,
            correlation_id: wire.correlation_id,
            duration: Duration::from_millis(wire.duration_ms),
            outcome,
        })
    }
}

impl JsonSchema for InvocationResult {
    fn schema_name() -> Cow<'static, str> {
        "InvocationResult".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Wire::json_schema(generator);
        let either = json!([
            { "properties": { "status": { "const": "ok" } }, "required": ["result"],
              "not": { "required": ["error"] } },
            { "properties": { "status": { "const": "error" } }, "required": ["error"],
              "not": { "required": ["result"] } },
        ]);
        schema.insert("oneOf".to_owned(), either);
        schema
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contract::{ErrorCode, IpcKind};

    fn read(value: &Value) -> Result<InvocationResult, serde_json::Error> {
        serde_json::from_value(value.clone())
    }

    #[test]
    fn the_documented_examples_read_and_print_as_they_stand() {
        let ok = json!({
            "request_id": "req-20260224-001", "correlation_id": "corr-20260224-001",
            "status": "ok", "duration_ms": 824, "result": {"summary": "Factura #123 pagada"}
        });
        let error = json!({
            "request_id": "req-20260224-001", "correlation_id": "corr-20260224-001",
            "status": "error", "duration_ms": 15,
            "error": {"code": "DENIED", "message": "Target no está en la allowlist", "details": null}
        });
        for example in [ok, error] {
            let printed = read(&example).expect("valid").to_json();
            assert_eq!(
                String::from_utf8(printed).expect("UTF-8"),
                example.to_string()
            );
        }
    }

    #[test]
    fn a_result_has_exactly_one_of_result_and_error() {
        let base = json!({"request_id": "r", "correlation_id": "c", "duration_ms": 1});
        let with = |more: Value| {
            let mut all = base.clone();
            for (key, value) in more.as_object().expect("an object") {
                all[key] = value.clone();
            }
            read(&all)
        };
        let error = json!({"code": "TIMEOUT", "message": "m", "details": null});
        assert!(with(json!({"status": "ok", "result": {}})).is_ok());
        assert!(with(json!({"status": "ok"})).is_err());
        assert!(with(json!({"status": "ok", "error": error})).is_err());
        assert!(with(json!({"status": "error", "result": {}, "error": error})).is_err());
    }

    #[test]
    fn details_of_an_error_say_its_kind() {
        let error = ResultError::ipc(IpcKind::Poisoned, "its workers died");
        assert_eq!(error.kind(), Some("poisoned"));
        let text = serde_json::to_value(ResultError::new(ErrorCode::Timeout, "late"));
        assert_eq!(text.expect("JSON")["details"], Value::Null);
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(millis in any::<u64>(), summary in any::<String>(), ok: bool) {
            let outcome = if ok {
                Outcome::Ok(json!({ "summary": summary }))
            } else {
                Outcome::Error(ResultError::new(ErrorCode::Denied, summary))
            };
            let result = InvocationResult {
                request_id: "r".parse().unwrap(),
                correlation_id: "c".parse().unwrap(),
                duration: Duration::from_millis(millis),
                outcome,
            };
            prop_assert_eq!(serde_json::from_slice::<InvocationResult>(&result.to_json()).unwrap(), result);
        }
    }
}

//! JSON-RPC 2.0 as the protocol uses it: one call a body, and an answer or an error.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::version::{Method, Version};
use crate::contract::Parsed;

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) id: CallId,
    pub(super) version: Version,
    pub(super) method: Method,
    pub(super) params: Map<String, Value>,
}

/// What tells the answer to a call from others: a text, a whole number or null.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallId(Value);

impl CallId {
    const NONE: Self = Self(Value::Null);

    /// The document that answers with `result`.
    pub(super) fn answer(&self, result: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.0, "result": result})
    }

    /// The document that answers with `error`.
    pub(super) fn refuse(&self, error: &RpcError) -> Value {
        let RpcError { code, message } = error;
        let info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": code.reason(),
            "domain": "a2a-protocol.org",
        });
        let error = json!({"code": code.number(), "message": message, "data": [info]});
        json!({"jsonrpc": "2.0", "id": self.0, "error": error})
    }
}

/// A body that is no call that can be answered otherwise.
#[derive(Debug, PartialEq)]
pub(super) struct NoCall {
    pub(super) id: CallId,
    pub(super) error: RpcError,
}

impl IntoResponse for NoCall {
    fn into_response(self) -> Response {
        Json(self.id.refuse(&self.error)).into_response()
    }
}

impl Call {
    /// Reads a body.
    pub(super) fn read(body: &[u8]) -> Result<Self, NoCall> {
        let no_call = |id, error| NoCall { id, error };
        let parsed = Parsed::from_slice(body)
            .map_err(|why| no_call(CallId::NONE, RpcError::new(RpcCode::Parse, why.to_string())))?;
        let Value::Object(mut call) = parsed.value else {
            let error = RpcError::invalid_request("one call at a time, as an object");
            return Err(no_call(CallId::NONE, error));
        };
        let id = id_of(&mut call).map_err(|error| no_call(CallId::NONE, error))?;
        if let Some(doubled) = parsed.violations.first() {
            return Err(no_call(id, RpcError::invalid_request(doubled)));
        }
        match rest_of(call) {
            Ok((version, method, params)) => Ok(Self {
                id,
                version,
                method,
                params,
            }),
            Err(error) => Err(no_call(id, error)),
        }
    }
}

fn id_of(call: &mut Map<String, Value>) -> Result<CallId, RpcError> {
    match call.shift_remove("id") {
        Some(id @ (Value::String(_) | Value::Null)) => Ok(CallId(id)),
        Some(Value::Number(id)) if !id.is_f64() => Ok(CallId(id.into())),
        Some(_) => Err(RpcError::invalid_request(
            "id has to be a text or an integer",
        )),
        None => Err(RpcError::invalid_request(
            "id is missing: every call is answered",
        )),
    }
}

fn rest_of(
    mut call: Map<String, Value>,
) -> Result<(Version, Method, Map<String, Value>), RpcError> {
    if call.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(RpcError::invalid_request("jsonrpc has to be \"2.0\""));
    }
    let Some(method) = call.get("method").and_then(Value::as_str) else {
        return Err(RpcError::invalid_request("method has to be a text"));
    };
    let (version, method) = Method::named(method)
        .ok_or_else(|| RpcError::new(RpcCode::MethodNotFound, "there is no such method"))?;
    match call.shift_remove("params") {
        Some(Value::Object(params)) => Ok((version, method, params)),
        None => Ok((version, method, Map::new())),
        Some(_) => Err(RpcError::invalid_params("params has to be an object")),
    }
}

/// Why a call is not answered with a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RpcError {
    pub(super) code: RpcCode,
    pub(super) message: String,
}

/// The codes of JSON-RPC and of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RpcCode {
    Parse,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
    TaskNotFound,
    TaskNotCancelable,
    PushNotSupported,
    Unsupported,
    ContentType,
    NoExtendedCard,
    Version,
}

impl RpcCode {
    pub(super) const fn number(self) -> i32 {
        match self {
            Self::Parse => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::TaskNotFound => -32001,
            Self::TaskNotCancelable => -32002,
            Self::PushNotSupported => -32003,
            Self::Unsupported => -32004,
            Self::ContentType => -32005,
            Self::NoExtendedCard => -32007,
            Self::Version => -32009,
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::Parse => "PARSE_ERROR",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::MethodNotFound => "METHOD_NOT_FOUND",
            Self::InvalidParams => "INVALID_PARAMS",
            Self::Internal => "INTERNAL_ERROR",
            Self::TaskNotFound => "TASK_NOT_FOUND",
            Self::TaskNotCancelable => "TASK_NOT_CANCELABLE",
            Self::PushNotSupported => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Self::Unsupported => "UNSUPPORTED_OPERATION",
            Self::ContentType => "CONTENT_TYPE_NOT_SUPPORTED",
            Self::NoExtendedCard => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            Self::Version => "VERSION_NOT_SUPPORTED",
        }
    }
}

impl RpcError {
    pub(super) fn new(code: RpcCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    pub(super) fn invalid_request(why: impl ToString) -> Self {
        Self::new(RpcCode::InvalidRequest, why.to_string())
    }

    pub(super) fn invalid_params(why: impl ToString) -> Self {
        Self::new(RpcCode::InvalidParams, why.to_string())
    }

    pub(super) fn unsupported(why: impl ToString) -> Self {
        Self::new(RpcCode::Unsupported, why.to_string())
    }

    pub(super) fn no_task() -> Self {
        let why = "there is no such task here, or it is not yours";
        Self::new(RpcCode::TaskNotFound, why)
    }
}

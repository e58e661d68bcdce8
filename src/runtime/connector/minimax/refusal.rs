//! What MiniMax means by a response that is no answer.
//!
//! It fails in three shapes: `{"base_resp": {"status_code"}}` under HTTP 200, and
//! `{"error": {"http_code", "message", "type"}}` under 429 or under 500, with its code at the end
//! of the message. One cause comes in all three, so the code decides, then the status. Never: its
//! own sentences.

use serde_json::{Map, Value};

use super::code::Code;
use crate::runtime::{
    Fault,
    connector::{endpoint::HttpReply, openai},
    fault::{HttpStatus, Refusal},
};

const SUCCESS: HttpStatus = HttpStatus(200);

/// The fault of a response whose status is no success.
pub(super) fn classify(reply: &HttpReply) -> Fault {
    let response: Map<String, Value> = serde_json::from_slice(&reply.body).unwrap_or_default();
    let code = Code::in_base_resp(&response).or_else(|| Code::in_message(&response));
    let refusal = Refusal {
        status: reply.status,
        code: None,
        retry_after: reply.retry_after,
    };
    let by_code = code.and_then(|code| code.fault(refusal));
    by_code.unwrap_or_else(|| openai::refusal(reply))
}

/// The fault of a response whose status is a success, if it tells of one. An `error` beside a
/// choice is none.
pub(super) fn under_success(response: &Map<String, Value>) -> Option<Fault> {
    if let Some(code) = Code::in_base_resp(response) {
        let refused = |code| Refusal {
            status: SUCCESS,
            code,
            retry_after: None,
        };
        // The status says nothing of a code that is not known, so nothing says that waiting helps.
        let unknown = || Fault::Rejected(refused(code.as_provider_code()));
        return Some(code.fault(refused(None)).unwrap_or_else(unknown));
    }
    let error = response.get("error").filter(|error| !error.is_null())?;
    if openai::has_choice(response) {
        return None;
    }
    let status = named_status(error);
    let by_code = Code::in_message(response).and_then(|code| {
        code.fault(Refusal {
            status,
            code: None,
            retry_after: None,
        })
    });
    Some(by_code.unwrap_or_else(|| openai::refusal_of(status, error, None)))
}

/// `http_code` is text. An error that names no status is a failure of the server.
fn named_status(error: &Value) -> HttpStatus {
    let named = error.get("http_code").and_then(Value::as_str);
    let named = named.and_then(|code| code.parse().ok());
    HttpStatus(named.filter(|it| (400..=599).contains(it)).unwrap_or(500))
}

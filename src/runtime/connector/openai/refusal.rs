//! What an OpenAI-compatible server means by an answer that is no success.
//!
//! The body is `{"error": {"message", "type", "code"}}`, or `{"error": "text"}`, or a proxy's HTML
//! page. Only its codes are kept: messages may repeat the prompt or half of a key.

use std::time::Duration;

use serde_json::Value;

use crate::runtime::{
    Fault,
    connector::endpoint::HttpReply,
    fault::{HttpStatus, ProviderCode, Refusal},
};

/// Codes and types that say that waiting does not help.
const QUOTA_CODES: [&str; 4] = [
    "insufficient_quota",
    "credit_balance_exhausted",
    "billing_hard_limit_reached",
    "insufficient_balance_error",
];

/// The fault of a response that is no success.
pub(in super::super) fn classify(reply: &HttpReply) -> Fault {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let error = body.get("error").unwrap_or(&Value::Null);
    of_error(reply.status, error, reply.retry_after)
}

/// The fault of an `error` object under HTTP 200, as proxies send it once they have begun to
/// answer: by the HTTP status that it names, else as a server's failure.
pub(super) fn under_success(error: &Value) -> Fault {
    let named = error.get("code").and_then(Value::as_u64);
    let status = named.and_then(|code| u16::try_from(code).ok());
    let status = status.filter(|code| (400..=599).contains(code));
    of_error(HttpStatus(status.unwrap_or(500)), error, None)
}

/// The fault of `error` under this status.
pub(in super::super) fn of_error(
    status: HttpStatus,
    error: &Value,
    retry_after: Option<Duration>,
) -> Fault {
    let text = |key| error.get(key).and_then(Value::as_str);
    let quota = |raw: &&str| QUOTA_CODES.contains(raw);
    let names = [text("code"), text("type")];
    let quota_name = names.into_iter().flatten().find(quota);
    let name = quota_name.or_else(|| names.into_iter().flatten().next());
    let refusal = Refusal {
        status,
        code: name.and_then(ProviderCode::read),
        retry_after,
    };
    match quota_name {
        // Under whatever status a server says it.
        Some(_) => Fault::QuotaExhausted(refusal),
        None => Fault::of_status(refusal),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(status: u16, body: &str) -> Fault {
        classify(&HttpReply {
            status: HttpStatus(status),
            retry_after: None,
            body: body.into(),
        })
    }

    fn error_type(status: u16, body: &str) -> &'static str {
        refused(status, body).error_type()
    }

    #[test]
    fn each_status_has_its_fault_whatever_the_body_is() {
        for body in [
            "",
            "<html>nginx</html>",
            r#"{"error":"text"}"#,
            r#"{"error":{"code":503}}"#,
            "[1]",
        ] {
            for (status, expected) in [
                (302, "rejected"),
                (400, "rejected"),
                (401, "auth"),
                (403, "auth"),
                (404, "rejected"),
                (408, "server_error"),
                (422, "rejected"),
                (429, "rate_limited"),
                (500, "server_error"),
                (502, "server_error"),
                (503, "server_error"),
                (529, "overloaded"),
            ] {
                assert_eq!(error_type(status, body), expected, "{status} {body}");
            }
        }
    }

    #[test]
    fn a_used_up_quota_is_told_from_a_rate_limit_by_code_or_type() {
        let by_code = r#"{"error":{"type":"requests","code":"insufficient_quota"}}"#;
        let by_type = r#"{"error":{"type":"insufficient_quota","code":null}}"#;
        let limit = r#"{"error":{"type":"requests","code":"rate_limit_exceeded"}}"#;
        assert_eq!(error_type(429, by_code), "quota_exhausted");
        assert_eq!(error_type(429, by_type), "quota_exhausted");
        assert_eq!(error_type(429, limit), "rate_limited");
    }

    #[test]
    fn an_error_under_success_counts_as_the_status_that_it_names() {
        assert_eq!(
            under_success(&json!({"code": 429})).error_type(),
            "rate_limited"
        );
        assert_eq!(
            under_success(&json!({"code": 400})).error_type(),
            "rejected"
        );
        assert_eq!(
            under_success(&json!({"code": 2064})).error_type(),
            "server_error"
        );
        assert_eq!(
            under_success(&json!("overloaded")).error_type(),
            "server_error"
        );
    }

    #[test]
    fn the_servers_words_stay_out_of_the_fault() {
        let body = r#"{"error":{"message":"wrong key sk-123","type":"bad sk-123 type"}}"#;
        let fault = refused(401, body);
        assert!(
            !format!("{fault} {fault:?}").contains("sk-123"),
            "{fault:?}"
        );
    }
}

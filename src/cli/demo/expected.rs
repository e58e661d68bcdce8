//! What an answer must be, and whether one is: decided without I/O.

use serde_json::Value;

use crate::contract::{ErrorCode, InvocationResult, Outcome};

/// What an answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// Status `ok`, and what it says holds this.
    Says(&'static str),
    /// Status `ok`, and what a model said with it, whatever that is.
    Model,
    /// An error with this code.
    Error(ErrorCode),
}

impl Expected {
    /// What came; the error is the line of an answer that must not be.
    pub(super) fn judge(self, result: &InvocationResult) -> Result<String, String> {
        let came = shown(&result.outcome);
        let is_right = match (self, &result.outcome) {
            (Self::Says(part), Outcome::Ok(value)) => said(value).contains(part),
            (Self::Model, Outcome::Ok(value)) => is_of_a_model(value),
            (Self::Error(code), Outcome::Error(error)) => error.code == code,
            (Self::Says(_) | Self::Model, Outcome::Error(_)) | (Self::Error(_), Outcome::Ok(_)) => {
                false
            }
        };
        if is_right {
            return Ok(came);
        }
        Err(format!("{came} (expected {})", self.in_words()))
    }

    fn in_words(self) -> String {
        match self {
            Self::Says(part) => format!("an answer with {part:?}"),
            Self::Model => "an answer of the model with its tokens".to_owned(),
            Self::Error(code) => code.as_str().to_owned(),
        }
    }
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok(value) => said(value).to_owned(),
        Outcome::Error(error) => format!("{}: {}", error.code.as_str(), error.message),
    }
}

/// All of what an agent reports; of the others the summary says enough.
fn said(value: &Value) -> &str {
    let answer = value.pointer("/output/answer");
    let said = answer.or_else(|| value.get("summary"));
    said.and_then(Value::as_str).unwrap_or_default()
}

fn is_of_a_model(value: &Value) -> bool {
    let finish = value
        .pointer("/output/finish_reason")
        .and_then(Value::as_str);
    let ended = matches!(finish, Some("stop" | "length"));
    ended && !said(value).is_empty() && tokens(value).is_some_and(|tokens| tokens > 0)
}

/// How many tokens an answer took, question included.
pub(super) fn tokens(value: &Value) -> Option<u64> {
    value.pointer("/output/usage/total_tokens")?.as_u64()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::contract::ResultError;

    fn result(outcome: Outcome) -> InvocationResult {
        InvocationResult {
            request_id: "r".parse().expect("an id"),
            correlation_id: "c".parse().expect("an id"),
            duration: Duration::ZERO,
            outcome,
        }
    }

    #[test]
    fn an_answer_is_right_only_if_it_is_the_one_that_was_expected() {
        let denied = result(Outcome::Error(ResultError::new(ErrorCode::Denied, "no")));
        let paid = result(Outcome::Ok(json!({ "summary": "Factura #123 pagada" })));

        assert!(Expected::Error(ErrorCode::Denied).judge(&denied).is_ok());
        assert!(Expected::Says("#123").judge(&paid).is_ok());
        for (expected, came) in [
            (Expected::Error(ErrorCode::Timeout), &denied),
            (Expected::Error(ErrorCode::Denied), &paid),
            (Expected::Says("#124"), &paid),
            (Expected::Says(""), &denied),
            (Expected::Model, &paid),
        ] {
            let said = expected.judge(came).expect_err("wrong");
            assert!(said.contains("expected"), "{said}");
        }
    }

    #[test]
    fn a_model_has_to_say_something_count_it_and_end() {
        let said = |summary: &str, tokens: u64, finish: &str| {
            let output = json!({"usage": {"total_tokens": tokens}, "finish_reason": finish});
            let answer = json!({"summary": summary, "output": output});
            Expected::Model.judge(&result(Outcome::Ok(answer))).is_ok()
        };
        assert!(said("hello", 9, "stop") && said("hello", 9, "length"));
        assert!(!said("", 9, "stop") && !said("hello", 0, "stop") && !said("hello", 9, "error"));
    }
}

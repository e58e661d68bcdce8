//! What an answer must be, and whether one is: decided without I/O.

use serde_json::Value;

use crate::contract::{ErrorCode, InvocationResult, Outcome};

/// What an answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// Status `ok`, and its summary holds this.
    Summary(&'static str),
    /// Status `ok`, and what a model said with it, whatever that is.
    Model,
    /// An error with this code.
    Error(ErrorCode),
}

impl Expected {
    /// What came, in a line; the error is the line of an answer that must not be.
    pub(super) fn judge(self, result: &InvocationResult) -> Result<String, String> {
        let came = shown(&result.outcome);
        let is_right = match (self, &result.outcome) {
            (Self::Summary(part), Outcome::Ok(value)) => summary(value).contains(part),
            (Self::Model, Outcome::Ok(value)) => is_of_a_model(value),
            (Self::Error(code), Outcome::Error(error)) => error.code == code,
            (Self::Summary(_) | Self::Model, Outcome::Error(_))
            | (Self::Error(_), Outcome::Ok(_)) => false,
        };
        if is_right {
            return Ok(came);
        }
        Err(format!("{came} (expected {})", self.in_words()))
    }

    fn in_words(self) -> String {
        match self {
            Self::Summary(part) => format!("an answer with {part:?}"),
            Self::Model => "an answer of the model with its tokens".to_owned(),
            Self::Error(code) => code.as_str().to_owned(),
        }
    }
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Ok(value) => summary(value).to_owned(),
        Outcome::Error(error) => format!("{}: {}", error.code.as_str(), error.message),
    }
}

fn summary(value: &Value) -> &str {
    value
        .get("summary")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn is_of_a_model(value: &Value) -> bool {
    let finish = value
        .pointer("/output/finish_reason")
        .and_then(Value::as_str);
    let ended = matches!(finish, Some("stop" | "length"));
    ended && !summary(value).is_empty() && tokens(value).is_some_and(|tokens| tokens > 0)
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
        assert!(Expected::Summary("#123").judge(&paid).is_ok());
        for (expected, came) in [
            (Expected::Error(ErrorCode::Timeout), &denied),
            (Expected::Error(ErrorCode::Denied), &paid),
            (Expected::Summary("#124"), &paid),
            (Expected::Summary(""), &denied),
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

//! What a call comes to, in the words of the protocol: a result, or a failure that a model can read.
//!
//! Never: where a server of the fleet is, or what it said.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value, json};

use crate::{
    broker::BrokerFault,
    client::ClientFault,
    contract::{Outcome, ResultError, Violation},
    gateway::executions::{Gone, Unfound, Unstarted},
    store::executions::Execution,
};

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failure {
    code: &'static str,
    message: String,
    details: Option<Map<String, Value>>,
}

impl Failure {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    /// The arguments are not as the tool's schema has them, in these ways.
    pub(super) fn invalid(violations: &[Violation]) -> Self {
        let listed: Vec<_> = violations.iter().map(ToString::to_string).collect();
        let message = format!(
            "the arguments are not as they should be: {}",
            listed.join("; ")
        );
        let details = Map::from_iter([("violations".to_owned(), json!(violations))]);
        Self {
            details: Some(details),
            ..Self::new("VALIDATION_ERROR", message)
        }
    }
}

impl From<ResultError> for Failure {
    fn from(error: ResultError) -> Self {
        Self {
            code: error.code.as_str(),
            message: error.message,
            details: error.details,
        }
    }
}

impl From<ClientFault> for Failure {
    fn from(fault: ClientFault) -> Self {
        match fault {
            ClientFault::PromptTooLong { .. }
            | ClientFault::Broker(BrokerFault::TooLarge { .. }) => {
                Self::new("VALIDATION_ERROR", fault.to_string())
            }
            fault => {
                tracing::warn!(%fault, "gateway_fleet_unanswered");
                let message = "the fleet does not answer at the moment: try again";
                Self::new("UNAVAILABLE", message)
            }
        }
    }
}

impl From<Unstarted> for Failure {
    fn from(unstarted: Unstarted) -> Self {
        match unstarted {
            Unstarted::Refused(error) => error.into(),
            Unstarted::Conflict => {
                let message = "another call of this session had the same id: use each id once";
                Self::new("CONFLICT", message)
            }
            Unstarted::Fault(fault) => fault.into(),
        }
    }
}

impl From<Unfound> for Failure {
    fn from(unfound: Unfound) -> Self {
        match unfound {
            // It was started a moment ago.
            Unfound::Unknown | Unfound::Gone => Gone.into(),
            Unfound::Fault(fault) => fault.into(),
        }
    }
}

impl From<Gone> for Failure {
    fn from(_: Gone) -> Self {
        Self::new("EXECUTION_GONE", "the result is kept no longer")
    }
}

/// What came of `execution`.
pub(super) fn ended(execution: &Execution, ended: Result<Outcome, Failure>) -> CallToolResult {
    let result = match ended {
        Ok(Outcome::Ok(value)) => done(value),
        Ok(Outcome::Error(error)) => failed(error.into()),
        Err(failure) => failed(failure),
    };
    result.with_meta(Some(named(execution)))
}

/// By which names an execution is found again, over whatever door.
pub(super) fn named(execution: &Execution) -> MetaObject {
    let names = [
        ("execution_id", execution.key.request.as_str()),
        ("correlation_id", execution.correlation.as_str()),
    ];
    let names = names.map(|(key, id)| (key.to_owned(), json!(id)));
    MetaObject::from(Map::from_iter(names))
}

fn done(value: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(said(&value))]);
    result.structured_content = Some(value);
    result
}

/// The whole answer of a model or an agent; the summary of anything else.
fn said(value: &Value) -> String {
    let places = ["/output/answer", "/output/content", "/summary"];
    let said = places.iter().find_map(|it| value.pointer(it)?.as_str());
    said.map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// A call that came to nothing.
pub(super) fn failed(failure: Failure) -> CallToolResult {
    let Failure {
        code,
        message,
        details,
    } = failure;
    let text = format!("{code}: {message}");
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    let error = json!({ "code": code, "message": message, "details": details });
    result.structured_content = Some(json!({ "error": error }));
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ErrorCode;

    fn written(result: &CallToolResult) -> Value {
        serde_json::to_value(result).expect("JSON")
    }

    #[test]
    fn a_result_is_told_in_words_and_as_it_is() {
        for (value, text) in [
            (
                json!({"summary": "a...", "output": {"content": "a\nb"}}),
                "a\nb",
            ),
            (json!({"summary": "a", "output": {"answer": "a b"}}), "a b"),
            (json!({"summary": "a"}), "a"),
            (json!({"n": 1}), "{\"n\":1}"),
        ] {
            let told = written(&done(value.clone()));
            assert_eq!(told["content"], json!([{"type": "text", "text": text}]));
            assert_eq!(told["structuredContent"], value);
            assert_eq!(told["isError"], false);
        }
    }

    #[test]
    fn a_failure_is_told_with_its_code_and_what_is_known_of_it() {
        let error = ResultError::new(ErrorCode::Timeout, "too late").with("after_sec", 3);
        let told = written(&failed(error.into()));
        assert_eq!(told["isError"], true);
        let text = json!([{"type": "text", "text": "TIMEOUT: too late"}]);
        assert_eq!(told["content"], text);
        let error = json!({"code": "TIMEOUT", "message": "too late", "details": {"after_sec": 3}});
        assert_eq!(told["structuredContent"]["error"], error);
        let wrong = [Violation::new("prompt", "a text", "nothing")];
        let told = written(&failed(Failure::invalid(&wrong)));
        assert_eq!(
            told["structuredContent"]["error"]["code"],
            "VALIDATION_ERROR"
        );
        let listed = &told["structuredContent"]["error"]["details"]["violations"];
        assert_eq!(listed[0]["field"], "prompt");
    }
}

//! A result as its reader wants it: JSON for programs, a few lines for people.

use std::io;

use serde_json::Value;

use super::output::{Output, Reader};
use crate::contract::{InvocationResult, Outcome, ResultError};

/// Shows a result; `asked` says of what, where that is known.
pub(super) fn result(
    output: &Output,
    reader: Reader,
    asked: Option<&str>,
    result: &InvocationResult,
) -> io::Result<()> {
    match reader {
        Reader::Program => output.answer(String::from_utf8_lossy(&result.to_json())),
        Reader::Person => output.answer(readable(asked, result)),
    }
}

/// Shows a person how an answer went whose words stand there already.
pub(super) fn ending(output: &Output, asked: &str, result: &InvocationResult) -> io::Result<()> {
    match &result.outcome {
        Outcome::Ok(_) => {
            let text = [heading(Some(asked), "ok", result), ids(result)].join("\n\n");
            output.answer(format_args!("\n{text}"))
        }
        Outcome::Error(_) => self::result(output, Reader::Person, Some(asked), result),
    }
}

/// What matters first: how it went, what came out, then how to find it again.
fn readable(asked: Option<&str>, result: &InvocationResult) -> String {
    let (how, what) = match &result.outcome {
        Outcome::Ok(value) => ("ok".to_owned(), said(value)),
        Outcome::Error(error) => (format!("error {}", error.code.as_str()), explained(error)),
    };
    [heading(asked, &how, result), plain(&what), ids(result)].join("\n\n")
}

/// The whole answer of a model or an agent; the summary of anything else.
fn said(value: &Value) -> String {
    let places = ["/output/answer", "/output/content", "/summary"];
    let said = places.iter().find_map(|it| value.pointer(it)?.as_str());
    said.map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn heading(asked: Option<&str>, how: &str, result: &InvocationResult) -> String {
    let of = asked.map_or_else(String::new, |asked| format!("  {asked}"));
    let duration = humantime::format_duration(result.duration);
    format!("{how}{of}  {duration}")
}

fn ids(result: &InvocationResult) -> String {
    let InvocationResult {
        request_id,
        correlation_id,
        ..
    } = result;
    format!("request      {request_id}\ncorrelation  {correlation_id}")
}

/// The message, and below it each violation on a line of its own.
fn explained(error: &ResultError) -> String {
    let violations = error.violations().into_iter();
    let lines = violations.map(|violation| format!("\n  {violation}"));
    format!("{}{}", error.message, lines.collect::<String>())
}

/// Text of others without what could command a terminal.
pub(super) fn plain(text: &str) -> String {
    let harmless = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(harmless).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::contract::{ErrorCode, Violation};

    fn result(outcome: Outcome) -> InvocationResult {
        InvocationResult {
            request_id: "r-1".parse().unwrap(),
            correlation_id: "c-1".parse().unwrap(),
            duration: Duration::from_millis(824),
            outcome,
        }
    }

    #[test]
    fn a_person_reads_the_outcome_first_and_then_how_to_find_it_again() {
        let paid = result(Outcome::Ok(json!({"summary": "paid", "output": {}})));
        assert_eq!(
            readable(Some("puruto-financial pay_invoice"), &paid),
            "ok  puruto-financial pay_invoice  824ms\n\npaid\n\n\
             request      r-1\ncorrelation  c-1"
        );
        let error = ResultError::new(ErrorCode::Denied, "not you");
        let denied = readable(None, &result(Outcome::Error(error)));
        assert!(denied.starts_with("error DENIED  824ms\n\nnot you\n"));
    }

    #[test]
    fn a_person_reads_all_of_an_answer_and_not_its_first_line() {
        for key in ["answer", "content"] {
            let long = json!({"summary": "one", "output": {key: "one\ntwo"}});
            let shown = readable(None, &result(Outcome::Ok(long)));
            assert!(shown.contains("\n\none\ntwo\n\n"), "{shown}");
        }
    }

    #[test]
    fn each_violation_stands_on_a_line_of_its_own() {
        let violations = [
            Violation::new("content.id", "string", 1),
            Violation::new("content.cents", "a value", "nothing"),
        ];
        let error = ResultError::contract_violation(&violations);
        let shown = readable(None, &result(Outcome::Error(error)));
        assert!(
            shown.contains(
                "(and 1 more)\n  content.id: expected string, got 1\n  \
                 content.cents: expected a value, got nothing\n\nrequest"
            ),
            "{shown}"
        );
    }

    #[test]
    fn an_answer_cannot_command_the_terminal() {
        let hostile = result(Outcome::Ok(json!({"summary": "\u{1b}[2Jgone\u{7}\nnext"})));
        assert!(readable(None, &hostile).contains("\n[2Jgone\nnext\n"));
    }
}

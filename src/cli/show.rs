//! A result as its reader wants it: JSON for programs, a few lines for people.

use std::{fmt::Write as _, io};

use super::output::{Output, Reader};
use crate::contract::{InvocationResult, Outcome};

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

/// What matters first: how it went, what came out, then how to find it again.
fn readable(asked: Option<&str>, result: &InvocationResult) -> String {
    let mut text = String::new();
    let duration = humantime::format_duration(result.duration);
    let of = asked.map(|asked| format!("  {asked}")).unwrap_or_default();
    let written = match &result.outcome {
        Outcome::Ok(value) => {
            let summary = value.get("summary").and_then(|it| it.as_str());
            let summary = summary.map_or_else(|| value.to_string(), ToOwned::to_owned);
            write!(text, "ok{of}  {duration}\n\n{}\n", plain(&summary))
        }
        Outcome::Error(error) => {
            let (code, message) = (error.code.as_str(), plain(&error.message));
            write!(text, "error {code}{of}  {duration}\n\n{message}\n")
        }
    };
    let ids = written.and_then(|()| {
        let (request, chain) = (&result.request_id, &result.correlation_id);
        write!(text, "\nrequest      {request}\ncorrelation  {chain}")
    });
    debug_assert!(ids.is_ok(), "a string takes whatever is written");
    text
}

/// Text of others without what could command a terminal.
fn plain(text: &str) -> String {
    let harmless = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(harmless).collect()
}

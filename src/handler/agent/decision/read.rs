//! Reads a decision, whichever way a model put it.
//!
//! Strict: a key too many is a mistake like a key too few, and all of them are told at once.

use serde_json::{Map, Value, json};

use super::{
    ANSWER_BYTES_MAX, DELEGATE, Decision, QUERY_CHARS_MAX, READ, REPORT, SEARCH, SOURCES_MAX, TOOL,
    TOOL_CHARS_MAX, children,
};
use crate::{
    contract::{Parsed, Violation},
    handler::{
        agent::{documents::DocumentId, tools::ServerName},
        fields::{Fields, Unknown, described},
    },
};

/// The decision that `text` is: one JSON object.
///
/// # Errors
/// Everything that is wrong with it.
pub(in super::super) fn text(text: &str) -> Result<Decision, Vec<Violation>> {
    let parsed = Parsed::from_slice(text.as_bytes()).map_err(|violation| vec![violation])?;
    if parsed.violations.is_empty() {
        read(parsed.value)
    } else {
        Err(parsed.violations)
    }
}

/// The decision for `action` with `arguments`, a JSON object.
///
/// # Errors
/// As [`text`].
pub(in super::super) fn call(action: &str, arguments: &str) -> Result<Decision, Vec<Violation>> {
    let parsed = Parsed::from_slice(arguments.as_bytes()).map_err(|violation| vec![violation])?;
    if parsed.violations.is_empty() {
        read(json!({"action": action, "args": parsed.value}))
    } else {
        Err(parsed.violations)
    }
}

/// The decision that `value` is.
///
/// # Errors
/// As [`text`].
pub(in super::super) fn read(value: Value) -> Result<Decision, Vec<Violation>> {
    let mut violations = Vec::new();
    let mut decision = Fields::of("$", value, Unknown::Named, &mut violations);
    let action = decision.take("action");
    let args = decision.take("args");
    decision.end();
    let read = match action.as_str() {
        Some(SEARCH) => with(args, &mut violations, search),
        Some(READ) => with(args, &mut violations, document),
        Some(DELEGATE) => with(args, &mut violations, children::read),
        Some(TOOL) => with(args, &mut violations, tool),
        Some(REPORT) => with(args, &mut violations, report),
        Some(_) | None => {
            let expected = "one of search, read, delegate, tool, report";
            let actual = described(&action);
            violations.push(Violation::new("action", expected, actual));
            None
        }
    };
    match read {
        Some(decision) if violations.is_empty() => Ok(decision),
        _ => Err(violations),
    }
}

fn with(
    args: Value,
    violations: &mut Vec<Violation>,
    read: fn(&mut Fields<'_>) -> Option<Decision>,
) -> Option<Decision> {
    let mut args = Fields::of("args", args, Unknown::Named, violations);
    let decision = read(&mut args);
    args.end();
    decision
}

fn search(args: &mut Fields<'_>) -> Option<Decision> {
    let expected = format!("a string of 1 to {QUERY_CHARS_MAX} characters");
    let query = args.parsed("query", &expected, |text| chars(text, QUERY_CHARS_MAX))?;
    Some(Decision::Search { query })
}

fn document(args: &mut Fields<'_>) -> Option<Decision> {
    let id = args.parsed("id", DocumentId::EXPECTED, |text| text.parse().ok())?;
    Some(Decision::Read { id })
}

fn tool(args: &mut Fields<'_>) -> Option<Decision> {
    let server = args.parsed("server", ServerName::EXPECTED, |text| text.parse().ok());
    let expected = format!("a string of 1 to {TOOL_CHARS_MAX} characters");
    let name = args.parsed("name", &expected, |text| chars(text, TOOL_CHARS_MAX));
    let given = match args.take("args") {
        Value::Null => Some(Map::new()),
        Value::Object(given) => Some(given),
        other => {
            args.violated("args", "an object", &other);
            None
        }
    };
    Some(Decision::Tool {
        server: server?,
        name: name?,
        args: given?,
    })
}

fn report(args: &mut Fields<'_>) -> Option<Decision> {
    let expected = format!("a string of 1 to {ANSWER_BYTES_MAX} bytes that says something");
    let fits = |text: &str| !text.trim().is_empty() && text.len() <= ANSWER_BYTES_MAX;
    let answer = args.parsed("answer", &expected, |text| {
        fits(text).then(|| text.to_owned())
    });
    let sources = sources(args);
    Some(Decision::Report {
        answer: answer?,
        sources: sources?,
    })
}

fn sources(args: &mut Fields<'_>) -> Option<Vec<DocumentId>> {
    let listed = match args.take("sources") {
        Value::Array(listed) if listed.len() <= SOURCES_MAX => listed,
        other => {
            let expected = format!("an array of at most {SOURCES_MAX} ids");
            args.violated("sources", &expected, &other);
            return None;
        }
    };
    let mut sources = Vec::with_capacity(listed.len());
    for (index, source) in listed.iter().enumerate() {
        match source.as_str().and_then(|text| text.parse().ok()) {
            // Named twice is meant once.
            Some(id) if sources.contains(&id) => {}
            Some(id) => sources.push(id),
            None => args.violated(&format!("sources[{index}]"), DocumentId::EXPECTED, source),
        }
    }
    Some(sources)
}

fn chars(text: &str, max: usize) -> Option<String> {
    let fits = !text.trim().is_empty() && text.chars().count() <= max;
    fits.then(|| text.to_owned())
}

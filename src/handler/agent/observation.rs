//! What is observed, cut to what is kept of it.
//!
//! Never: an error of the run. Whatever a tool says is an observation.

use serde_json::{Value, json};

use super::documents::DocumentId;
use crate::handler::delegating::ChildOutcome;

/// That something did not work; without an `id`, so that nobody takes it for a document.
pub(super) fn error(why: impl Into<String>) -> Value {
    json!({"error": why.into()})
}

/// A document that was read, at most `max` bytes of it.
pub(super) fn document(id: &DocumentId, text: &str, max: usize) -> Value {
    let kept = cut(text, max);
    let mut told = json!({"id": id.as_str(), "text": kept});
    mark(&mut told, kept.len() < text.len());
    told
}

/// What a tool said, at most `max` bytes of it.
pub(super) fn tool(said: Value, max: usize) -> Value {
    let mut told = json!({ "result": said });
    shorten(&mut told, "result", max);
    told
}

/// What came of children, at most `max` bytes of what they said, the same for each.
pub(super) fn children(outcomes: &[ChildOutcome], max: usize) -> Value {
    let share = max / outcomes.len().max(1);
    let told = outcomes.iter().map(|outcome| {
        let mut told = outcome.to_observation();
        shorten(&mut told, "result", share);
        shorten(&mut told, "error", share);
        told
    });
    json!({"children": told.collect::<Vec<_>>()})
}

/// A value that is too long becomes the beginning of its text.
fn shorten(told: &mut Value, key: &str, max: usize) {
    let Some(value) = told.get_mut(key) else {
        return;
    };
    let text = value.to_string();
    let is_long = text.len() > max;
    if is_long {
        *value = cut(&text, max).into();
    }
    mark(told, is_long);
}

fn mark(told: &mut Value, is_cut: bool) {
    if let (true, Value::Object(told)) = (is_cut, told) {
        told.insert("truncated".to_owned(), true.into());
    }
}

/// The beginning of `text`, at most `max` bytes, whole characters.
pub(super) fn cut(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        contract::{ErrorCode, Outcome, ResultError},
        store::RequestKey,
    };

    #[test]
    fn a_long_document_is_cut_between_characters_and_says_so() {
        let id = "a".parse().expect("an id");
        let whole = document(&id, "né", 3);
        assert_eq!(whole, json!({"id": "a", "text": "né"}));
        let part = document(&id, "né", 2);
        assert_eq!(part, json!({"id": "a", "text": "n", "truncated": true}));
    }

    #[test]
    fn what_a_tool_says_cannot_pass_for_a_document_or_an_error() {
        let said = tool(json!({"id": "a", "text": "x"}), 100);
        assert!(said.get("id").is_none() && said.get("error").is_none());
        let long = tool(json!(["x".repeat(100)]), 10);
        assert_eq!(long, json!({"result": "[\"xxxxxxxx", "truncated": true}));
    }

    #[test]
    fn children_share_what_may_be_kept() {
        let outcome = |outcome| ChildOutcome {
            key: RequestKey {
                target: "b".parse().expect("valid"),
                request: "r".parse().expect("valid"),
            },
            action: "pay".parse().expect("valid"),
            outcome,
        };
        let long = Outcome::Ok("x".repeat(1_000).into());
        let failed = Outcome::Error(ResultError::new(ErrorCode::Denied, "no"));
        let outcomes = [outcome(Some(long)), outcome(Some(failed)), outcome(None)];
        let told = children(&outcomes, 300);
        assert_eq!(
            told["children"][0]["result"].as_str().map(str::len),
            Some(100)
        );
        assert_eq!(told["children"][0]["truncated"], true);
        assert_eq!(told["children"][1]["error"]["code"], "DENIED");
        assert_eq!(told["children"][2]["status"], "dropped");
    }
}

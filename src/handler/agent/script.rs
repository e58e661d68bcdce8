//! Decisions that were written down beforehand, for the policy that is no model.
//!
//! Each is read when the script is, so that whoever writes one that is none hears of it then.
//! Never: a judgement of what came of a decision; the next one follows whatever it was.

use serde::Deserialize;
use serde_json::Value;

use super::{
    decision::{self, ANSWER_BYTES_MAX},
    observation::cut,
    past::Past,
};

/// Decisions in their order. In their texts `{prompt}` stands for the goal, and `{said}` for what
/// came of the latest delegation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Vec<Value>")]
pub struct Script(Vec<Value>);

/// A decision of a script that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("decision {number} is none: {why}")]
pub struct InvalidScript {
    /// Which, counted from 1.
    number: usize,
    why: String,
}

impl TryFrom<Vec<Value>> for Script {
    type Error = InvalidScript;

    fn try_from(decisions: Vec<Value>) -> Result<Self, InvalidScript> {
        for (number, decision) in (1..).zip(&decisions) {
            decision::read(decision.clone()).map_err(|violations| {
                let why: Vec<_> = violations.iter().map(ToString::to_string).collect();
                let why = why.join("; ");
                InvalidScript { number, why }
            })?;
        }
        Ok(Self(decisions))
    }
}

impl Script {
    /// What it decides after `past`; `None` once it has ended.
    pub(super) fn decision(&self, goal: &str, past: &Past) -> Option<Value> {
        let mut decision = self.0.get(past.as_slice().len())?.clone();
        let said = said(past);
        fill(&mut decision, goal, &said);
        if let Some(Value::String(answer)) = decision.pointer_mut("/args/answer") {
            answer.truncate(cut(answer, ANSWER_BYTES_MAX).len());
        }
        Some(decision)
    }
}

fn fill(value: &mut Value, goal: &str, said: &str) {
    match value {
        Value::String(text) => *text = filled(text, goal, said),
        Value::Array(items) => items.iter_mut().for_each(|it| fill(it, goal, said)),
        Value::Object(fields) => fields.values_mut().for_each(|it| fill(it, goal, said)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What is filled in is no template itself.
fn filled(template: &str, goal: &str, said: &str) -> String {
    let pieces = template.split("{prompt}");
    let pieces: Vec<_> = pieces.map(|piece| piece.replace("{said}", said)).collect();
    pieces.join(goal)
}

/// What came of the latest delegation, in a line.
fn said(past: &Past) -> String {
    let Some(came) = past.delegated() else {
        return "nobody was asked".to_owned();
    };
    let children = came.get("children").and_then(Value::as_array);
    match children {
        Some(children) => children.iter().map(answer).collect::<Vec<_>>().join("; "),
        None => format!("refused: {}", text(came, "/error").unwrap_or_default()),
    }
}

fn answer(child: &Value) -> String {
    // A result that was too long is the beginning of its text.
    let said = text(child, "/result/summary").or_else(|| text(child, "/result"));
    if let Some(said) = said {
        return said.to_owned();
    }
    match text(child, "/error/code") {
        Some(code) => {
            let message = text(child, "/error/message").unwrap_or_default();
            format!("{code}, {message}")
        }
        None => "no answer".to_owned(),
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn script(decisions: Value) -> Result<Script, String> {
        serde_json::from_value(decisions).map_err(|error| error.to_string())
    }

    fn booking() -> Script {
        let delegate = json!({"action": "delegate", "args": {
            "target": "bank", "action": "pay", "prompt": "for {prompt}",
        }});
        let report = json!({"action": "report", "args": {
            "answer": "{prompt}: {said}", "sources": [],
        }});
        script(json!([delegate, report])).expect("valid")
    }

    fn reported(goal: &str, came: Value) -> String {
        let past = Past::made_of([(json!({"action": "delegate"}), came)]);
        let decision = booking().decision(goal, &past).expect("one is left");
        text(&decision, "/args/answer").expect("a text").to_owned()
    }

    #[test]
    fn a_script_asks_for_its_goal_and_reports_what_was_said() {
        let first = booking().decision("Ana", &Past::default());
        let first = first.expect("the script begins");
        assert_eq!(text(&first, "/args/prompt"), Some("for Ana"));
        let paid = json!({"children": [{"status": "ok", "result": {"summary": "paid"}}]});
        assert_eq!(reported("Ana", paid.clone()), "Ana: paid");
        let done = [Value::Null, Value::Null].map(|it| (it, paid.clone()));
        assert_eq!(booking().decision("Ana", &Past::made_of(done)), None);
    }

    #[test]
    fn whatever_came_of_a_delegation_is_said() {
        for (came, said) in [
            (
                json!({"children": [
                    {"status": "error", "error": {"code": "DENIED", "message": "no"}},
                    {"status": "dropped"},
                ]}),
                "Ana: DENIED, no; no answer",
            ),
            (
                json!({"error": "too deep", "rule": "hops"}),
                "Ana: refused: too deep",
            ),
            (Value::Null, "Ana: refused: "),
        ] {
            assert_eq!(reported("Ana", came), said);
        }
        let alone =
            script(json!([{"action": "report", "args": {"answer": "{said}", "sources": []}}]));
        let decision = alone.expect("valid").decision("", &Past::default());
        let answer = decision.expect("one is left");
        assert_eq!(text(&answer, "/args/answer"), Some("nobody was asked"));
    }

    #[test]
    fn what_is_filled_in_is_no_template_and_not_longer_than_an_answer_may_be() {
        let paid = json!({"children": [{"result": {"summary": "{prompt}"}}]});
        assert_eq!(reported("{said}", paid.clone()), "{said}: {prompt}");
        let long = reported(&"é".repeat(ANSWER_BYTES_MAX), paid);
        assert_eq!(long.len(), ANSWER_BYTES_MAX);
    }

    #[test]
    fn a_script_with_a_decision_that_is_none_is_refused_with_its_number() {
        let report = json!({"action": "report", "args": {"answer": "x", "sources": []}});
        let wrong = script(json!([report, {"action": "report", "args": {"answer": "x"}}]));
        let why = wrong.expect_err("no sources");
        assert!(why.starts_with("decision 2 is none: args.sources"), "{why}");
    }
}

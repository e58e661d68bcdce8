//! A policy instead of a model: for tests, demos and whoever wants to see the machinery alone.
//!
//! A function of the goal and of what was done, so that a run that goes on elsewhere goes on as it
//! would have here. Never: a global state, a clock, or chance.
//!
//! It searches for its goal once, reads what it found, and reports the texts. With a script of its
//! own it plays that for every goal. Without, a goal that is a JSON object with a `script` is played
//! instead: `{"script": [decision, ...], "think_ms": 200}` takes decision number `step` as it
//! stands, after so long. Where a script has ended, it reports what the children said.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    decision::{ANSWER_BYTES_MAX, QUERY_CHARS_MAX, READ, REPORT, SEARCH},
    observation::cut,
    past::Past,
    script::Script,
};

/// The policy that decides instead of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simulated {
    /// How long it takes for each decision.
    pub latency: Duration,
    /// What it plays for every goal.
    pub script: Option<Script>,
}

/// The name of its route.
pub(super) const ROUTE: &str = "simulated";

/// Longest thought of a script.
const THINK_MAX: Duration = Duration::from_secs(3_600);

/// What it wants, as a model would say it.
#[derive(Debug, PartialEq)]
pub(super) struct Said {
    pub(super) decision: Value,
    /// How long it takes to say so.
    pub(super) after: Duration,
}

/// It has nothing to report.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the simulated policy found no evidence; try another query")]
pub(super) struct NoEvidence;

/// A goal that is a script.
#[derive(Deserialize)]
struct Scripted {
    script: Vec<Value>,
    #[serde(default)]
    think_ms: u64,
}

impl Simulated {
    /// What it decides.
    ///
    /// # Errors
    /// There is no evidence: it found nothing, or could read none of it.
    pub(super) fn decide(&self, goal: &str, past: &Past) -> Result<Said, NoEvidence> {
        if let Some(script) = &self.script {
            let decision = script.decision(goal, past);
            return Ok(self.says(decision.unwrap_or_else(|| what_children_said(past))));
        }
        if let Some(scripted) = scripted(goal) {
            let after = self.latency.saturating_add(scripted.thinks());
            let decision = scripted.decision(past);
            return Ok(Said { decision, after });
        }
        research(goal, past).map(|decision| self.says(decision))
    }

    const fn says(&self, decision: Value) -> Said {
        Said {
            decision,
            after: self.latency,
        }
    }
}

fn research(goal: &str, past: &Past) -> Result<Value, NoEvidence> {
    let Some(found) = past.found() else {
        return Ok(search(goal));
    };
    let read = past.read();
    let unread = |id: &&str| read.iter().all(|(other, _)| other != id);
    match found.into_iter().find(unread) {
        Some(id) => Ok(json!({"action": READ, "args": {"id": id}})),
        None => report(&read),
    }
}

fn search(goal: &str) -> Value {
    let query: String = goal.chars().take(QUERY_CHARS_MAX).collect();
    json!({"action": SEARCH, "args": {"query": query}})
}

fn report(read: &[(&str, &str)]) -> Result<Value, NoEvidence> {
    if read.is_empty() {
        return Err(NoEvidence);
    }
    let extracts: Vec<_> = read
        .iter()
        .map(|(id, text)| format!("[{id}] {text}"))
        .collect();
    let sources: Vec<_> = read.iter().map(|(id, _)| *id).collect();
    Ok(reported(&extracts.join("\n"), &sources))
}

fn reported(answer: &str, sources: &[&str]) -> Value {
    let answer = cut(answer, ANSWER_BYTES_MAX);
    json!({"action": REPORT, "args": {"answer": answer, "sources": sources}})
}

fn scripted(goal: &str) -> Option<Scripted> {
    // Most goals are none, and need not be read to know it.
    goal.trim_start().starts_with('{').then_some(())?;
    serde_json::from_str(goal).ok()
}

impl Scripted {
    fn decision(mut self, past: &Past) -> Value {
        let step = past.as_slice().len();
        if step < self.script.len() {
            self.script.swap_remove(step)
        } else {
            what_children_said(past)
        }
    }

    fn thinks(&self) -> Duration {
        Duration::from_millis(self.think_ms).min(THINK_MAX)
    }
}

fn what_children_said(past: &Past) -> Value {
    let lines: Vec<_> = past.children().map(line).collect();
    if lines.is_empty() {
        return reported("the script has ended", &[]);
    }
    reported(&lines.join("\n"), &[])
}

/// `[target/action] status: summary`, or the message of its error.
fn line(child: &Value) -> String {
    let text = |pointer: &str| child.pointer(pointer).and_then(Value::as_str);
    let [target, action, status] =
        ["/target", "/action", "/status"].map(|it| text(it).unwrap_or("?"));
    let said = text("/result/summary").or_else(|| text("/error/message"));
    format!(
        "[{target}/{action}] {status}: {}",
        said.unwrap_or("nothing")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(done: &[(Value, Value)]) -> Past {
        Past::made_of(done.iter().cloned())
    }

    fn decide(goal: &str, past: &Past) -> Result<Said, NoEvidence> {
        Simulated::default().decide(goal, past)
    }

    fn decided(goal: &str, done: &[(Value, Value)]) -> Value {
        decide(goal, &past(done)).expect("a decision").decision
    }

    fn read(id: &str, result: Value) -> (Value, Value) {
        (json!({"action": "read", "args": {"id": id}}), result)
    }

    #[test]
    fn it_searches_once_reads_what_it_found_in_order_and_reports_it() {
        let search = json!({"action": "search", "args": {"query": "api db"}});
        assert_eq!(decided("api db", &[]), search);
        let hits = json!({"hits": [{"id": "b"}, {"id": "a"}]});
        let mut done = vec![(search, hits)];
        assert_eq!(decided("api db", &done)["args"]["id"], "b");
        done.push(read("b", json!({"id": "b", "text": "one"})));
        assert_eq!(decided("api db", &done)["args"]["id"], "a");
        done.push(read("a", json!({"id": "a", "text": "two"})));
        let report = json!({"action": "report", "args": {
            "answer": "[b] one\n[a] two", "sources": ["b", "a"],
        }});
        assert_eq!(decided("api db", &done), report);
        assert_eq!(decided("api db", &done).to_string(), report.to_string());
    }

    #[test]
    fn without_evidence_it_makes_none_up() {
        let search = json!({"action": "search", "args": {"query": "x"}});
        let found_nothing = past(&[(search.clone(), json!({"hits": []}))]);
        assert_eq!(decide("x", &found_nothing), Err(NoEvidence));
        // A document that cannot be read is not read; it is tried again until the budget ends.
        let hits = json!({"hits": [{"id": "a"}]});
        let done = [
            (search, hits),
            read("a", json!({"error": "no such document"})),
        ];
        assert_eq!(decided("x", &done)["args"]["id"], "a");
    }

    #[test]
    fn a_script_is_played_step_by_step_and_then_the_children_are_quoted() {
        let goal = r#"{"script": [{"action": "delegate"}, 7], "think_ms": 200}"#;
        let first = decide(goal, &past(&[])).expect("a decision");
        assert_eq!(first.decision, json!({"action": "delegate"}));
        assert_eq!(first.after, Duration::from_millis(200));
        let children = json!({"children": [
            {"target": "b", "action": "pay", "status": "ok", "result": {"summary": "paid"}},
            {"target": "c", "action": "x", "status": "error", "error": {"message": "denied"}},
            {"target": "d", "action": "y", "status": "dropped"},
        ]});
        let mut done = vec![(json!({"action": "delegate"}), children)];
        assert_eq!(
            decided(goal, &done),
            7,
            "as it stands, for the contract to refuse"
        );
        done.push(read("a", Value::Null));
        let answer = "[b/pay] ok: paid\n[c/x] error: denied\n[d/y] dropped: nothing";
        assert_eq!(decided(goal, &done)["args"]["answer"], answer);
    }

    #[test]
    fn its_own_script_is_played_for_every_goal_and_then_the_children_are_quoted() {
        let script: Script = serde_json::from_value(json!([
            {"action": "read", "args": {"id": "{prompt}"}},
        ]))
        .expect("valid");
        let simulated = Simulated {
            latency: Duration::from_millis(30),
            script: Some(script),
        };
        let goal = r#"{"script": []}"#;
        let said = |done: &[_]| simulated.decide(goal, &past(done)).expect("a decision");
        assert_eq!(said(&[]).decision["args"]["id"], goal);
        assert_eq!(said(&[]).after, Duration::from_millis(30));
        let end = said(&[read("a", Value::Null)]).decision;
        assert_eq!(end["args"]["answer"], "the script has ended");
    }

    #[test]
    fn what_only_looks_like_a_script_is_a_goal() {
        for goal in ["{", r#"{"script": "x"}"#, "{}", "[]"] {
            assert_eq!(decided(goal, &[])["action"], "search", "{goal}");
        }
        let long = "é".repeat(5_000);
        let query = decided(&long, &[])["args"]["query"].clone();
        assert_eq!(query, "é".repeat(QUERY_CHARS_MAX));
    }
}

//! `puruto run show`: where a run stands, what it reported and what happened to it.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Of;
use crate::{
    cli::{exit::Exit, failure::Failure, session::explain, show::plain},
    store::{
        RequestKey,
        run::{Run, RunEvent},
    },
};

impl Of<'_> {
    /// The run, if there is one.
    pub(super) async fn known(&self) -> Result<Run, Failure> {
        let run = self.fleet.client.run(&self.key).await;
        let run = run.map_err(|fault| explain(self.gathered, fault))?;
        run.ok_or_else(|| {
            let RequestKey { target, request } = &self.key;
            Failure::NotThere(format!("there is no run {request} of {target}"))
        })
    }
}

pub(super) async fn show(of: &Of<'_>) -> Result<Exit, Failure> {
    let run = of.known().await?;
    let events = of.fleet.client.run_events(&of.key, 0).await;
    let events = events.map_err(|fault| explain(of.gathered, fault))?;
    let shown = if of.json {
        as_json(&of.key, &run, &events).to_string()
    } else {
        readable(&of.key, &run, &events)
    };
    of.world.output.answer(shown)?;
    Ok(Exit::Ok)
}

fn row(key: &RequestKey, run: &Run) -> Value {
    json!({
        "id": key.request,
        "target": key.target,
        "goal": run.goal,
        "model": run.model,
        "status": run.status.as_str(),
        "step": run.step,
        "requests": run.requests,
        "revision": run.revision,
        "pending": run.pending.as_deref().map(value),
        "spent": run.spent,
    })
}

/// What the store keeps as JSON, as far as it is some.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn as_json(key: &RequestKey, run: &Run, events: &[RunEvent]) -> Value {
    let events: Vec<_> = events
        .iter()
        .map(|event| {
            json!({
                "seq": event.seq,
                "at": event.at.to_string(),
                "kind": event.kind,
                "payload": value(&event.payload),
            })
        })
        .collect();
    let mut shown = row(key, run);
    if let Value::Object(shown) = &mut shown {
        shown.insert("report".to_owned(), json!(run.report));
        shown.insert("events".to_owned(), json!(events));
    }
    shown
}

/// The run, its report, then a line for each event.
fn readable(key: &RequestKey, run: &Run, events: &[RunEvent]) -> String {
    let mut text = row(key, run).to_string();
    if let Some(report) = &run.report {
        text.push('\n');
        text.push_str(&plain(report));
    }
    for RunEvent {
        seq, kind, payload, ..
    } in events
    {
        // Writing to a string cannot fail.
        write!(text, "\n{seq} {kind} {}", plain(payload)).ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::WallTime,
        contract::{Spent, Step},
        store::run::{Revision, RunStatus},
    };

    fn run() -> Run {
        Run {
            status: RunStatus::Completed,
            step: Step::new(4),
            requests: 4,
            revision: Revision::new(12),
            pending: None,
            model: "simulated".to_owned(),
            goal: "api db 5433".to_owned(),
            past: Vec::new(),
            report: Some("[a] one\n[b] two".to_owned()),
            reason: None,
            spent: Spent::default(),
        }
    }

    #[test]
    fn a_run_is_shown_as_its_row_its_report_and_a_line_for_each_event() {
        let key = RequestKey {
            target: "puruto-research".parse().unwrap(),
            request: "caso-1".parse().unwrap(),
        };
        let event = RunEvent {
            seq: 1,
            at: WallTime::from_unix_millis(0),
            kind: "created".to_owned(),
            payload: "{\"goal\":\"api db 5433\"}".to_owned(),
        };
        let shown = readable(&key, &run(), std::slice::from_ref(&event));
        let lines: Vec<_> = shown.lines().collect();
        assert!(lines[0].contains("\"status\":\"completed\",\"step\":4,\"requests\":4"));
        assert!(lines[0].contains("\"revision\":12,\"pending\":null"));
        assert_eq!(
            lines[1..],
            ["[a] one", "[b] two", "1 created {\"goal\":\"api db 5433\"}"]
        );
        let whole = as_json(&key, &run(), &[event]);
        assert_eq!(whole["events"][0]["payload"]["goal"], "api db 5433");
        assert_eq!(whole["report"], "[a] one\n[b] two");
    }
}

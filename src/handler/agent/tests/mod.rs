//! Whole runs over a journal in memory, which keeps the seed's three frontiers.

mod crashes;
mod endings;
mod journal;
mod models;
mod others;
mod runs;

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use self::journal::Notebook;
use super::*;
use crate::{
    contract::{Draft, MintedIds},
    store::run::Run,
};

/// More time than any run takes.
const HOUR: Duration = Duration::from_secs(3_600);

/// Thinks for longer than anybody waits.
fn pensive() -> Proposer {
    Proposer::Simulated(Simulated {
        latency: HOUR,
        script: None,
    })
}

/// The shipped research Puruto's documents, and the policy of the tests.
fn research() -> AgentParts {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/puruto-research/docs");
    AgentParts {
        proposer: Proposer::Simulated(Simulated::default()),
        documents: Documents::load(&docs).expect("documents"),
        peers: vec![],
        servers: vec![],
        limits: StepLimits::default(),
        bounds: ToolBounds::default(),
        crash_at: CrashAt::default(),
    }
}

/// A request with this prompt, whose run is kept in `notebook`.
fn context(prompt: &str, notebook: &Notebook) -> Context {
    let body = json!({
        "request_id": "case-1", "target": "research", "action": "diagnose", "prompt": prompt,
    });
    let draft = Draft::parse(body.to_string().as_bytes()).expect("valid");
    let request = draft.complete(MintedIds::of_message("S", 1, 1));
    Context {
        journal: Arc::new(notebook.clone()),
        ..Context::bare(Arc::new(request), Instant::now() + HOUR)
    }
}

/// A goal that plays `decisions`.
fn script(decisions: &Value) -> String {
    json!({ "script": decisions }).to_string()
}

/// What comes of a run by `parts` for `prompt`, and how its record stands then.
async fn ran(parts: AgentParts, prompt: &str) -> (Result<Value, ResultError>, Run) {
    let notebook = Notebook::default();
    let ended = Agent::new(parts).handle(context(prompt, &notebook)).await;
    (ended.map(answer), notebook.run())
}

fn answer(ended: Ended) -> Value {
    match ended {
        Ended::Answer(result) => result,
        Ended::Delegate(planned) => panic!("{planned:?}"),
    }
}

/// The observations of a run, oldest first.
fn observed(run: &Run) -> Vec<Value> {
    let results = run
        .past
        .iter()
        .map(|done| serde_json::from_str(&done.result));
    results.map(|it| it.expect("JSON")).collect()
}

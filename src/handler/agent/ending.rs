//! What the caller hears of a run that has ended.
//!
//! A function of the run's record alone, so that whoever reads it says the same. Never: what was
//! read, or a prompt, in an error.

use serde_json::{Value, json};

use super::past::Past;
use crate::{
    contract::{ErrorCode, IpcKind, ResultError},
    handler::{Ended, chat::summary_of},
    store::run::{Run, RunExhausted, RunLimits, RunStatus},
};

/// The result of a run, or the error in which it ended; `None` while it has not.
pub(super) fn of(run: &Run, limits: &RunLimits) -> Option<Result<Ended, ResultError>> {
    Some(match run.status {
        RunStatus::Queued | RunStatus::Running | RunStatus::Waiting => return None,
        RunStatus::Completed => Ok(Ended::Answer(completed(run))),
        RunStatus::Cancelled => Err(cancelled(run)),
        RunStatus::BudgetExhausted => Err(exhausted(run, limits)),
        RunStatus::Failed => Err(failed(run)),
    })
}

fn completed(run: &Run) -> Value {
    let answer = run.report.as_deref().unwrap_or_default();
    let past = Past::of(run);
    let last = past.as_slice().last();
    let sources = last.and_then(|done| done.decision.pointer("/args/sources"));
    let hash = last.and_then(|done| done.result.get("report_hash"));
    json!({
        "summary": summary_of(answer),
        "output": {
            "answer": answer,
            "sources": sources.cloned().unwrap_or_else(|| json!([])),
            "report_hash": hash,
            "model": run.model,
            "steps": run.step,
            "requests": run.requests,
            "revision": run.revision,
            "spent": run.spent,
        },
    })
}

fn cancelled(run: &Run) -> ResultError {
    let error = ResultError::new(ErrorCode::Cancelled, "the run was cancelled");
    with_figures(error, run)
}

fn exhausted(run: &Run, limits: &RunLimits) -> ResultError {
    let (good, reached, limit) = match limits.reached(run, &run.spent) {
        Some(RunExhausted::Steps) => {
            let reached = run.step.number().into();
            ("steps".to_owned(), reached, limits.steps.into())
        }
        Some(RunExhausted::Requests) => {
            let good = "model requests of the run".to_owned();
            (good, run.requests.into(), limits.requests.into())
        }
        Some(RunExhausted::Tree(it)) => (it.good.to_string(), it.reached, it.limit),
        // The limits are others by now.
        None => return with_figures(budget_error("the run used up its budget"), run),
    };
    let message = format!("the budget of {good} is used up: {reached} of {limit}");
    let error = budget_error(&message).with("good", good);
    with_figures(error.with("reached", reached).with("limit", limit), run)
}

fn budget_error(message: &str) -> ResultError {
    ResultError::new(ErrorCode::BudgetExhausted, message)
}

/// How far it came, and which documents it had read by then.
fn with_figures(error: ResultError, run: &Run) -> ResultError {
    let past = Past::of(run);
    let read: Vec<_> = past.read().iter().map(|(id, _)| *id).collect();
    error
        .with("steps", run.step.number())
        .with("requests", run.requests)
        .with("read", json!(read))
}

/// As it was written down when the run ended.
fn failed(run: &Run) -> ResultError {
    let reason = run.reason.as_deref();
    let error = reason.and_then(|it| serde_json::from_str(it).ok());
    error.unwrap_or_else(|| ResultError::ipc(IpcKind::Internal, "the run failed"))
}

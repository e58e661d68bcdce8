//! Runs from their beginning to their end.

use super::*;
use crate::store::run::{Revision, RunStatus};

#[tokio::test]
async fn the_clean_run_takes_four_steps_four_requests_and_twelve_revisions() {
    let (result, run) = ran(research(), "api db 5433").await;
    assert_eq!(run.status, RunStatus::Completed);
    assert_eq!((run.step.number(), run.requests), (4, 4));
    assert_eq!((run.revision, run.pending), (Revision::new(12), None));
    assert_eq!(run.model, "simulated");
    let result = result.expect("a report");
    let answer = result["output"]["answer"].as_str().expect("a text");
    assert!(
        answer.starts_with("[incident] After the last deployment"),
        "{answer}"
    );
    assert!(
        answer.contains("\n[network] Inside the network"),
        "{answer}"
    );
    assert!(answer.contains("db:5433") && answer.contains("listens on 5432"));
    let summary = result["summary"].as_str().expect("a text");
    assert!(summary.starts_with("[incident] After the last deployment"));
    assert_eq!(result["output"]["sources"], json!(["incident", "network"]));
    assert_eq!(run.report.as_deref(), Some(answer));
}

#[tokio::test]
async fn two_runs_of_one_goal_are_the_same_byte_for_byte() {
    let (one, run) = ran(research(), "api db 5433").await;
    let (other, again) = ran(research(), "api db 5433").await;
    assert_eq!(run, again);
    let [one, other] = [one, other].map(|it| it.expect("a report").to_string());
    assert_eq!(one, other);
}

#[tokio::test]
async fn a_run_that_has_ended_is_told_again_and_changes_no_more() {
    let notebook = Notebook::default();
    let agent = Agent::new(research());
    let first = agent.handle(context("api db 5433", &notebook)).await;
    let (run, calls) = (notebook.run(), notebook.calls());
    let second = agent.handle(context("api db 5433", &notebook)).await;
    assert_eq!(
        answer(first.expect("a report")),
        answer(second.expect("it again"))
    );
    assert_eq!(notebook.run(), run);
    assert_eq!(notebook.calls(), calls + 1, "it is read, and no more");
}

#[tokio::test]
async fn each_frontier_is_written_before_the_next_one() {
    let notebook = Notebook::default();
    let agent = Agent::new(research());
    let ended = agent.handle(context("api db 5433", &notebook)).await;
    ended.expect("a report");
    let step = ["reserved", "decision.accepted", "operation.completed"];
    assert_eq!(notebook.events(), step.repeat(4));
}

#[tokio::test]
async fn a_report_may_cite_only_what_was_read_in_this_run() {
    let report = |sources: &[&str]| json!({"action": "report", "args": {"answer": "5432", "sources": sources}});
    let read = |id: &str| json!({"action": "read", "args": {"id": id}});
    let decisions = json!([
        report(&["network"]),
        read("../../../etc/passwd"),
        read("network"),
        report(&["network", "incident"]),
        report(&["network"]),
    ]);
    let (result, run) = ran(research(), &script(&decisions)).await;
    let observed = observed(&run);
    assert_eq!(observed[0]["not_read"], json!(["network"]));
    assert!(observed[1]["error"].is_string() && observed[1].get("id").is_none());
    assert_eq!(observed[2]["id"], "network");
    assert_eq!(observed[3]["not_read"], json!(["incident"]));
    assert_eq!((run.status, run.step.number()), (RunStatus::Completed, 5));
    let hash = "4aeb7ad6d5d37a041c4c5ce6562bf9e3caf05a42d931cef4d9e2a60ca623194d";
    assert_eq!(observed[4]["report_hash"], hash, "sha256sum of the answer");
    let result = result.expect("a report");
    assert_eq!(result["output"]["report_hash"], hash);
    assert_eq!(result["output"]["sources"], json!(["network"]));
}

#[tokio::test]
async fn what_an_agent_does_not_have_is_an_observation() {
    let decisions = json!([
        {"action": "search", "args": {"query": "x"}},
        {"action": "read", "args": {"id": "network"}},
        {"action": "tool", "args": {"server": "git", "name": "log"}},
        {"action": "delegate", "args": {"target": "b", "action": "pay", "prompt": "1"}},
        {"action": "report", "args": {"answer": "nothing to be had", "sources": []}},
    ]);
    let parts = AgentParts {
        documents: Documents::default(),
        ..research()
    };
    let (result, run) = ran(parts, &script(&decisions)).await;
    let observed = observed(&run);
    assert_eq!(observed[0], json!({"hits": []}));
    assert_eq!(observed[1]["error"], "there is no document \"network\"");
    assert_eq!(observed[2]["error"], "there is no server git");
    assert_eq!(observed[3]["rule"], "policy");
    assert_eq!(result.expect("a report")["summary"], "nothing to be had");
}

#[tokio::test]
async fn of_a_long_document_as_much_is_kept_as_may_be() {
    let mut parts = research();
    parts.bounds.output_max = 10;
    let decisions = json!([{"action": "read", "args": {"id": "network"}}]);
    let (_, run) = ran(parts, &script(&decisions)).await;
    let expected = json!({"id": "network", "text": "Inside the", "truncated": true});
    assert_eq!(observed(&run)[0], expected);
}

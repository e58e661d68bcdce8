//! Runs that end without a report.

use super::*;
use crate::{
    contract::{ErrorCode, Limits, Spent},
    handler::Budget,
    store::run::{Revision, RunStatus},
};

fn detail(error: &ResultError, key: &str) -> Value {
    let details = error.details.as_ref().expect("details");
    details.get(key).cloned().unwrap_or_default()
}

/// Reads one document over and over.
fn endless(steps: usize) -> String {
    let read = json!({"action": "read", "args": {"id": "network"}});
    script(&json!(vec![read; steps]))
}

#[tokio::test]
async fn eight_steps_are_the_end_of_a_run_that_does_not_report() {
    let (result, run) = ran(research(), &endless(20)).await;
    assert_eq!(run.status, RunStatus::BudgetExhausted);
    assert_eq!((run.step.number(), run.requests), (8, 8));
    let error = result.expect_err("no report");
    assert_eq!(error.code, ErrorCode::BudgetExhausted);
    assert_eq!(error.message, "the budget of steps is used up: 8 of 8");
    let [good, reached, limit] = ["good", "reached", "limit"].map(|key| detail(&error, key));
    assert_eq!((good, reached, limit), (json!("steps"), json!(8), json!(8)));
    assert_eq!(detail(&error, "read"), json!(["network"]));
    assert_eq!(detail(&error, "requests"), 8);
}

#[tokio::test]
async fn twelve_requests_are_the_end_of_a_run_whose_inferences_were_lost() {
    let notebook = Notebook::default();
    let agent = Agent::new(research());
    // Dropped at each first inference, as by a process that is killed there.
    for _ in 0..12 {
        let sleepy = AgentParts {
            proposer: pensive(),
            ..research()
        };
        let sleepy = Agent::new(sleepy);
        let asking = sleepy.handle(context("api db 5433", &notebook));
        let dropped = futures_util::FutureExt::now_or_never(asking);
        assert!(dropped.is_none());
    }
    let error = agent.handle(context("api db 5433", &notebook)).await;
    let error = error.expect_err("no report");
    assert_eq!(notebook.run().requests, 12);
    assert_eq!(error.code, ErrorCode::BudgetExhausted);
    assert!(error.message.contains("12 of 12"), "{}", error.message);
}

#[tokio::test]
async fn what_the_whole_chain_may_spend_ends_a_run_too() {
    let notebook = Notebook::default();
    let limits = Limits {
        requests: Some(2),
        ..Limits::default()
    };
    let context = Context {
        budget: Budget::new(limits, Spent::default()),
        ..context("api db 5433", &notebook)
    };
    let error = Agent::new(research()).handle(context).await;
    let error = error.expect_err("no report");
    assert_eq!(
        error.message,
        "the budget of model requests is used up: 3 of 2"
    );
    assert_eq!(notebook.run().step.number(), 2);
}

#[tokio::test]
async fn a_run_without_evidence_fails_and_says_so_to_whoever_asks_again() {
    let notebook = Notebook::default();
    let agent = Agent::new(research());
    let error = agent.handle(context("zebra", &notebook)).await;
    let error = error.expect_err("no report");
    assert_eq!(
        error.message,
        "the simulated policy found no evidence; try another query"
    );
    assert_eq!(notebook.run().status, RunStatus::Failed);
    let again = agent.handle(context("zebra", &notebook)).await;
    assert_eq!(again.expect_err("no report"), error);
}

#[tokio::test]
async fn a_cancelled_run_stops_at_its_next_frontier_wherever_it_is() {
    let cancelled = |run: &mut Run| {
        run.status = RunStatus::Cancelled;
        run.revision = Revision::new(run.revision.number() + 1);
    };
    for at in 1..20 {
        let notebook = Notebook::default();
        notebook.meddle(at, cancelled);
        let agent = Agent::new(research());
        let ended = agent.handle(context("api db 5433", &notebook)).await;
        let error = ended.expect_err("no report");
        assert_eq!(error.code, ErrorCode::Cancelled, "{at}");
        let run = notebook.run();
        assert_eq!(
            (run.status, run.report),
            (RunStatus::Cancelled, None),
            "{at}"
        );
    }
}

#[tokio::test]
async fn a_cancel_after_the_report_is_none() {
    let notebook = Notebook::default();
    let agent = Agent::new(research());
    let ended = agent.handle(context("api db 5433", &notebook)).await;
    ended.expect("a report");
    // The store refuses it; the run says what it said.
    let again = agent.handle(context("api db 5433", &notebook)).await;
    assert_eq!(answer(again.expect("a report"))["output"]["steps"], 4);
}

#[tokio::test]
async fn a_run_keeps_to_the_model_that_it_was_begun_with() {
    let notebook = Notebook::default();
    let sleepy = AgentParts {
        proposer: pensive(),
        ..research()
    };
    let sleepy = Agent::new(sleepy);
    let asking = sleepy.handle(context("api db 5433", &notebook));
    assert!(futures_util::FutureExt::now_or_never(asking).is_none());
    notebook.change(|run| run.model = "openai/gone".to_owned());
    let error = Agent::new(research())
        .handle(context("api db 5433", &notebook))
        .await;
    let error = error.expect_err("no report");
    assert_eq!(error.kind(), Some("model_unavailable"));
    assert!(
        error.message.contains("\"openai/gone\""),
        "{}",
        error.message
    );
    assert_eq!(notebook.run().status, RunStatus::Failed);
}

#[tokio::test]
async fn a_decision_that_is_none_is_asked_for_once_more_and_then_is_the_end() {
    let hostile = [
        json!(7),
        json!({"action": "format_disk", "args": {}}),
        json!({"action": "search", "args": {"query": 7}, "thought": "x"}),
        json!({"action": "delegate", "args": {"children": []}}),
    ];
    for decision in hostile {
        let (result, run) = ran(research(), &script(&json!([decision]))).await;
        let error = result.expect_err("no report");
        assert_eq!(error.code, ErrorCode::InvalidResponse, "{decision}");
        assert!(!error.violations().is_empty(), "{decision}");
        assert_eq!(
            (run.status, run.requests, run.step.number()),
            (RunStatus::Failed, 2, 0)
        );
    }
}

#[tokio::test]
async fn a_record_that_answers_what_it_does_not_do_ends_the_turn() {
    #[derive(Debug)]
    struct Stuck;
    impl crate::handler::journal::Journal for Stuck {
        fn open(&self, new: crate::store::run::NewRun) -> BoxFuture<'_, Run> {
            let notebook = Notebook::default();
            Box::pin(async move { notebook.open(new).await })
        }
        fn read(&self) -> BoxFuture<'_, Option<Run>> {
            Box::pin(std::future::ready(None))
        }
        fn checkpoint(
            &self,
            _: crate::store::run::Checkpoint,
        ) -> BoxFuture<'_, crate::store::run::CheckpointAnswer> {
            let stale = crate::store::run::CheckpointAnswer::Stale;
            Box::pin(std::future::ready(stale))
        }
    }
    let stuck = Context {
        journal: Arc::new(Stuck),
        ..context("api db 5433", &Notebook::default())
    };
    let error = Agent::new(research()).handle(stuck).await;
    assert_eq!(error.expect_err("no report").kind(), Some("internal"));
}

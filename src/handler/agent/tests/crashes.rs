//! Runs whose process dies at any place, and which another one takes over.

use tokio::time::timeout;

use super::{
    journal::{Hang, Notebook},
    *,
};
use crate::{
    handler::crash::CrashPoint,
    store::run::{Revision, Run, RunStatus},
};

/// Works on the run until it ends or hangs, which is where its process dies.
async fn work(notebook: &Notebook) -> Option<Result<Value, ResultError>> {
    let agent = Agent::new(research());
    let working = agent.handle(context("api db 5433", notebook));
    let ended = timeout(Duration::from_secs(60), working).await.ok()?;
    Some(ended.map(answer))
}

fn reports(notebook: &Notebook) -> usize {
    let completed = notebook.run().past;
    let hashes = completed
        .iter()
        .filter(|done| done.result.contains("report_hash"));
    hashes.count()
}

#[tokio::test(start_paused = true)]
async fn wherever_a_process_dies_another_ends_the_run_the_same_way_with_one_report() {
    let clean = Notebook::default();
    let expected = work(&clean).await.expect("an end").expect("a report");
    // Five calls a step and one that finds the end.
    let calls = clean.calls();
    assert_eq!(calls, 21);
    for at in 0..calls {
        for hang in [Hang::Before(at), Hang::Behind(at)] {
            let notebook = Notebook::default();
            notebook.hang(hang);
            assert_eq!(work(&notebook).await, None, "{hang:?}");
            let result = work(&notebook).await.expect("an end").expect("a report");
            let run = notebook.run();
            assert_eq!(
                result["output"]["answer"], expected["output"]["answer"],
                "{hang:?}"
            );
            assert_eq!(
                (run.status, run.step.number()),
                (RunStatus::Completed, 4),
                "{hang:?}"
            );
            assert_eq!(reports(&notebook), 1, "{hang:?}");
            // One inference at most was in vain, and was charged.
            assert!((4..=5).contains(&run.requests), "{hang:?}: {run:?}");
            let vain = u64::from(run.requests - 4);
            assert_eq!(run.revision, Revision::new(12 + vain), "{hang:?}");
        }
    }
}

/// The calls of the last step: its reservation is number 16.
const LAST_STEP: usize = 16;

#[tokio::test(start_paused = true)]
async fn a_decision_that_was_accepted_is_never_asked_for_again() {
    for (hang, requests) in [
        // The seed's after_plan, inside_report and after_commit.
        (Hang::Behind(LAST_STEP + 1), 4),
        (Hang::Before(LAST_STEP + 3), 4),
        (Hang::Behind(LAST_STEP + 3), 4),
    ] {
        let notebook = Notebook::default();
        notebook.hang(hang);
        assert_eq!(work(&notebook).await, None, "{hang:?}");
        let before = notebook.run();
        work(&notebook).await.expect("an end").expect("a report");
        let run = notebook.run();
        assert_eq!(
            (run.requests, run.revision),
            (requests, Revision::new(12)),
            "{hang:?}"
        );
        assert_eq!(reports(&notebook), 1, "{hang:?}");
        if before.status == RunStatus::Completed {
            assert_eq!(run, before, "what is done is left alone");
        }
    }
}

#[tokio::test]
async fn a_crash_point_is_passed_by_whatever_is_no_report() {
    // Would it be reached, the process of this test would end.
    for point in [
        CrashPoint::AfterPlan,
        CrashPoint::InsideReport,
        CrashPoint::AfterCommit,
    ] {
        let parts = AgentParts {
            crash_at: CrashAt::new(Some(point)),
            limits: StepLimits {
                steps: 3,
                requests: 12,
            },
            ..research()
        };
        let (result, run) = ran(parts, "api db 5433").await;
        assert_eq!(run.status, RunStatus::BudgetExhausted);
        assert_eq!(
            result.expect_err("no report").code.as_str(),
            "BUDGET_EXHAUSTED"
        );
    }
}

#[tokio::test]
async fn a_run_that_moved_meanwhile_is_read_again_and_what_was_asked_in_vain_is_charged() {
    // Behind the reservation and before the acceptance another process reserves, or accepts.
    let reserved = |run: &mut Run| {
        run.requests += 1;
        run.revision = Revision::new(run.revision.number() + 1);
    };
    let accepted = |run: &mut Run| {
        let search = r#"{"action":"search","args":{"query":"api db"}}"#;
        run.pending = Some(search.to_owned());
        run.revision = Revision::new(run.revision.number() + 1);
    };
    for (meddle, requests) in [(reserved as fn(&mut Run), 6), (accepted, 4)] {
        let notebook = Notebook::default();
        notebook.meddle(2, meddle);
        let agent = Agent::new(research());
        let ended = agent.handle(context("api db 5433", &notebook)).await;
        ended.expect("a report");
        let run = notebook.run();
        assert_eq!((run.status, run.requests), (RunStatus::Completed, requests));
        assert_eq!(reports(&notebook), 1);
    }
}

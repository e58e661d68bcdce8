//! How the run of an agent ends without its report, and how it cannot.

use puruto_fleet::{
    contract::{Exhausted, Good, Limits, Micros, Spent},
    store::{
        CancelAnswer, CommitAnswer, Records as _, Runs as _,
        run::{Checkpoint, CheckpointAnswer, Revision, RunExhausted, RunLimits, RunStatus},
    },
};

use super::{
    agent::{Agent, LIMITS, accept, new_run, written},
    family::park,
    world::{World, request},
};

pub(super) async fn a_run_that_reaches_a_limit_of_its_own_is_stopped(world: &impl World) {
    let worker = world.worker().await;
    let few = |steps, requests| RunLimits {
        steps,
        requests,
        ..LIMITS
    };
    for (id, limits, exhausted) in [
        ("steps", few(1, 12), RunExhausted::Steps),
        ("requests", few(8, 1), RunExhausted::Requests),
    ] {
        let agent = Agent::hire(&worker, &request(id)).await;
        agent.turn(0, "1", None).await;
        let stopped = agent.reserve_within(limits).await;
        assert_eq!(stopped, CheckpointAnswer::Exhausted(exhausted));
        let run = agent.run().await;
        assert_eq!(run.status, RunStatus::BudgetExhausted);
        assert_eq!((run.requests, run.revision), (1, Revision::new(3)));
        assert_eq!(agent.events().await.last().expect("one"), "stopped");
        assert_eq!(agent.reserve().await, CheckpointAnswer::Stale);
    }
}

pub(super) async fn a_run_that_reaches_what_its_tree_may_spend_is_stopped(world: &impl World) {
    let worker = world.worker().await;
    let spent = Spent {
        requests: 1,
        tokens: 900,
        cost: Micros(70),
        descendants: 0,
    };
    let tree = |good, reached, limit| {
        let exhausted = Exhausted {
            good,
            reached,
            limit,
        };
        CheckpointAnswer::Exhausted(RunExhausted::Tree(exhausted))
    };
    let limits = |requests, tokens, cost: Option<u64>| Limits {
        requests,
        tokens,
        cost: cost.map(Micros),
        descendants: None,
    };
    for (n, (tree_limits, answer)) in [
        (limits(Some(2), None, None), tree(Good::Requests, 3, 2)),
        (limits(None, Some(900), None), tree(Good::Tokens, 900, 900)),
        (limits(None, None, Some(60)), tree(Good::Cost, 70, 60)),
        (limits(Some(3), Some(901), Some(71)), written(2)),
    ]
    .into_iter()
    .enumerate()
    {
        let agent = Agent::hire(&worker, &request(&format!("r{n}"))).await;
        let own = RunLimits {
            tree: limits(Some(1), Some(1), Some(0)),
            ..LIMITS
        };
        assert_eq!(agent.reserve_within(own).await, written(1));
        assert_eq!(
            agent.checkpoint(Checkpoint::Charge { spent }).await,
            written(1)
        );
        let tree = RunLimits {
            tree: tree_limits,
            ..LIMITS
        };
        assert_eq!(agent.reserve_within(tree).await, answer);
    }
}

pub(super) async fn a_run_that_nobody_has_under_way_is_cancelled_at_once_and_once(
    world: &impl World,
) {
    let worker = world.worker().await;
    let queued = request("queued");
    worker
        .store
        .create(&queued, &new_run())
        .await
        .expect("a run");
    let waiting = request("waiting");
    let agent = Agent::hire(&worker, &waiting).await;
    agent.reserve().await;
    worker
        .park(&waiting, agent.nonce, &park(&waiting, 0, 1, 1))
        .await;
    worker.let_go(&waiting, agent.nonce).await;
    for (key, revision) in [(queued, 1), (waiting, 2)] {
        for _ in 0..2 {
            worker.store.cancel(&key).await.expect("an answer");
            let run = worker.store.run(&key).await.expect("an answer");
            let run = run.expect("a run");
            assert_eq!(run.status, RunStatus::Cancelled);
            assert_eq!(run.revision, Revision::new(revision));
        }
        let agent = Agent::hire(&worker, &key).await;
        assert_eq!(agent.reserve().await, CheckpointAnswer::Lost);
        let committed = worker.stop(&key, agent.nonce).await;
        assert_eq!(committed, CommitAnswer::Committed);
        let events = agent.events().await;
        let cancels = events.iter().filter(|kind| *kind == "cancelled");
        assert_eq!(cancels.count(), 1);
        assert_eq!(agent.run().await.revision, Revision::new(revision));
    }
}

pub(super) async fn a_run_that_somebody_has_under_way_is_cancelled_when_its_request_ends(
    world: &impl World,
) {
    let (worker, key) = (world.worker().await, request("1"));
    let agent = Agent::hire(&worker, &key).await;
    agent.reserve().await;
    let owner = CancelAnswer::Owned(worker.session.clone());
    assert_eq!(worker.store.cancel(&key).await, Ok(owner));
    assert_eq!(agent.run().await.status, RunStatus::Running);
    // Whoever is not told in time changes nothing any more, but pays.
    assert_eq!(
        agent.checkpoint(accept(1, "1")).await,
        CheckpointAnswer::Lost
    );
    let spent = Spent {
        tokens: 7,
        ..Spent::default()
    };
    assert_eq!(
        agent.checkpoint(Checkpoint::Charge { spent }).await,
        written(1)
    );
    for _ in 0..2 {
        worker.stop(&key, agent.nonce).await;
        let run = agent.run().await;
        assert_eq!(run.status, RunStatus::Cancelled);
        assert_eq!(run.revision, Revision::new(2));
        assert_eq!(run.spent.tokens, 7);
    }
    assert_eq!(agent.events().await, ["created", "cancelled"]);
}

pub(super) async fn a_confirmed_report_cannot_be_cancelled(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    let agent = Agent::hire(&worker, &key).await;
    agent.turn(0, "1", Some("the answer")).await;
    assert_eq!(
        worker.store.cancel(&key).await,
        Ok(CancelAnswer::AlreadyDone)
    );
    assert_eq!(agent.run().await.status, RunStatus::Completed);
    let committed = worker.commit(&key, agent.nonce, b"reported").await;
    assert_eq!(committed, CommitAnswer::Committed);
}

pub(super) async fn a_run_ends_as_its_agent_says_or_as_failed_when_its_request_ends_otherwise(
    world: &impl World,
) {
    let worker = world.worker().await;
    let agent = Agent::hire(&worker, &request("said")).await;
    agent.reserve().await;
    let end = Checkpoint::End {
        status: RunStatus::Failed,
        reason: r#"{"reason":"model"}"#.to_owned(),
    };
    assert_eq!(agent.checkpoint(end.clone()).await, written(1));
    assert_eq!(agent.checkpoint(end).await, CheckpointAnswer::Stale);
    let run = agent.run().await;
    assert_eq!(run.status, RunStatus::Failed);
    assert_eq!(run.reason.as_deref(), Some(r#"{"reason":"model"}"#));
    assert_eq!(agent.events().await, ["created", "stopped"]);

    let agent = Agent::hire(&worker, &request("late")).await;
    agent.reserve().await;
    let committed = worker.commit(&agent.key, agent.nonce, b"too late").await;
    assert_eq!(committed, CommitAnswer::Committed);
    assert_eq!(agent.run().await.status, RunStatus::Failed);
    assert_eq!(agent.events().await, ["created", "stopped"]);
}

//! The run of an agent, as its record keeps it.

use puruto_fleet::{
    contract::{Exhausted, Good, Limits, Micros, Spent, Step},
    store::{
        CancelAnswer, Claims, CommitAnswer, Nonce, RecordState, Records, RequestKey, Runs,
        Sessions, Waits as _,
        kin::LetGo,
        run::{
            Checkpoint, CheckpointAnswer, NewRun, Operation, Revision, Run, RunExhausted,
            RunLimits, RunStatus,
        },
    },
};

use super::{
    family::{child, owned, park},
    world::{Worker, World, request},
};

/// As far as the specification lets a run go.
const LIMITS: RunLimits = RunLimits {
    steps: 8,
    requests: 12,
    tree: Limits {
        requests: None,
        tokens: None,
        cost: None,
        descendants: None,
    },
};

fn new_run() -> NewRun {
    NewRun {
        model: "simulated".to_owned(),
        goal: "api db \"5433\"".to_owned(),
    }
}

fn written(revision: u64) -> CheckpointAnswer {
    CheckpointAnswer::Written(Revision::new(revision))
}

fn accept(revision: u64, decision: &str) -> Checkpoint {
    Checkpoint::Accept {
        revision: Revision::new(revision),
        decision: decision.to_owned(),
        spent: Spent::default(),
    }
}

fn execute(revision: u64, decision: &str, report: Option<&str>) -> Checkpoint {
    Checkpoint::Execute {
        revision: Revision::new(revision),
        operation: Operation {
            decision: decision.to_owned(),
            result: format!(r#"{{"of":{decision}}}"#),
        },
        report: report.map(str::to_owned),
    }
}

/// An agent at work on its request.
struct Agent<'w, S> {
    worker: &'w Worker<S>,
    key: RequestKey,
    nonce: Nonce,
}

impl<'w, S: Claims + Sessions + Records + Runs> Agent<'w, S> {
    async fn hire(worker: &'w Worker<S>, key: &RequestKey) -> Self {
        let (nonce, _) = worker.take(key).await;
        let created = worker.store.create(key, &new_run()).await;
        created.expect("a run");
        let key = key.clone();
        Self { worker, key, nonce }
    }

    async fn checkpoint(&self, checkpoint: Checkpoint) -> CheckpointAnswer {
        let owned = owned(&self.key, self.nonce);
        let answer = self.worker.store.checkpoint(&owned, &checkpoint).await;
        answer.expect("an answer")
    }

    async fn reserve(&self) -> CheckpointAnswer {
        self.reserve_within(LIMITS).await
    }

    async fn reserve_within(&self, limits: RunLimits) -> CheckpointAnswer {
        self.checkpoint(Checkpoint::Reserve { limits }).await
    }

    /// One whole turn from this revision on.
    async fn turn(&self, revision: u64, decision: &str, report: Option<&str>) {
        assert_eq!(self.reserve().await, written(revision + 1));
        let accepted = self.checkpoint(accept(revision + 1, decision)).await;
        assert_eq!(accepted, written(revision + 2));
        let executed = execute(revision + 2, decision, report);
        assert_eq!(self.checkpoint(executed).await, written(revision + 3));
    }

    async fn run(&self) -> Run {
        let run = self.worker.store.run(&self.key).await.expect("an answer");
        run.expect("a run")
    }

    async fn events(&self) -> Vec<String> {
        let events = self.worker.store.events(&self.key, 0).await;
        let events = events.expect("an answer").into_iter();
        events.map(|it| it.kind).collect()
    }
}

pub(super) async fn a_run_is_made_once_and_keeps_what_it_was_made_with(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    assert_eq!(worker.store.run(&key).await, Ok(None));
    let run = worker.store.create(&key, &new_run()).await.expect("a run");
    assert_eq!(run.status, RunStatus::Queued);
    assert_eq!((run.step, run.requests), (Step::new(0), 0));
    assert_eq!(run.revision, Revision::new(0));
    assert_eq!((run.pending.as_ref(), run.past.len()), (None, 0));
    // Nobody has seen the request, and everybody can see that it is there.
    let record = worker.record(&key).await.expect("a record");
    assert_eq!(record.state, RecordState::Intended);

    let other = NewRun {
        model: "another".to_owned(),
        goal: "something else".to_owned(),
    };
    assert_eq!(worker.store.create(&key, &other).await, Ok(run.clone()));
    let (_, claimed) = worker.take(&key).await;
    assert!(claimed.fresh);
    assert_eq!(claimed.kin, None);
    assert_eq!(worker.store.run(&key).await, Ok(Some(run)));
    let events = worker.store.events(&key, 0).await.expect("an answer");
    let [created] = &*events else {
        panic!("one event: {events:?}");
    };
    assert_eq!((created.seq, &*created.kind), (1, "created"));
    assert!(created.payload.contains(r#"api db \"5433\""#));
    assert!(created.at.unix_millis() > 0);
}

pub(super) async fn a_clean_run_of_four_steps_has_twelve_revisions_and_one_report(
    world: &impl World,
) {
    let (worker, key) = (world.worker().await, request("1"));
    let agent = Agent::hire(&worker, &key).await;
    for (revision, decision) in [(0, "1"), (3, "2"), (6, "3")] {
        agent.turn(revision, decision, None).await;
    }
    agent.turn(9, "4", Some("the answer")).await;
    let run = agent.run().await;
    assert_eq!(run.status, RunStatus::Completed);
    assert_eq!((run.step, run.requests), (Step::new(4), 4));
    assert_eq!(run.revision, Revision::new(12));
    assert_eq!(run.pending, None);
    assert_eq!(run.report.as_deref(), Some("the answer"));
    assert_eq!(run.spent.requests, 4);
    let decisions: Vec<_> = run.past.iter().map(|it| &*it.decision).collect();
    assert_eq!(decisions, ["1", "2", "3", "4"]);

    let kinds = agent.events().await;
    assert_eq!(kinds.len(), 1 + 4 * 2);
    let last = worker.store.events(&key, 7).await.expect("an answer");
    let told: Vec<_> = last
        .iter()
        .map(|it| (it.seq, &*it.kind, &*it.payload))
        .collect();
    assert_eq!(
        told,
        [
            (8, "decision.accepted", "4"),
            (9, "operation.completed", r#"{"step":3,"result":{"of":4}}"#),
        ]
    );
    // It is over: nothing changes it.
    for more in [
        Checkpoint::Reserve { limits: LIMITS },
        accept(12, "5"),
        execute(12, "5", None),
    ] {
        assert_eq!(agent.checkpoint(more).await, CheckpointAnswer::Stale);
    }
    assert_eq!(agent.run().await, run);
    worker.commit(&key, agent.nonce, b"reported").await;
    worker.store.settle(&key).await.expect("settled");
    assert_eq!(agent.run().await, run);
}

pub(super) async fn a_decision_is_accepted_and_carried_out_only_where_the_run_stands(
    world: &impl World,
) {
    let (worker, key) = (world.worker().await, request("1"));
    let agent = Agent::hire(&worker, &key).await;
    assert_eq!(
        agent.checkpoint(accept(0, "1")).await,
        CheckpointAnswer::Stale,
        "nothing was reserved"
    );
    agent.reserve().await;
    assert_eq!(
        agent.checkpoint(accept(0, "1")).await,
        CheckpointAnswer::Stale
    );
    assert_eq!(agent.checkpoint(accept(1, "1")).await, written(2));
    // As after a lost answer; and nobody asks the model while a decision is pending.
    for late in [
        accept(1, "1"),
        accept(2, "1"),
        Checkpoint::Reserve { limits: LIMITS },
    ] {
        assert_eq!(agent.checkpoint(late).await, CheckpointAnswer::Stale);
    }
    assert_eq!(agent.run().await.pending.as_deref(), Some("1"));
    assert_eq!(
        agent.checkpoint(execute(1, "1", None)).await,
        CheckpointAnswer::Stale
    );
    assert_eq!(agent.checkpoint(execute(2, "1", None)).await, written(3));
    assert_eq!(
        agent.checkpoint(execute(2, "1", None)).await,
        CheckpointAnswer::Stale
    );
    let run = agent.run().await;
    assert_eq!(
        (run.step, run.requests, run.past.len()),
        (Step::new(1), 1, 1)
    );
}

pub(super) async fn a_pending_decision_outlives_its_worker_and_the_dead_write_nothing(
    world: &impl World,
) {
    let (dead, heir, key) = (world.worker().await, world.worker().await, request("1"));
    let before = Agent::hire(&dead, &key).await;
    before.reserve().await;
    before.checkpoint(accept(1, "1")).await;
    world.expire(&dead.session).await;
    let after = Agent::hire(&heir, &key).await;
    assert_eq!(
        before.checkpoint(execute(2, "1", None)).await,
        CheckpointAnswer::Lost
    );
    assert_eq!(after.run().await.pending.as_deref(), Some("1"));
    assert_eq!(after.checkpoint(execute(2, "1", None)).await, written(3));
    assert_eq!(after.run().await.requests, 1);
}

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

pub(super) async fn what_a_run_spends_counts_with_what_its_children_may(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    let agent = Agent::hire(&worker, &key).await;
    agent.reserve().await;
    let spent = Spent {
        requests: 1,
        tokens: 50,
        ..Spent::default()
    };
    let accepted = Checkpoint::Accept {
        revision: Revision::new(1),
        decision: "{}".to_owned(),
        spent,
    };
    assert_eq!(agent.checkpoint(accepted).await, written(2));
    worker.park(&key, agent.nonce, &park(&key, 0, 1, 1)).await;
    let record = worker.record(&key).await.expect("a record");
    assert_eq!(record.spent, agent.run().await.spent);
    assert_eq!(record.spent.requests, 2 + 10);
    assert_eq!(record.spent.tokens, 50 + 1_000);
    assert_eq!(record.spent.descendants, 1 + 4);
}

pub(super) async fn a_run_waits_with_its_request_and_goes_on_with_it(world: &impl World) {
    let (worker, key) = (world.worker().await, request("1"));
    let mut agent = Agent::hire(&worker, &key).await;
    agent.reserve().await;
    agent.checkpoint(accept(1, "1")).await;
    worker.park(&key, agent.nonce, &park(&key, 0, 1, 1)).await;
    assert_eq!(agent.run().await.status, RunStatus::Waiting);
    assert_eq!(worker.let_go(&key, agent.nonce).await, LetGo::Waiting);
    worker.tell(&key, &child(&key, 0, 0)).await;
    agent.nonce = worker.take(&key).await.0;
    assert_eq!(agent.run().await.status, RunStatus::Waiting);
    let us = owned(&key, agent.nonce);
    let resumed = worker.store.resume(&us, Step::new(0)).await;
    assert_eq!(resumed, Ok(Vec::new()));
    let run = agent.run().await;
    assert_eq!(run.status, RunStatus::Running);
    assert_eq!(run.revision, Revision::new(2));
    assert_eq!(agent.checkpoint(execute(2, "1", None)).await, written(3));
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

//! The run of an agent, as its record keeps it.

use puruto_fleet::{
    contract::{Spent, Step},
    store::{
        Claims as _, RecordState, Runs as _, Waits as _,
        kin::LetGo,
        run::{Checkpoint, CheckpointAnswer, NewRun, Revision, RunStatus},
    },
};

use super::{
    agent::{Agent, LIMITS, accept, execute, new_run, written},
    family::{child, owned, park},
    world::{World, request},
};

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

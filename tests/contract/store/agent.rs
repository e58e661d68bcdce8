//! An agent at work, as the suites need one.

use puruto_fleet::{
    contract::{Limits, Spent},
    store::{
        Claims, Nonce, Records, RequestKey, Runs, Sessions,
        run::{Checkpoint, CheckpointAnswer, NewRun, Operation, Revision, Run, RunLimits},
    },
};

use super::{family::owned, world::Worker};

/// As far as the specification lets a run go.
pub(super) const LIMITS: RunLimits = RunLimits {
    steps: 8,
    requests: 12,
    tree: Limits {
        requests: None,
        tokens: None,
        cost: None,
        descendants: None,
    },
};

pub(super) fn new_run() -> NewRun {
    NewRun {
        model: "simulated".to_owned(),
        goal: "api db \"5433\"".to_owned(),
    }
}

pub(super) fn written(revision: u64) -> CheckpointAnswer {
    CheckpointAnswer::Written(Revision::new(revision))
}

pub(super) fn accept(revision: u64, decision: &str) -> Checkpoint {
    Checkpoint::Accept {
        revision: Revision::new(revision),
        decision: decision.to_owned(),
        spent: Spent::default(),
    }
}

pub(super) fn execute(revision: u64, decision: &str, report: Option<&str>) -> Checkpoint {
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
pub(super) struct Agent<'w, S> {
    pub(super) worker: &'w Worker<S>,
    pub(super) key: RequestKey,
    pub(super) nonce: Nonce,
}

impl<'w, S: Claims + Sessions + Records + Runs> Agent<'w, S> {
    pub(super) async fn hire(worker: &'w Worker<S>, key: &RequestKey) -> Self {
        let (nonce, _) = worker.take(key).await;
        let created = worker.store.create(key, &new_run()).await;
        created.expect("a run");
        let key = key.clone();
        Self { worker, key, nonce }
    }

    pub(super) async fn checkpoint(&self, checkpoint: Checkpoint) -> CheckpointAnswer {
        let owned = owned(&self.key, self.nonce);
        let answer = self.worker.store.checkpoint(&owned, &checkpoint).await;
        answer.expect("an answer")
    }

    pub(super) async fn reserve(&self) -> CheckpointAnswer {
        self.reserve_within(LIMITS).await
    }

    pub(super) async fn reserve_within(&self, limits: RunLimits) -> CheckpointAnswer {
        self.checkpoint(Checkpoint::Reserve { limits }).await
    }

    /// One whole turn from this revision on.
    pub(super) async fn turn(&self, revision: u64, decision: &str, report: Option<&str>) {
        assert_eq!(self.reserve().await, written(revision + 1));
        let accepted = self.checkpoint(accept(revision + 1, decision)).await;
        assert_eq!(accepted, written(revision + 2));
        let executed = execute(revision + 2, decision, report);
        assert_eq!(self.checkpoint(executed).await, written(revision + 3));
    }

    pub(super) async fn run(&self) -> Run {
        let run = self.worker.store.run(&self.key).await.expect("an answer");
        run.expect("a run")
    }

    pub(super) async fn events(&self) -> Vec<String> {
        let events = self.worker.store.events(&self.key, 0).await;
        let events = events.expect("an answer").into_iter();
        events.map(|it| it.kind).collect()
    }
}

//! The journal of a run, over the store: fenced by the claim, patient with a store that is away.

use std::{fmt, future::pending, sync::Arc};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{Ports, Session, admit::Asked};
use crate::{
    broker::Broker,
    handler::{Budget, journal::Journal},
    store::{
        Attempt, Runs,
        kin::Owned,
        run::{Checkpoint, CheckpointAnswer, NewRun, Run},
    },
};

/// The journal of one request, for as long as its claim stands.
pub(super) struct Kept<B, C> {
    pub(super) ports: Arc<Ports<B, C>>,
    pub(super) owned: Owned,
    /// The request whose run it is, and in which execution.
    pub(super) asked: Asked,
    pub(super) attempt: Attempt,
    pub(super) session: Arc<Session>,
    /// Knows what the record says was spent.
    pub(super) budget: Budget,
    /// Ended when the run turns out to be somebody else's, or cancelled.
    pub(super) gone: CancellationToken,
}

impl<B, C> fmt::Debug for Kept<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept({:?})", self.owned.key)
    }
}

impl<B: Broker, C: Runs> Journal for Kept<B, C> {
    fn open(&self, new: NewRun) -> BoxFuture<'_, Run> {
        Box::pin(async move {
            let (runs, key) = (&self.ports.claims, &self.owned.key);
            let run = self
                .ports
                .insist_or_never(&self.session, "create run", || runs.create(key, &new))
                .await;
            self.budget.recorded(run.spent);
            run
        })
    }

    fn read(&self) -> BoxFuture<'_, Option<Run>> {
        Box::pin(async move {
            let (runs, key) = (&self.ports.claims, &self.owned.key);
            let run = self
                .ports
                .insist_or_never(&self.session, "read run", || runs.run(key))
                .await;
            if let Some(run) = &run {
                self.budget.recorded(run.spent);
            }
            run
        })
    }

    fn checkpoint(&self, checkpoint: Checkpoint) -> BoxFuture<'_, CheckpointAnswer> {
        Box::pin(async move {
            let runs = &self.ports.claims;
            let write = || runs.checkpoint(&self.owned, &checkpoint);
            match self
                .ports
                .insist_or_never(&self.session, "checkpoint", write)
                .await
            {
                CheckpointAnswer::Lost => {
                    self.gone.cancel();
                    pending().await
                }
                answer => {
                    self.tell(&checkpoint, &answer);
                    answer
                }
            }
        })
    }
}

impl<B: Broker, C> Kept<B, C> {
    fn tell(&self, checkpoint: &Checkpoint, answer: &CheckpointAnswer) {
        if let (Checkpoint::Execute { operation, .. }, CheckpointAnswer::Written(_)) =
            (checkpoint, answer)
        {
            self.ports.tell_step(&self.asked, self.attempt, operation);
        }
    }
}

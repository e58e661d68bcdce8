//! The record of a handler's run, as the handler sees it.
//!
//! A journal waits for a store that is away. When the claim is lost it never answers: whoever
//! waits for it is dropped.

use std::fmt;

use futures_util::future::BoxFuture;

use crate::store::run::{Checkpoint, CheckpointAnswer, NewRun, Run};

/// The one record of one run.
pub trait Journal: Send + Sync + fmt::Debug {
    /// The run of this request, made as `new` if there is none.
    fn open(&self, new: NewRun) -> BoxFuture<'_, Run>;

    /// Where it stands now.
    fn read(&self) -> BoxFuture<'_, Option<Run>>;

    /// Changes it; never answered `Lost`.
    fn checkpoint(&self, checkpoint: Checkpoint) -> BoxFuture<'_, CheckpointAnswer>;
}

/// For a handler that keeps none: it is never answered.
#[derive(Clone, Copy, Debug)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn open(&self, _: NewRun) -> BoxFuture<'_, Run> {
        Box::pin(std::future::pending())
    }

    fn read(&self) -> BoxFuture<'_, Option<Run>> {
        Box::pin(std::future::pending())
    }

    fn checkpoint(&self, _: Checkpoint) -> BoxFuture<'_, CheckpointAnswer> {
        Box::pin(std::future::pending())
    }
}

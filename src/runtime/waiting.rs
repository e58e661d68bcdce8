//! How a call spends the time in which it only waits: for its next attempt, for its turn, for a
//! server that is being spared.
//!
//! Never: how long; whoever decides that says so.

use std::{fmt, time::Duration};

use futures_util::future::BoxFuture;
use tokio::time::sleep;

/// Waits on behalf of a call. Whoever lent the call something to work with, such as a run slot,
/// may take it back meanwhile.
pub trait Waiting: Send + Sync + fmt::Debug {
    /// Returns after `delay`, once the call may go on. Dropping the future ends the waiting.
    fn wait(&self, delay: Duration) -> BoxFuture<'_, ()>;
}

/// Sleeps, for a call that was lent nothing.
#[derive(Clone, Copy, Debug)]
pub struct Asleep;

impl Waiting for Asleep {
    fn wait(&self, delay: Duration) -> BoxFuture<'_, ()> {
        Box::pin(sleep(delay))
    }
}

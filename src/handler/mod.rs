//! What runs under a claim.
//!
//! Never: broker or store. A handler has only the powers of its context; it is dropped when
//! the request is cancelled, its deadline passes or its claim is lost, and must leave nothing
//! behind that goes on without it.

mod chat;
mod command;
mod telling;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::time::Instant;

pub use self::{
    chat::{Answering, Chat, OnCircuitOpen},
    command::{Command, CommandConfig},
    telling::{Listeners, Untold},
};
/// Parts of a [`Context`], which whoever makes one needs.
pub use crate::runtime::{calls_made::CallsMade, waiting::Waiting};
use crate::{
    contract::{InvocationRequest, ResultError},
    store::Attempt,
};

/// What a handler is given: everything that it may know and do.
#[derive(Clone, Debug)]
pub struct Context {
    /// The request, admitted.
    pub request: Arc<InvocationRequest>,
    /// Which execution of it this is.
    pub attempt: Attempt,
    /// Nobody waits beyond this moment.
    pub deadline: Instant,
    /// How often models were called for it already. What is counted here goes on counting should
    /// the request be handed over.
    pub calls_made: CallsMade,
    /// Waits while there is nothing to do, so that others can have the run slot meanwhile.
    pub waiting: Arc<dyn Waiting>,
    /// Hear of an answer while it is being written.
    pub listeners: Arc<dyn Listeners>,
}

/// The work of one kind of Puruto.
pub trait Handler: Send + Sync + 'static {
    /// Works on one request until there is a result (`{"summary": ..., "output": ...}`) or an error
    /// for its caller. Dropping the future aborts the work.
    fn handle(&self, context: Context) -> BoxFuture<'_, Result<Value, ResultError>>;
}

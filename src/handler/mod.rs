//! What runs under a claim.
//!
//! Never: broker or store. A handler has only the powers of its context; it is dropped when
//! the request is cancelled, its deadline passes or its claim is lost, and must leave nothing
//! behind that goes on without it.

/// A durable loop around a model.
pub mod agent;
mod asked;
mod chat;
mod command;
/// Where a process can be made to die.
pub mod crash;
/// Asking others, and waiting for them without holding anything.
pub mod delegating;
mod fields;
/// The record of an agent's run.
pub mod journal;
mod prices;
mod program;
mod spending;
mod telling;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

pub use self::{
    chat::{Answering, Chat, OnCircuitOpen},
    command::{Command, CommandConfig},
    delegating::Ended,
    prices::{InvalidPrice, Prices},
    spending::Budget,
    telling::{Listeners, Untold},
};
use self::{delegating::Delegating, journal::Journal};
/// Parts of a [`Context`], which whoever makes one needs.
pub use crate::runtime::{calls_made::CallsMade, waiting::Waiting};
use crate::{
    contract::{InvocationRequest, ResultError},
    runtime::waiting::Asleep,
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
    /// What it may spend, and where it says what it spent.
    pub budget: Budget,
    /// Asks others.
    pub delegating: Arc<dyn Delegating>,
    /// Keeps the run of an agent.
    pub journal: Arc<dyn Journal>,
}

impl Context {
    /// A context without powers: nobody listens, nobody can be asked, nothing is kept.
    #[must_use]
    pub fn bare(request: Arc<InvocationRequest>, deadline: Instant) -> Self {
        Self {
            request,
            attempt: Attempt::new(1),
            deadline,
            calls_made: CallsMade::default(),
            waiting: Arc::new(Asleep),
            listeners: Arc::new(()),
            budget: Budget::default(),
            delegating: Arc::new(delegating::Nobody),
            journal: Arc::new(journal::NoJournal),
        }
    }
}

/// The work of one kind of Puruto.
pub trait Handler: Send + Sync + 'static {
    /// Works on one request until there is a result, an error for its caller, or nothing to do but
    /// to wait for others; then it is called again. Dropping the future aborts the work.
    fn handle(&self, context: Context) -> BoxFuture<'_, Result<Ended, ResultError>>;

    /// The route to its model that a new run of it keeps to; none where it keeps no runs.
    fn route(&self) -> Option<String> {
        None
    }
}

//! Executions: what a caller over HTTP starts, sees, waits for and cancels, whatever door it came by.
//!
//! Owns that an execution is written down under its owner before its request is published, and that
//! nobody else learns of it.
//! Never: HTTP, and never a state of its own; whatever is told is read from the fleet.

mod desk;
mod idempotency;
mod state;
mod watch;

pub use self::{
    desk::{Desk, Order, Sighted, Started, Unfound, Unstarted},
    idempotency::IdempotencyKey,
    state::{ExecutionStatus, Gone, Phase, State},
    watch::{Hub, Watched},
};

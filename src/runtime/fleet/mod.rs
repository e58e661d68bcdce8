//! What workers share of a model server: that it fails, that it asked to be left alone, and how much
//! of its limits is left.
//!
//! Asked before every attempt at a server that others may call too, told after it. Never: a
//! network; whoever shares over one implements `Fleet`.

mod alone;
mod gate;
#[cfg(test)]
mod tests;

use std::fmt;

use futures_util::future::BoxFuture;

pub use self::alone::Alone;
pub(super) use self::gate::{Gate, Quota};
use crate::circuit::{Admission, Ask, CircuitName, Outcome};

/// Knows what others learn of the servers that this process calls.
pub trait Fleet: Send + Sync + fmt::Debug {
    /// Asks for leave to make an attempt, soon: who cannot be asked has no objection. Whoever drops
    /// the future makes no attempt.
    fn admit<'a>(&'a self, circuit: &'a CircuitName, ask: &'a Ask) -> BoxFuture<'a, Admission>;

    /// Tells how an attempt ended that was admitted. Nobody waits for it: it may be lost, and what
    /// it took from the circuit is then free when its lease ends.
    fn report(&self, circuit: &CircuitName, outcome: Outcome);
}

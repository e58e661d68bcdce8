//! When a model server is left alone, and how much is asked of it: rules without a server.
//!
//! A process keeps them for itself, and a fleet keeps them in its store for all its workers. Pure:
//! the time is told. Never: a call, a wait, or a word over a network.

mod ask;
mod bucket;
mod fleet;
mod machine;
mod meter;
mod name;
mod probes;
#[cfg(test)]
mod tests;
mod window;

pub use self::{
    ask::{Admission, Ask, Generation, Outcome, PassId, Refusal, Spent, Standing},
    bucket::PerMinute,
    fleet::FleetCircuit,
    machine::{BreakerRules, BreakerState, Change, CircuitOpen, Ended, Machine, Pass},
    meter::{HOLD_MAX, Meter, RateLimits, Throttle, Throttled},
    name::CircuitName,
};

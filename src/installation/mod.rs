//! What the servers of an installation are like, and what that guarantees.
//!
//! Facts in, words out: pure, so that each row of what is promised can be read and tested. Never: a
//! question to a server; the seams ask and hand their reports in.

mod check;
mod fleet;
mod guarantee;
mod nats;
mod redis;

pub use self::{
    check::{Check, Level},
    fleet::{clock_check, epoch_check, workers_check},
    guarantee::Guarantee,
    nats::nats_checks,
    redis::redis_checks,
};

//! What the servers of an installation are like, and what that guarantees.
//!
//! Facts in, words out: pure, so that each row of what is promised can be read and tested. Never: a
//! question to a server; the seams ask and hand their reports in.

mod check;
mod guarantee;
mod redis;

pub use self::{
    check::{Check, Level},
    guarantee::Guarantee,
    redis::redis_checks,
};

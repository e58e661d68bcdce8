//! The whole fleet as its users have it: real servers, real processes, every way of driving it.
//!
//! Owns nothing of the fleet: what is asserted is what a caller, an operator or a foreign client
//! sees. Each test starts its own servers and workers, and they end with it.

#![expect(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of a test fails it as the test itself would"
)]

#[path = "../support/mod.rs"]
mod support;

mod cluster;
mod fleet;
mod patience;
mod records;
mod runs;
mod sentinels;
mod terminal;
mod wire;
mod worker;

mod a2a;
mod answers;
mod bad_input;
mod by_hand;
mod command;
mod crash;
mod delegation;
mod dlq;
mod doctor;
mod elsewhere;
mod failover;
mod gateway;
mod hostile;
mod invoking;
mod lanes;
mod lanes_renewed;
mod outages;
mod poison;
mod policies;
mod presence;
mod python;
mod races;
mod real_model;
mod rolling;
mod shared_circuits;
mod stalled;
mod starting;
mod storm;
mod streaming;
mod takeover;
mod telemetry;
mod three_nats;
mod traces;
mod unserved;
mod users;
mod waiting;
mod watched;

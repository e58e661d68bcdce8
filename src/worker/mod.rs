//! One worker process.
//!
//! It pulls for the targets that it serves, no more than it has free slots, walks each delivery
//! through the [`crate::pipeline`], keeps its session alive on a thread of its own and drains when
//! it is told to stop.
//!
//! Never: a decision about one request; that is the pipeline's.

mod audit;
mod cancels;
mod circuits;
mod heartbeat;
mod lanes;
mod presence;
mod progress;
mod pull;
mod run;
mod sessions;
mod supervisor;

pub use self::{
    audit::Audit,
    circuits::FleetCircuits,
    heartbeat::{Heartbeat, HeartbeatTimes},
    presence::{Presence, WorkerReport},
    run::{Drained, Timing, Worker},
    sessions::announce,
    supervisor::{LaneCare, Leading, Supervisor, Unserved, attend},
};

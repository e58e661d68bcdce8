//! Chaos: a fleet of its own under load and faults, and the proof that nothing was lost.
//!
//! Owns the harness from end to end: a seed becomes a schedule of faults, real servers and real
//! workers run behind proxies that can be cut, everything that happens becomes a history, and a
//! pure checker holds that history against the invariants. Never: a part in a user's fleet; it
//! touches only processes that it started, under guard, in a folder of its own.

mod asks;
mod cast;
/// Holds a history against the invariants.
pub mod checker;
mod desk;
mod draw;
mod ending;
mod errand;
mod fleet;
/// What happened, a line an event.
pub mod history;
mod load;
mod logs;
mod model;
mod probe;
mod prompt;
mod proxy;
mod raw;
mod recorder;
mod report;
mod run;
/// Which faults strike when: a function of the seed.
pub mod schedule;
mod strike;

pub use self::{
    draw::Delegation,
    report::report,
    run::{ChaosFault, Outcome, Pace, Settings, run},
};

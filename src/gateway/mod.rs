//! The edge to whoever speaks HTTP: skills, other agents, model clients, and an operator's page.
//!
//! What comes in over any of its doors becomes an ordinary request, published as every other; what
//! is told of it is read from its record and from the stream of results. A gateway keeps nothing
//! that another could not tell as well: one can die at any moment.
//! Never: the pipeline, a claim, or a result of its own making.

/// The door for other agents.
pub mod a2a;
/// Who asks, proven, and how much one may ask.
pub mod auth;
/// One page to watch the fleet.
pub mod dashboard;
/// What a caller starts, sees, waits for and cancels, whatever door it came by.
pub mod executions;
/// Seam to the fleet as the gateway needs it.
pub mod fleet;
/// The door for model clients.
pub mod mcp;
mod principal;
/// What a caller is told that gets no answer.
pub mod problem;
/// How it is served: the port, its bounds, and what stands around every route.
pub mod server;
/// What the fleet offers, by descriptors.
pub mod skills;
/// The door for skill consumers: the three steps.
pub mod v1;

pub use self::principal::Principal;

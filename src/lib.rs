//! A message-queue driven worker fleet for AI agents.
//!
//! Callers publish [`contract::InvocationRequest`]s to a NATS subject per target; workers claim
//! them under Redis leases, run the target's handler, commit exactly one result and publish it
//! under its correlation id. The modules stand in the order of that walk; a layer names only
//! those above it.

/// The one clock and the one source of ids and chance.
pub mod clock;

/// When a model server is left alone, and how much is asked of it. Rules only.
pub mod circuit;

/// What travels: ids, request, result, error codes, deadline, subjects, headers. Values only.
pub mod contract;

/// Who may ask whom for what: `.puruto-ipc.json`.
pub mod policy;

/// Seam to Redis: who works on what, and what came out.
pub mod store;

/// Seam to JetStream: where requests come from and results go.
pub mod broker;

/// What the servers are like, and what that guarantees.
pub mod installation;

/// Seam to the model: one resilient call.
pub mod runtime;

/// What runs under a claim.
pub mod handler;

/// The fleet's Purutos as their folders describe them.
pub mod puruto;

/// Seam to hyper: whoever asks this process over HTTP, and within which bounds.
pub mod http;

/// Names of everything that is logged, traced and counted.
pub mod telemetry;

/// The walk of one request, a stage a file.
pub mod pipeline;

/// One worker process: pull, slots, session, drain.
pub mod worker;

/// What a caller uses: invoke, await, watch, cancel.
pub mod client;

/// The effective configuration: gathered, read, checked.
pub mod config;

/// What an operator sees of a fleet.
pub mod inspect;

/// The edge to whoever speaks HTTP.
pub mod gateway;

/// Local servers for a laptop and for the tests.
pub mod dev;

/// A fleet under load and faults, and the proof that nothing was lost.
pub mod chaos;

/// The terminal: one file a verb.
pub mod cli;

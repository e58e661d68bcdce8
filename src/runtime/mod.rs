//! One resilient model call.
//!
//! `AgentRuntime::call` is the seam: a `ModelCall` goes in, a `ModelAnswer` that holds the
//! output contract comes out, or a `CallFailed` that says why none could be had in time. Never:
//! NATS or Redis; each part is usable alone.

mod answer;
/// How long to wait before the next attempt.
pub mod backoff;
/// Spares a model server that fails, and its callers the wait.
pub mod breaker;
/// How many retries a process makes at most.
pub mod budget;
mod call;
/// How often a server has been called for one request.
pub mod calls_made;
/// The `[model]` table of a Puruto.
pub mod config;
/// One attempt at a model, whichever provider serves it.
pub mod connector;
/// Output contract 1.0.
pub mod contract;
mod failure;
/// What can go wrong, as one closed list.
pub mod fault;
/// What workers share of a model server.
pub mod fleet;
mod guarded;
/// Spans, log events and counts of a call.
pub mod observe;
/// One more call where an answer has the wrong form.
pub mod repair;
/// Whether a failed attempt is followed by another.
pub mod retry;
/// How long a server asks to be left alone.
pub mod retry_after;
/// Several models, one asked after the other.
pub mod routes;
/// A key that is used and never shown.
pub mod secret;
mod shared;
/// An answer as it is being written.
pub mod stream;
/// How a call spends the time in which it only waits.
pub mod waiting;

pub use self::{
    answer::{FinishReason, ModelAnswer, ToolCall, Usage},
    call::{
        InvalidModelName, InvalidTemperature, MaxTokens, Message, ModelCall, ModelName, Role,
        Temperature, ToolDefinition,
    },
    failure::{CallFailed, RouteEnded},
    fault::Fault,
    guarded::AgentRuntime,
    shared::Shared,
};

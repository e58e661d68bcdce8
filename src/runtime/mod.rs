//! One resilient model call.
//!
//! Never: NATS or Redis; each part is usable alone.

mod answer;
/// How long to wait before the next attempt.
pub mod backoff;
mod call;
/// What can go wrong, as one closed list.
pub mod fault;
/// Whether a failed attempt is followed by another.
pub mod retry;
/// How long a server asks to be left alone.
pub mod retry_after;

pub use self::{
    answer::{FinishReason, ModelAnswer, ToolCall, Usage},
    call::{
        InvalidModelName, InvalidTemperature, MaxTokens, Message, ModelCall, ModelName, Role,
        Temperature,
    },
    fault::Fault,
};

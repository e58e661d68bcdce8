//! An answer as it is being written: its pieces, in order, for whoever shows them.
//!
//! What the contract judges is the answer put together; a piece is shown before anybody knows
//! whether the rest comes. Never: a provider's wire form, or a wait on the side of the model call.

mod channel;
/// Server-sent events out of bytes.
pub(super) mod events;
/// Lines out of bytes.
pub(super) mod lines;

use std::fmt;

pub use self::channel::{TEXT_BYTES_MAX, TokenSink, Tokens, channel};

/// One step of an answer that is being written.
#[derive(Clone, PartialEq, Eq)]
pub enum Delta {
    /// The answer goes on with this text.
    Content(String),
    /// What the model thinks goes on with this text; it is no part of the answer.
    Reasoning(String),
    /// The answer starts again: whatever came before is void.
    Restart,
}

impl Delta {
    /// Whether it changes nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        match self {
            Self::Content(text) | Self::Reasoning(text) => text.is_empty(),
            Self::Restart => false,
        }
    }
}

impl fmt::Debug for Delta {
    /// Kind and length: an answer never reaches a log by way of `{:?}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content(text) => write!(f, "Content({} bytes)", text.len()),
            Self::Reasoning(text) => write!(f, "Reasoning({} bytes)", text.len()),
            Self::Restart => f.write_str("Restart"),
        }
    }
}

/// A delta and its place among all of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Counted from 0, without a gap.
    pub index: u64,
    /// What it says.
    pub delta: Delta,
}

//! Who asks, proven, and how much one may ask.
//!
//! Never: a secret in a log or in an answer, or a word about whether a key exists.

mod gate;
pub mod keys;
mod oauth2;
mod presented;
mod rate;
mod refusal;
mod scheme;

pub(super) use self::rate::network;
pub use self::{
    gate::{CannotOpen, Gate, Upkeep},
    oauth2::FetchFault,
    presented::Presented,
    rate::{CallerRate, TooMany},
    refusal::Refusal,
    scheme::{AuthScheme, KEY_HEADER, Scope, Unfit},
};

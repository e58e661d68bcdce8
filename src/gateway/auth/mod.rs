//! Who asks, proven, and how much one may ask.
//!
//! Never: a secret in a log or in an answer, or a word about whether a key exists.

mod scheme;

pub use self::scheme::{AuthScheme, KEY_HEADER, Scope, Unfit};

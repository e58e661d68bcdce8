//! The terminal: one file a verb.
//!
//! Never: a decision about a request; a verb gathers what it needs and calls the library.

mod connect;
/// `puruto dev`: the whole fleet on a laptop.
pub mod dev;
/// `puruto worker`: one worker process.
pub mod worker;

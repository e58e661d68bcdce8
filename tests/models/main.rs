//! The runtime as a library against model servers: one of our own that misbehaves byte by byte,
//! two that others wrote, and a real model.
//!
//! Owns nothing of the runtime. What is asserted is what its caller and the server see.
//! `tests/models.md` says which quirk of real servers is held by which test.

#![expect(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of a test fails it as the test itself would"
)]

#[path = "../support/mod.rs"]
mod support;

mod asking;
mod fault_server;

mod aimock;
mod bodies;
mod connections;
mod decoding;
mod headers;
mod limits;
mod llmock;
mod minimax;
mod probes;
mod refusals;
mod smollm2;
mod streaming;

//! The same promises asked of a seam's twin and of its real adapter.

#![expect(
    clippy::panic,
    reason = "a helper of a test fails it as the test itself would"
)]

#[path = "../support/mod.rs"]
mod support;

mod broker;
mod store;

//! The gateway's doors as those use them for whom they are: real gateways before a real fleet, asked
//! by the official clients of each protocol.
//!
//! Owns nothing of the fleet; each test starts its own servers, workers and gateways, and they end
//! with it.

#![expect(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of a test fails it as the test itself would"
)]

#[allow(dead_code, reason = "shared with the tests of the whole fleet")]
#[path = "../e2e/fleet.rs"]
mod fleet;
#[allow(dead_code, reason = "shared with the tests of the whole fleet")]
#[path = "../e2e/gateway/issuer.rs"]
mod issuer;
#[allow(dead_code, reason = "shared with the tests of the whole fleet")]
#[path = "../e2e/patience.rs"]
mod patience;
#[path = "../support/mod.rs"]
mod support;
#[allow(dead_code, reason = "shared with the tests of the whole fleet")]
#[path = "../e2e/terminal.rs"]
mod terminal;
#[allow(dead_code, reason = "shared with the tests of the whole fleet")]
#[path = "../e2e/wire.rs"]
mod wire;
#[allow(dead_code, reason = "shared with the tests of the whole fleet")]
#[path = "../e2e/worker.rs"]
mod worker;

mod certified;
mod gateway;
mod mcp;
mod secured;

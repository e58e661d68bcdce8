//! The dashboard as an operator has it: real servers and workers, in a browser that nobody here
//! wrote, headless Chromium.
//!
//! Whoever sets `PURUTO_SCREENSHOTS` to a folder finds there what the browser saw.

#![expect(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of a test fails it as the test itself would"
)]

#[path = "../support/mod.rs"]
mod support;

// The fleet of the program `e2e`.
#[expect(dead_code, reason = "another program uses all of it")]
#[path = "../e2e/fleet.rs"]
mod fleet;
#[allow(dead_code, reason = "another program uses all of it")]
#[path = "../e2e/patience.rs"]
mod patience;
#[expect(dead_code, reason = "another program uses all of it")]
#[path = "../e2e/terminal.rs"]
mod terminal;
#[expect(dead_code, reason = "another program uses all of it")]
#[path = "../e2e/wire.rs"]
mod wire;
#[expect(dead_code, reason = "another program uses all of it")]
#[path = "../e2e/worker.rs"]
mod worker;

mod browser;
mod console;
mod http;

mod acting;
mod entering;
mod origins;
mod outages;
mod process;
mod replaying;
mod seeing;

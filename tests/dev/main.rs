//! Local servers: found or installed, started and stopped with their data kept, and nothing left
//! running whatever becomes of the starter.

mod fakes;
mod finding;
#[cfg(target_os = "linux")]
mod guarding;
mod installing;
mod model;
mod serving;
#[path = "../support/mod.rs"]
mod support;

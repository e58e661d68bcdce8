//! `puruto dev` and `puruto demo` as a person runs them: the real program on real servers, with
//! nothing left behind.
#![cfg(target_os = "linux")]

mod demo;
mod dev;
mod processes;
mod program;
#[path = "../support/mod.rs"]
mod support;

//! The terminal: one file a verb.
//!
//! Never: a decision about a request; a verb gathers what it needs and calls the library.

mod app;
mod approve;
mod asker;
/// `puruto bench`: what an invocation costs on this machine.
pub mod bench;
mod cancel;
mod chaos;
mod check;
mod completions;
mod configuration;
mod connect;
mod demo;
mod dev;
mod dlq;
mod doctor;
mod events;
mod exit;
mod failure;
mod gateway;
mod gateway_key;
mod health;
mod invoke;
mod listing;
mod logs;
mod observed;
mod output;
mod progress;
mod result;
mod runs;
mod schema;
mod session;
mod show;
mod status;
mod streaming;
mod table;
mod tree;
mod watch;
mod why;
/// `puruto worker`: one worker process.
pub mod worker;

#[cfg(test)]
mod tests;

pub use self::{
    app::run,
    exit::Exit,
    output::{Output, Reader},
    session::World,
};

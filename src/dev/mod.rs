//! Local servers for a laptop and for the tests.
//!
//! Owns finding, installing, starting and stopping a real `nats-server` and a real `redis-server`
//! as child processes, starting workers and gateways beside them, and the guard that lets none of
//! them outlive whoever started it. It never speaks to a process beyond asking whether it is up, and
//! nothing outside a laptop or a test depends on it.

/// What can go wrong with local servers.
pub mod error;
/// Where a server's program is.
pub mod find;
/// The wrapper under which every child process runs.
pub mod guard;
/// Gets a server's program when the machine has none.
pub mod install;
/// What one process of a fleet is started with.
pub mod launch;
/// One process of a fleet, a worker or a gateway.
pub mod member;
/// A small language model, served on this machine.
pub mod model;
mod nats;
/// A NATS server and a Redis server that belong together.
pub mod pair;
/// Ports that are free.
pub mod port;
/// One question over HTTP to a process of our own.
pub mod probe;
/// One guarded child process.
pub mod process;
/// How Redis keeps what it wrote.
pub mod redis;
/// Runs a short-lived command to its end.
pub mod run;
/// Tells a person what is being done.
pub mod say;
/// One local server: start, stop, kill, restart.
pub mod server;
mod spawner;
/// The servers there are, and which versions of them will do.
pub mod tool;

use error::DevError;
use find::{Found, Places};
use say::Say;
use tool::Tool;

/// The program of `tool`: the first one found that is new enough, else one installed now.
///
/// # Errors
///
/// [`DevError::NoSource`] when there is none and every way to install one failed.
pub async fn obtain(tool: Tool, places: &Places, say: &dyn Say) -> Result<Found, DevError> {
    match find::find(tool, places, say).await {
        Some(found) => Ok(found),
        None => install::install(tool, places, say).await,
    }
}

//! What the model runtime itself costs.
//!
//! ```sh
//! cargo bench --bench runtime
//! ```
//!
//! A model server and the callers are processes of their own, on this machine. Three questions:
//! how much later an answer comes than by a bare HTTP client, with everything on (permits, spans
//! exported to a collector, log lines, metrics, parse, validation); how much memory ten thousand
//! calls in flight take; and whether anything is left of a thousand calls that were dropped.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

mod aborted;
mod bare;
mod caller;
mod in_flight;
mod latency;
mod process;
mod server;

use std::{env, error::Error};

use self::process::Child;

/// What a part of the benchmark ends in.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    // Cargo passes flags of its own.
    let words: Vec<String> = env::args()
        .skip(1)
        .filter(|it| !it.starts_with("--"))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words.as_slice() {
        ["server"] => on_one_thread(server::main()),
        ["latency", server] => on_one_thread(latency::main(server)),
        ["in-flight", server] => on_one_thread(in_flight::main(server)),
        ["aborted", server] => on_one_thread(aborted::main(server)),
        [] => all(),
        _ => Err(format!("expected no argument, got {words:?}").into()),
    }
}

/// As a worker does its work.
fn on_one_thread(part: impl Future<Output = Outcome<()>>) -> Outcome<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(part)
}

fn all() -> Outcome<()> {
    let mut server = Child::start(&["server"])?;
    let address = server.line()?;
    for part in ["latency", "in-flight", "aborted"] {
        let mut child = Child::start(&[part, &address])?;
        while let Ok(line) = child.line() {
            println!("{line}");
        }
        child.ended()?;
    }
    Ok(())
}

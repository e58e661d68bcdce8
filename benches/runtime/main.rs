//! What the model runtime itself costs.
//!
//! ```sh
//! cargo bench --bench runtime
//! ```
//!
//! A model server, a collector and the callers are processes of their own, on this machine. Three questions:
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

/// Where the model is, and who takes the spans.
#[derive(Clone, Copy, Debug)]
struct Servers<'a> {
    model: &'a str,
    collector: &'a str,
}

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
        ["latency", model, collector] => {
            on_one_thread(latency::main(&Servers { model, collector }))
        }
        ["in-flight", model, collector] => {
            on_one_thread(in_flight::main(&Servers { model, collector }))
        }
        ["aborted", model, collector] => {
            on_one_thread(aborted::main(&Servers { model, collector }))
        }
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
    // The same program twice: what the one does is not to keep callers of the other waiting.
    let (mut model, mut collector) = (Child::start(&["server"])?, Child::start(&["server"])?);
    let (model, collector) = (model.line()?, collector.line()?);
    for part in ["latency", "in-flight", "aborted"] {
        let mut child = Child::start(&[part, &model, &collector])?;
        while let Ok(line) = child.line() {
            println!("{line}");
        }
        child.ended()?;
    }
    Ok(())
}

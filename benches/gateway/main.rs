//! What the gateway itself costs.
//!
//! ```sh
//! cargo bench --bench gateway
//! ```
//!
//! NATS, Redis, the gateway and whoever asks it are processes of their own, on this machine. Four
//! questions: how much later a request is stored than by publishing the same bytes to NATS;
//! whether three thousand requests a second are taken, and what of two cores that leaves; how much
//! memory five thousand open streams of events take; and how long the dashboard's list takes, and
//! how much memory, with a hundred thousand requests in it.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

mod added;
mod dashboard;
mod fleet;
mod percentiles;
mod post;
#[path = "../runtime/process.rs"]
mod process;
mod streams;
mod sustained;
mod usage;

use std::{env, error::Error};

use self::{fleet::Fleet, process::Child};

/// By this line a part asks to be told what the fleet has used since it asked last.
const USED: &str = "used";

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
        ["added", gateway, nats] => on_one_thread(added::main(gateway, nats)),
        ["sustained", gateway] => on_one_thread(sustained::main(gateway)),
        ["streams", gateway] => on_one_thread(streams::main(gateway)),
        ["dashboard", gateway, nats] => on_one_thread(dashboard::main(gateway, nats)),
        [] => on_one_thread(all(&["added", "sustained", "streams", "dashboard"])),
        [part @ ("added" | "sustained" | "streams" | "dashboard")] => on_one_thread(all(&[part])),
        _ => Err(format!("expected a part or nothing, got {words:?}").into()),
    }
}

fn on_one_thread(part: impl Future<Output = Outcome<()>>) -> Outcome<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(part)
}

/// Each part against servers and a gateway of its own.
async fn all(parts: &[&str]) -> Outcome<()> {
    for part in parts {
        let fleet = Fleet::start().await?;
        let mut before = fleet.usage()?;
        let mut words = vec![*part, fleet.gateway()];
        let nats = fleet.nats();
        if matches!(*part, "added" | "dashboard") {
            words.push(&nats);
        }
        let mut child = Child::start(&words)?;
        while let Ok(line) = child.line() {
            match line.as_str() {
                USED => {
                    let now = fleet.usage()?;
                    println!("  {}", now.since(&before));
                    before = now;
                }
                _ => println!("{line}"),
            }
        }
        child.ended()?;
    }
    Ok(())
}

//! How much memory ten thousand calls to a slow server take.

use std::fs;

use tokio::{task::JoinSet, time::sleep};

use super::{Outcome, Servers, caller::Caller, server::SLOW_PATH};

const CALLS: usize = 10_000;
/// Calls that are begun before the others get time to be sent.
const AT_ONCE: usize = 100;
const GOAL_MIB: f64 = 300.0;

pub(super) async fn main(servers: &Servers<'_>) -> Outcome<()> {
    let caller = Caller::observed(servers, SLOW_PATH)?;
    let before = memory("VmRSS")?;
    let mut running = JoinSet::new();
    for begun in 0..CALLS {
        let caller = caller.clone();
        running.spawn(async move { caller.call().await });
        if begun % AT_ONCE == 0 {
            sleep(std::time::Duration::from_millis(10)).await;
        }
    }
    while caller.active() < CALLS && !running.is_empty() {
        sleep(std::time::Duration::from_millis(50)).await;
    }
    let (active, held) = (caller.active(), memory("VmRSS")?);
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    let most = memory("VmHWM")?;
    println!(
        "{active} calls in flight: {held:.0} MiB, at most {most:.0} MiB, {before:.0} MiB before (goal {GOAL_MIB:.0} MiB)"
    );
    println!(
        "  all answered; {} connections active afterwards",
        caller.active()
    );
    caller.close()?;
    Ok(())
}

/// A line of `/proc/self/status`, in MiB.
fn memory(line: &str) -> Outcome<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let found = status.lines().find_map(|it| it.strip_prefix(line));
    let kib = found.and_then(|it| it.trim_start_matches(':').split_whitespace().next());
    let kib: f64 = kib.ok_or("no such line in /proc/self/status")?.parse()?;
    Ok(kib / 1024.0)
}

//! How much memory ten thousand calls to a slow server take.

use tokio::{task::JoinSet, time::sleep};

use super::{Outcome, Servers, caller::Caller, process::memory, server::SLOW_PATH};

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

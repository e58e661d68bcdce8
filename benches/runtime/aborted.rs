//! Whether anything is left of a thousand calls that were dropped.

use std::time::Duration;

use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{Outcome, Servers, caller::Caller, server::SLOW_PATH};

const CALLS: usize = 1_000;
/// How long the gauges are given; they are to be at rest at once.
const AT_REST_WITHIN: Duration = Duration::from_secs(2);

pub(super) async fn main(servers: &Servers<'_>) -> Outcome<()> {
    let caller = Caller::observed(servers, SLOW_PATH)?;
    let mut running = JoinSet::new();
    for _ in 0..CALLS {
        let caller = caller.clone();
        running.spawn(async move { caller.call().await });
    }
    while caller.active() < CALLS {
        sleep(Duration::from_millis(10)).await;
    }
    let active = caller.active();
    running.shutdown().await;
    let dropped = Instant::now();
    while caller.active() > 0 && dropped.elapsed() < AT_REST_WITHIN {
        sleep(Duration::from_millis(1)).await;
    }
    println!(
        "{active} calls dropped: {} connections active {:.1} ms later",
        caller.active(),
        dropped.elapsed().as_secs_f64() * 1_000.0
    );
    let left = caller.active();
    caller.close()?;
    if left > 0 {
        return Err(format!("{left} permits were never given back").into());
    }
    Ok(())
}

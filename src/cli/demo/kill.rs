//! Finds the worker that has a request, and kills it.
//!
//! Never: a kill of anything but the demo's own workers.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{report::Report, stage::Player};
use crate::{dev::say::Say as _, telemetry::names::IN_FLIGHT};

/// How long it may take until a worker has the request.
const HELD_WITHIN: Duration = Duration::from_secs(5);
/// How often the workers are asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(10);

/// The worker that has a request to `target`.
///
/// # Errors
/// No worker has one for too long; in words.
pub(super) async fn holder<'p>(
    players: &'p mut [Player],
    target: &str,
) -> Result<&'p mut Player, String> {
    let found = timeout(HELD_WITHIN, find(players, target)).await;
    let found = found.map_err(|_| format!("no worker had the request within {HELD_WITHIN:?}"))?;
    let player = players.get_mut(found);
    player.ok_or_else(|| "there is no such worker".to_owned())
}

async fn find(players: &[Player], target: &str) -> usize {
    loop {
        for (number, player) in players.iter().enumerate() {
            if holds(player, target).await {
                return number;
            }
        }
        sleep(ASK_EVERY).await;
    }
}

/// As it says itself, by its metrics.
async fn holds(player: &Player, target: &str) -> bool {
    let held = format!("{}{{target=\"{target}\"}} 1", IN_FLIGHT.name);
    let metrics = player.process.metrics().await.unwrap_or_default();
    metrics.lines().any(|line| line == held)
}

/// Kills `player` with SIGKILL, says so, and tells when it was.
///
/// # Errors
/// The system refuses; in words.
pub(super) async fn kill(player: &mut Player, report: &Report) -> Result<Instant, String> {
    let pid = player.process.pid().unwrap_or_default();
    let killed = player.process.kill().await;
    killed.map_err(|error| error.to_string())?;
    let at = Instant::now();
    report.say(&format!("{} has it in hand: kill -9 {pid}", player.name));
    Ok(at)
}

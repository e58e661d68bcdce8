//! The scene in which a worker is killed with a request in its hands.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{
    cast::{ASKER, SLOW},
    expected::Expected,
    report::Report,
    scenes::Line,
    stage::{Player, Stage},
};
use crate::{
    client::Invocation,
    contract::{RequestId, TimeoutSec},
    dev::say::Say as _,
    telemetry::names::IN_FLIGHT,
};

/// The request; it takes long enough for its worker to be caught in the act.
const LINE: Line = Line {
    caller: ASKER,
    target: SLOW,
    action: "work",
    prompt: "Whoever may do it",
    expected: Expected::Summary("Whoever may do it"),
};
/// Its id.
const REQUEST: &str = "demo-take-over";
/// How long it may take in seconds, take-over included.
const ANSWER_WITHIN: u64 = 30;
/// How long it may take until a worker has the request.
const HELD_WITHIN: Duration = Duration::from_secs(5);
/// How often the workers are asked meanwhile.
const ASK_EVERY: Duration = Duration::from_millis(10);
/// One execution was killed, so there has to be another.
const EXECUTIONS_MIN: u32 = 2;

/// A worker is killed with SIGKILL while it holds a request; the other one finishes it.
pub(super) async fn play(stage: &mut Stage, report: &mut Report) {
    report.part("A worker is killed with a request in its hands");
    match act(stage, report).await {
        Ok(said) => report.right(&said),
        Err(said) => report.wrong(&said),
    }
}

/// What came of it; the error is what must not be.
async fn act(stage: &mut Stage, report: &Report) -> Result<String, String> {
    let request: RequestId = REQUEST.parse().map_err(in_words)?;
    let invocation = Invocation {
        request_id: Some(request.clone()),
        timeout: TimeoutSec::new(ANSWER_WITHIN),
        ..LINE.invocation()
    };
    let caller = stage.caller.clone();
    let (answer, killed) = tokio::join!(
        async { (caller.ask(invocation).await, Instant::now()) },
        kill_holder(&mut stage.players, report)
    );
    let ((answer, answered), killed) = (answer, killed?);
    let said = LINE.expected.judge(&answer.map_err(in_words)?)?;
    let executions = caller.attempts(&request).await.map_err(in_words)?;
    let executions = executions.unwrap_or_default();
    if executions < EXECUTIONS_MIN {
        return Err(format!(
            "{said}, after {executions} executions: nobody took over"
        ));
    }
    let after = answered.saturating_duration_since(killed);
    Ok(format!(
        "the other one took over, {after:.1?} from the kill to the answer, execution {executions}: {said}"
    ))
}

/// Kills the worker that holds the request, and says when.
async fn kill_holder(players: &mut [Player], report: &Report) -> Result<Instant, String> {
    let held = timeout(HELD_WITHIN, holder(players)).await;
    let held = held.map_err(|_| format!("no worker had the request within {HELD_WITHIN:?}"))?;
    let player = players.get_mut(held).ok_or("there is no such worker")?;
    let pid = player.process.pid().unwrap_or_default();
    player.process.kill().await.map_err(in_words)?;
    let killed = Instant::now();
    report.say(&format!("{} holds it: kill -9 {pid}", player.name));
    Ok(killed)
}

async fn holder(players: &[Player]) -> usize {
    loop {
        for (number, player) in players.iter().enumerate() {
            if holds(player).await {
                return number;
            }
        }
        sleep(ASK_EVERY).await;
    }
}

/// As it says itself, by its metrics.
async fn holds(player: &Player) -> bool {
    let held = format!("{}{{target=\"{SLOW}\"}} 1", IN_FLIGHT.name);
    let metrics = player.process.metrics().await.unwrap_or_default();
    metrics.lines().any(|line| line == held)
}

fn in_words(fault: impl std::fmt::Display) -> String {
    fault.to_string()
}

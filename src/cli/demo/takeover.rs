//! The scene in which a worker is killed with a request in its hands.

use tokio::time::Instant;

use super::{
    cast::{ASKER, SLOW},
    expected::Expected,
    kill,
    report::Report,
    scenes::Line,
    stage::{Player, Stage},
};
use crate::{
    client::Invocation,
    contract::{RequestId, TimeoutSec},
};

/// The request; it takes long enough for its worker to be caught in the act.
const LINE: Line = Line {
    caller: ASKER,
    target: SLOW,
    action: "work",
    prompt: "Whoever may do it",
    expected: Expected::Says("Whoever may do it"),
};
/// Its id.
const REQUEST: &str = "demo-take-over";
/// How long it may take in seconds, take-over included.
const ANSWER_WITHIN: u64 = 30;
/// One execution was killed, so there has to be another.
const EXECUTIONS_MIN: u32 = 2;

/// A worker is killed with SIGKILL while it holds a request; another one finishes it.
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
        strike(&mut stage.players, report)
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
        "another one took over, {after:.1?} from the kill to the answer, execution {executions}: {said}"
    ))
}

async fn strike(players: &mut [Player], report: &Report) -> Result<Instant, String> {
    let holder = kill::holder(players, SLOW).await?;
    kill::kill(holder, report).await
}

fn in_words(fault: impl std::fmt::Display) -> String {
    fault.to_string()
}

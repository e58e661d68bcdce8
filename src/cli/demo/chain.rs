//! The scene in which one Puruto asks another, and a worker is killed in the middle of it.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{
    cast::CAUGHT,
    expected::Expected,
    kill,
    report::Report,
    scenes::{Line, PERSON},
    stage::{Onlooker, Player, Stage},
};
use crate::{
    broker::ResultMessage,
    client::Invocation,
    contract::{CorrelationId, Header, TimeoutSec},
    dev::say::Say as _,
};

/// The request; whom it asks in turn takes long enough for its worker to be caught in the act.
const LINE: Line = Line {
    caller: PERSON,
    target: "puruto-reservations",
    action: "book_room",
    prompt: "A suite for Eva, 7 to 9 May",
    expected: Expected::Says("A suite for Eva, 7 to 9 May. Payment: "),
};
/// Its chain.
const CHAIN: &str = "demo-chain";
/// The requests of the chain: the booking, and the payment that it asks for.
const REQUESTS: usize = 2;
/// How long it may take in seconds, take-over included.
const ANSWER_WITHIN: u64 = 30;
/// How long the results of a chain may take to be read once its last one is there.
const RESULTS_WITHIN: Duration = Duration::from_secs(5);
/// One execution of the payment was killed, so there has to be another.
const EXECUTIONS_MIN: u32 = 2;

/// Whoever has the payment is killed with SIGKILL while the booking waits for it.
pub(super) async fn play(stage: &mut Stage, report: &mut Report) {
    report.part(
        "A chain: the booking waits for a payment, whose worker is killed in the middle of it",
    );
    match act(stage, report).await {
        Ok(Played { how, said, tree }) => {
            report.right(&how);
            report.detail(&said);
            report.detail(&tree);
        }
        Err(said) => report.wrong(&said),
    }
}

/// What came of it.
struct Played {
    how: String,
    said: String,
    tree: String,
}

/// The error is what must not be.
async fn act(stage: &mut Stage, report: &Report) -> Result<Played, String> {
    let chain: CorrelationId = CHAIN.parse().map_err(in_words)?;
    let invocation = Invocation {
        correlation_id: Some(chain.clone()),
        timeout: TimeoutSec::new(ANSWER_WITHIN),
        ..LINE.invocation()
    };
    let Stage {
        players,
        caller,
        onlooker,
        ..
    } = stage;
    let (answer, killed) = tokio::join!(
        async { (caller.ask(invocation).await, Instant::now()) },
        strike(players, onlooker, &chain, report)
    );
    let ((answer, answered), killed) = (answer, killed?);
    let said = LINE.expected.judge(&answer.map_err(in_words)?)?;
    let ends = ends(onlooker, &chain).await?;
    let after = answered.saturating_duration_since(killed);
    Ok(Played {
        how: format!("{}, {after:.1?} after the kill", told(&ends)?),
        said,
        tree: onlooker.tree(&chain).await.map_err(in_words)?,
    })
}

/// Draws the chain as it stands, then kills.
async fn strike(
    players: &mut [Player],
    onlooker: &Onlooker,
    chain: &CorrelationId,
    report: &Report,
) -> Result<Instant, String> {
    let holder = kill::holder(players, CAUGHT).await?;
    let tree = onlooker.tree(chain).await.map_err(in_words)?;
    report.say("the chain as `puruto tree` draws it");
    report.detail(&tree);
    kill::kill(holder, report).await
}

/// How one request of the chain ended.
struct End {
    target: String,
    worker: String,
    executions: u32,
}

impl End {
    fn of(result: &ResultMessage) -> Self {
        let header = |header| result.headers.get(header).unwrap_or_default();
        Self {
            target: header(Header::Target).to_owned(),
            worker: header(Header::Worker).to_owned(),
            executions: header(Header::Attempt).parse().unwrap_or_default(),
        }
    }
}

/// The results of the chain, in the order in which they came.
async fn ends(onlooker: &Onlooker, chain: &CorrelationId) -> Result<Vec<End>, String> {
    let mut results = onlooker.0.watch(chain).await.map_err(in_words)?;
    let mut ends = Vec::with_capacity(REQUESTS);
    while ends.len() < REQUESTS {
        let next = timeout(RESULTS_WITHIN, results.next()).await;
        let next = next.map_err(|_| format!("there are {} results", ends.len()))?;
        ends.push(End::of(&next.map_err(in_words)?));
    }
    Ok(ends)
}

/// Who went on; the error is a chain in which nobody had to.
fn told(ends: &[End]) -> Result<String, String> {
    let caught = ends.iter().find(|it| it.target == CAUGHT);
    let executions = caught.map_or(0, |it| it.executions);
    if executions < EXECUTIONS_MIN {
        return Err(format!(
            "{CAUGHT} took {executions} executions: nobody went on"
        ));
    }
    let ends = ends.iter().map(|end| {
        let End {
            target,
            worker,
            executions,
        } = end;
        format!("{target} in execution {executions} by {worker}")
    });
    let ends: Vec<_> = ends.collect();
    Ok(format!("one result each: {}", ends.join(", ")))
}

fn in_words(fault: impl std::fmt::Display) -> String {
    fault.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(target: &str, executions: u32) -> End {
        End {
            target: target.to_owned(),
            worker: "worker-3".to_owned(),
            executions,
        }
    }

    #[test]
    fn somebody_has_to_have_gone_on() {
        let ends = |executions| [end(CAUGHT, executions), end(LINE.target, 1)];
        let said = told(&ends(2)).expect("somebody did");
        assert!(
            said.contains("puruto-financial in execution 2 by worker-3, puruto-reservations in"),
            "{said}"
        );
        assert!(told(&ends(1)).is_err() && told(&[]).is_err());
    }
}

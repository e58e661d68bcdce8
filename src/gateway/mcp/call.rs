//! One call of a tool, from its start to its end.
//!
//! Owns what becomes of the execution when its client gives up, or the gateway ends: the first
//! cancels it where the protocol's version says so, the second never does.

use std::{pin::pin, time::Duration};

use rmcp::{
    RoleServer,
    model::{CallToolResult, ProtocolVersion},
    service::RequestContext,
};
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    Door,
    answer::{self, Failure},
    progress::Progress,
};
use crate::{
    contract::Outcome,
    gateway::{
        Principal,
        executions::{Desk, IdempotencyKey, Order, Phase, Unfound},
    },
    store::executions::Execution,
};

/// How callers of this door call themselves.
pub(super) const CALLER: &str = "mcp";

/// How long after its deadline a call is waited for: by then the fleet has answered it.
const OVERDUE: Duration = Duration::from_secs(120);

/// A notice of cancellation may overtake its call: how often that is looked for, ...
const LOOKS: u32 = 10;

/// ... and when again.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Starts what is ordered, and follows it to its end.
pub(super) async fn run(
    door: &Door,
    order: Order,
    context: &RequestContext<RoleServer>,
) -> CallToolResult {
    let execution = match door.desk.start(order).await {
        Ok(started) => started.execution,
        Err(unstarted) => return answer::failed(unstarted.into()),
    };
    let followed = pin!(follow(&door.desk, &execution, context));
    let ended = tokio::select! {
        biased;
        // Nobody will read the answer.
        () = context.ct.cancelled() => left(door, &execution, context).await,
        ended = followed => ended,
    };
    answer::ended(&execution, ended)
}

/// The execution as it goes on, to its end.
async fn follow(
    desk: &Desk,
    execution: &Execution,
    context: &RequestContext<RoleServer>,
) -> Result<Outcome, Failure> {
    let mut progress = progress(desk, execution, context).await;
    let watched = desk.watch(execution).await?;
    let left = execution.deadline.left(desk.fleet().now());
    let until = Instant::now() + left + OVERDUE;
    loop {
        let changed = watched.changed();
        let state = watched.state()?;
        if let Some(progress) = &mut progress {
            progress.stands(&watched, &state).await;
        }
        if let Phase::Ended(outcome) = state.phase {
            return Ok(outcome);
        }
        tokio::select! {
            () = changed => {}
            words = heard(&mut progress) => {
                if let Some(progress) = &mut progress {
                    progress.says(words).await;
                }
            }
            () = sleep_until(until) => return Err(unheard_of()),
        }
    }
}

/// Where progress is told, if the client asked for it.
async fn progress(
    desk: &Desk,
    execution: &Execution,
    context: &RequestContext<RoleServer>,
) -> Option<Progress> {
    let token = context.meta.get_progress_token()?;
    // From here on what is said is heard.
    match desk.fleet().tokens(execution, 0).await {
        Ok(tokens) => Some(Progress::new(context, token, tokens)),
        Err(fault) => {
            tracing::warn!(%fault, "gateway_cannot_subscribe");
            None
        }
    }
}

async fn heard(progress: &mut Option<Progress>) -> String {
    match progress {
        Some(progress) => progress.heard().await,
        None => std::future::pending().await,
    }
}

fn unheard_of() -> Failure {
    let message =
        "nothing was heard of the call in its time: its execution tells what became of it";
    Failure::new("UNAVAILABLE", message)
}

/// The client went away, or the gateway ends.
async fn left(
    door: &Door,
    execution: &Execution,
    context: &RequestContext<RoleServer>,
) -> Result<Outcome, Failure> {
    if closing_cancels(context) && !door.stop.is_cancelled() {
        cancel(&door.desk, execution).await;
    }
    Err(Failure::new("CANCELLED", "the client went away"))
}

/// Whether a client of this version cancels a call by closing its answer.
fn closing_cancels(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    // Dates, which sort as text.
    version.is_some_and(|it| it.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Cancels the call that `who` made under this key, whichever gateway answers it.
pub(super) async fn cancel_named(desk: &Desk, who: &Principal, key: &IdempotencyKey) {
    let id = key.id(&who.owner(), CALLER);
    for _ in 0..LOOKS {
        match desk.find(who, id.as_str()).await {
            Ok(execution) => return cancel(desk, &execution).await,
            Err(Unfound::Unknown) => sleep(LOOK_AGAIN).await,
            Err(Unfound::Gone) => return,
            Err(Unfound::Fault(fault)) => {
                tracing::warn!(%fault, "gateway_fleet_unanswered");
                return;
            }
        }
    }
    tracing::debug!(%id, "a call that was never made is not cancelled");
}

async fn cancel(desk: &Desk, execution: &Execution) {
    match desk.cancel(execution).await {
        // What has ended stays as it is.
        Ok(_) | Err(Unfound::Unknown | Unfound::Gone) => {}
        Err(Unfound::Fault(fault)) => tracing::warn!(%fault, "gateway_fleet_unanswered"),
    }
}

//! Run: the handler does the work, holding the claim and a slot.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use tracing::Instrument as _;

use super::{
    Pipeline, Service, Slot,
    admit::{Asked, Plan, timed_out},
    claim::{Claimed, Hold, held_delay},
    delegating::Asker,
    journal::Kept,
    park::Parking,
    receive::{Received, Turned},
    trail,
};
use crate::{
    broker::WalkBroker,
    contract::{ErrorCode, InvocationRequest, IpcKind, Outcome, ResultError, Spent},
    handler::{Budget, Context, Ended as Answer, delegating::Planned},
    store::WalkStore,
};

/// A request that has an outcome, not yet durable.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) received: Received,
    pub(super) asked: Asked,
    pub(super) hold: Hold,
    pub(super) outcome: Outcome,
    pub(super) cancelled: bool,
    /// What this turn spent.
    pub(super) spent: Spent,
}

/// What a turn of the handler came to.
#[derive(Debug)]
pub(super) enum Turn {
    /// There is an outcome.
    Ran(Box<Ran>),
    /// Others are to be asked first.
    Parking(Box<Parking>),
}

/// How the handler's time ended.
enum Ended {
    Answered(Result<Value, ResultError>),
    Planned(Planned, Arc<InvocationRequest>),
    Cancelled,
    Late,
    Fenced,
    HandedOver,
    /// Another request has its last chance here.
    NotNow,
}

impl<B: WalkBroker, C: WalkStore> Pipeline<B, C> {
    pub(super) async fn run(&self, claimed: Box<Claimed>, slot: Slot) -> Result<Turn, Turned> {
        let Claimed {
            received,
            asked,
            plan,
            hold,
        } = *claimed;
        let budget = self.budget_of(&received, &hold);
        let ended = match plan {
            // A process that was stopped right after its claim may go on long after it was lost.
            _ if !hold.session.is_live() => Ended::Fenced,
            // Before the claim, or since.
            _ if hold.cancelled || hold.cancel.is_cancelled() => Ended::Cancelled,
            Plan::Refuse(error) | Plan::Discard(error) => Ended::Answered(Err(error)),
            // A store that was away may have kept it waiting for its claim.
            Plan::Run(_) if asked.deadline.passed(self.ports.clock.now()) => Ended::Late,
            Plan::Run(request) => match self.ports.last_chances.turn(hold.attempt) {
                Some(_turn) => {
                    let context = self.context(&asked, &hold, request, &budget, &slot);
                    self.handle(&received, &asked, &hold, context).await
                }
                None => Ended::NotNow,
            },
        };
        drop(slot);
        let (outcome, cancelled) = match ended {
            Ended::Answered(Ok(value)) => (Outcome::Ok(value), false),
            Ended::Answered(Err(error)) => (Outcome::Error(error), false),
            Ended::Planned(planned, request) => {
                return Ok(Turn::Parking(Box::new(Parking {
                    received,
                    asked,
                    hold,
                    request,
                    planned,
                })));
            }
            Ended::Late => (Outcome::Error(self.late(&received, &asked)), false),
            Ended::Cancelled => {
                self.ports.tell_cancelled(&asked, hold.attempt);
                (Outcome::Error(cancelled_error()), true)
            }
            Ended::Fenced => return Err(received.lapse()),
            Ended::HandedOver => {
                return Err(received.hand_over(asked.key, hold.left(), Duration::ZERO));
            }
            Ended::NotNow => {
                let delay = held_delay(received.delivery.delivered);
                let delay = self.ports.chance.around(delay, 0.5);
                return Err(received.hand_over(asked.key, hold.left(), delay));
            }
        };
        Ok(Turn::Ran(Box::new(Ran {
            received,
            asked,
            hold,
            outcome,
            cancelled,
            spent: budget.unrecorded(),
        })))
    }

    /// What a request may spend: what its parent gave it, or what a first caller's may, within what
    /// its target allows.
    fn budget_of(&self, received: &Received, hold: &Hold) -> Budget {
        let lineage = hold.kin.lineage.as_ref();
        let given = lineage.map_or(self.ports.delegation.root, |it| it.limits);
        let limits = match &received.served.service {
            Service::Here { budget, .. } => given.within(budget),
            Service::Away | Service::Nobody => given,
        };
        Budget::new(limits, hold.kin.spent)
    }

    /// All powers of the handler.
    fn context(
        &self,
        asked: &Asked,
        hold: &Hold,
        request: Arc<InvocationRequest>,
        budget: &Budget,
        slot: &Slot,
    ) -> Context {
        let deadline = Instant::now() + asked.deadline.left(self.ports.clock.now());
        let asker = Asker {
            ports: Arc::clone(&self.ports),
            request: Arc::clone(&request),
            asked: asked.clone(),
            kin: hold.kin.clone(),
            budget: budget.clone(),
            session: Arc::clone(&hold.session),
        };
        let journal = Kept {
            ports: Arc::clone(&self.ports),
            owned: hold.owned(&asked.key),
            asked: asked.clone(),
            attempt: hold.attempt,
            session: Arc::clone(&hold.session),
            budget: budget.clone(),
            gone: hold.gone.clone(),
        };
        Context {
            request,
            attempt: hold.attempt,
            deadline,
            calls_made: hold.calls_made.clone(),
            waiting: slot.waiting(),
            listeners: Arc::clone(&self.listeners),
            budget: budget.clone(),
            delegating: Arc::new(asker),
            journal: Arc::new(journal),
        }
    }

    async fn handle(
        &self,
        received: &Received,
        asked: &Asked,
        hold: &Hold,
        context: Context,
    ) -> Ended {
        let Service::Here { handler, .. } = &received.served.service else {
            // Whoever can run it comes back, or its deadline does.
            return Ended::HandedOver;
        };
        let (request, deadline) = (Arc::clone(&context.request), context.deadline);
        let metrics = &received.served.metrics;
        let _held = metrics.hold();
        metrics.execution_started();
        trail::started(asked, hold);
        self.ports.tell_started(asked, hold.attempt);
        let started = Instant::now();
        let work = AssertUnwindSafe(handler.handle(context)).catch_unwind();
        let ended = tokio::select! {
            // A verdict about the claim comes before whatever the handler has to say.
            biased;
            () = hold.session.fenced.cancelled() => Ended::Fenced,
            () = hold.cancel.cancelled() => Ended::Cancelled,
            // Whether that is so, the commit learns.
            () = hold.gone.cancelled() => Ended::Cancelled,
            () = sleep_until(deadline) => Ended::Late,
            () = self.ports.hand_over.cancelled() => Ended::HandedOver,
            answer = work.instrument(asked.trace.span().clone()) => {
                match answer {
                    Ok(Ok(Answer::Answer(value))) => Ended::Answered(Ok(value)),
                    Ok(Ok(Answer::Delegate(planned))) => Ended::Planned(planned, request),
                    Ok(Err(error)) => Ended::Answered(Err(error)),
                    Err(_) => Ended::Answered(Err(panicked(asked))),
                }
            }
        };
        metrics.ran(started.elapsed());
        ended
    }

    fn late(&self, received: &Received, asked: &Asked) -> ResultError {
        let timeout = asked.deadline.at().since(received.delivery.stored_at);
        timed_out(asked.deadline, timeout, "running")
    }
}

/// The answer to a request that somebody cancelled.
pub(super) fn cancelled_error() -> ResultError {
    ResultError::new(ErrorCode::Cancelled, "cancelled by a caller")
}

fn panicked(asked: &Asked) -> ResultError {
    tracing::error!(target = %asked.key.target, "handler panicked: this is a bug of the fleet");
    let message = "the handler failed by a bug of its own; the worker's log has the place";
    ResultError::ipc(IpcKind::Internal, message)
}

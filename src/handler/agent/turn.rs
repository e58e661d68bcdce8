//! One turn of a run: from where its record stands to its end, or to where it waits for others.
//!
//! Three frontiers, each one checkpoint of the record: a question is reserved before it is asked, a
//! decision is accepted before it is carried out, and what came of it is written together with the
//! step. After each the record is read anew, for it may have moved. Never: the model asked again
//! for a decision that was accepted.

use super::{
    Agent,
    carry_out::Outcome,
    decision::{self, Decision, REPORT},
    ending,
    past::Past,
    proposer::{Heard, Question, Unfit, Unheard},
};
use crate::{
    contract::{IpcKind, ResultError, Spent},
    handler::{Context, Ended, crash::CrashPoint, delegating::Planned},
    store::run::{
        Checkpoint, CheckpointAnswer, NewRun, Operation, Revision, Run, RunLimits, RunStatus,
    },
};

/// How often in a row a record may be found where it was: each time something was to move it.
const STILL_MAX: u32 = 16;

/// One turn.
pub(super) struct Turn<'t> {
    agent: &'t Agent,
    context: &'t Context,
    limits: RunLimits,
}

impl<'t> Turn<'t> {
    pub(super) fn new(agent: &'t Agent, context: &'t Context) -> Self {
        Self {
            agent,
            context,
            limits: RunLimits {
                steps: agent.limits.steps,
                requests: agent.limits.requests,
                tree: *context.budget.limits(),
            },
        }
    }

    /// Until the run has ended or waits.
    pub(super) async fn take(&self) -> Result<Ended, ResultError> {
        let mut stood = None;
        let mut still = 0;
        while still < STILL_MAX {
            let run = self.run().await;
            if let Some(ended) = ending::of(&run, &self.limits) {
                return ended;
            }
            still = if stood.replace(run.revision) == Some(run.revision) {
                still + 1
            } else {
                0
            };
            if let Some(planned) = self.advance(&run).await {
                return Ok(Ended::Delegate(planned));
            }
        }
        let message = "the record of the run does not move: its store answers what it does not do";
        Err(ResultError::ipc(IpcKind::Internal, message))
    }

    /// The record as it stands, made where there is none.
    async fn run(&self) -> Run {
        let new = NewRun {
            model: self.agent.proposer.route(),
            goal: self.context.request.prompt.clone(),
        };
        self.context.journal.open(new).await
    }

    /// The next frontier. A plan where others have to do their part before the one after it.
    async fn advance(&self, run: &Run) -> Option<Planned> {
        match &run.pending {
            Some(pending) => self.execute(run, pending).await,
            None => {
                self.decide(run).await;
                None
            }
        }
    }

    /// Asks for a decision, and once more where the answer is none; each is reserved.
    async fn decide(&self, run: &Run) {
        let past = Past::of(run);
        let offer = self.agent.offer(&past).await;
        let mut question = Question {
            route: &run.model,
            goal: &run.goal,
            past: &past,
            offer: &offer,
            steps_left: self.limits.steps.saturating_sub(run.step.number()),
            unfit: None,
        };
        loop {
            let Some(revision) = self.reserve().await else {
                return;
            };
            let unfit = match self.agent.proposer.ask(self.context, &question).await {
                Ok(Heard {
                    decision: Ok(decision),
                    spent,
                }) => return self.accept(revision, &decision, spent).await,
                Ok(Heard {
                    decision: Err(unfit),
                    spent,
                }) => {
                    self.charge(spent).await;
                    unfit
                }
                Err(Unheard { error, spent }) => {
                    self.charge(spent).await;
                    return self.fail(&error).await;
                }
            };
            if question.unfit.is_some() {
                return self.fail(&not_decided(&unfit)).await;
            }
            question.unfit = Some(unfit);
        }
    }

    /// The revision at which the model may be asked; `None` where it may not, as the record says.
    async fn reserve(&self) -> Option<Revision> {
        let limits = self.limits;
        let answer = self.write(Checkpoint::Reserve { limits }).await;
        written(&answer)
    }

    async fn accept(&self, revision: Revision, decision: &Decision, spent: Spent) {
        let accept = Checkpoint::Accept {
            revision,
            decision: decision.to_json().to_string(),
            spent,
        };
        match written(&self.write(accept).await) {
            Some(_) => self.crash(CrashPoint::AfterPlan, decision.action()),
            // Somebody else went on meanwhile; what was asked in vain was asked all the same.
            None => self.charge(spent).await,
        }
    }

    async fn execute(&self, run: &Run, pending: &str) -> Option<Planned> {
        let decision = match decision::text(pending) {
            Ok(decision) => decision,
            Err(violations) => {
                let error = ResultError::contract_violation(&violations);
                self.fail(&error).await;
                return None;
            }
        };
        let (past, action) = (Past::of(run), decision.action());
        let carried_out = self
            .agent
            .carry_out(self.context, run.step, &past, decision);
        let (result, report) = match carried_out.await {
            Outcome::Observed(result) => (result, None),
            Outcome::Reported { answer, result } => (result, Some(answer)),
            Outcome::Delegated(planned) => return Some(planned),
        };
        self.crash(CrashPoint::InsideReport, action);
        let execute = Checkpoint::Execute {
            revision: run.revision,
            operation: Operation {
                decision: pending.to_owned(),
                result: result.to_string(),
            },
            report,
        };
        if written(&self.write(execute).await).is_some() {
            self.crash(CrashPoint::AfterCommit, action);
        }
        None
    }

    /// What was spent for no decision.
    async fn charge(&self, spent: Spent) {
        if spent != Spent::default() {
            self.write(Checkpoint::Charge { spent }).await;
        }
    }

    async fn fail(&self, error: &ResultError) {
        let reason = serde_json::to_string(error).expect("an error has only string keys");
        let status = RunStatus::Failed;
        self.write(Checkpoint::End { status, reason }).await;
    }

    async fn write(&self, checkpoint: Checkpoint) -> CheckpointAnswer {
        self.context.journal.checkpoint(checkpoint).await
    }

    /// Only ever where the run is about to end.
    fn crash(&self, point: CrashPoint, action: &str) {
        if action == REPORT {
            self.agent.crash_at.reached(point);
        }
    }
}

/// The revision that was written. Whatever else happened, the record says.
const fn written(answer: &CheckpointAnswer) -> Option<Revision> {
    match answer {
        CheckpointAnswer::Written(revision) => Some(*revision),
        CheckpointAnswer::Stale | CheckpointAnswer::Exhausted(_) | CheckpointAnswer::Lost => None,
    }
}

fn not_decided(unfit: &Unfit) -> ResultError {
    ResultError::contract_violation(&unfit.violations)
}

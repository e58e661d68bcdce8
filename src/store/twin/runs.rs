//! The runs of agents, as part of the reference model.

use super::{
    super::{
        RETENTION, RequestKey, Runs, StoreFault,
        kin::Owned,
        run::{
            Checkpoint, CheckpointAnswer, NewRun, Operation, Revision, Run, RunEvent, RunExhausted,
            RunLimits, RunStatus,
        },
    },
    Op, StoreTwin,
    data::Data,
    entry::Entry,
};
use crate::{
    clock::{Clock, WallTime},
    contract::{Good, Spent, Step},
};

/// A run; what it spent stands on its request's record.
#[derive(Debug)]
pub(super) struct AgentRun {
    run: Run,
    events: Vec<RunEvent>,
}

impl AgentRun {
    fn new(new: &NewRun, now: WallTime) -> Self {
        let run = Run {
            status: RunStatus::Queued,
            step: Step::new(0),
            requests: 0,
            revision: Revision::new(0),
            pending: None,
            model: new.model.clone(),
            goal: new.goal.clone(),
            past: Vec::new(),
            report: None,
            reason: None,
            spent: Spent::default(),
        };
        let events = Vec::new();
        let mut made = Self { run, events };
        made.tell("created", new.told(), now);
        made
    }

    fn tell(&mut self, kind: &str, payload: String, at: WallTime) {
        self.events.push(RunEvent {
            seq: self.events.len() as u64 + 1,
            at,
            kind: kind.to_owned(),
            payload,
        });
    }

    fn changed(&mut self) -> CheckpointAnswer {
        self.run.revision = Revision::new(self.run.revision.number() + 1);
        CheckpointAnswer::Written(self.run.revision)
    }

    fn reserve(
        &mut self,
        limits: &RunLimits,
        spent: &mut Spent,
        now: WallTime,
    ) -> CheckpointAnswer {
        if self.run.pending.is_some() {
            return CheckpointAnswer::Stale;
        }
        if let Some(exhausted) = limits.reached(&self.run, spent) {
            self.run.status = RunStatus::BudgetExhausted;
            let name = name_of(&exhausted);
            let payload = format!(r#"{{"reason":"budget","limit":"{name}"}}"#);
            self.tell("stopped", payload, now);
            return CheckpointAnswer::Exhausted(exhausted);
        }
        self.run.status = RunStatus::Running;
        self.run.requests += 1;
        spent.requests += 1;
        self.changed()
    }

    fn accept(&mut self, revision: Revision, decision: &str, now: WallTime) -> CheckpointAnswer {
        let run = &mut self.run;
        if run.pending.is_some() || run.status != RunStatus::Running || run.revision != revision {
            return CheckpointAnswer::Stale;
        }
        run.pending = Some(decision.to_owned());
        self.tell("decision.accepted", decision.to_owned(), now);
        self.changed()
    }

    fn execute(
        &mut self,
        revision: Revision,
        operation: &Operation,
        report: Option<&String>,
        now: WallTime,
    ) -> CheckpointAnswer {
        let run = &mut self.run;
        if run.pending.is_none() || run.revision != revision {
            return CheckpointAnswer::Stale;
        }
        let step = run.step;
        run.past.push(operation.clone());
        run.pending = None;
        run.step = Step::new(step.number() + 1);
        run.report = report.cloned();
        run.status = report.map_or(RunStatus::Running, |_| RunStatus::Completed);
        let payload = format!(r#"{{"step":{step},"result":{}}}"#, operation.result);
        self.tell("operation.completed", payload, now);
        self.changed()
    }
}

/// What the store calls a limit.
const fn name_of(limit: &RunExhausted) -> &'static str {
    match limit {
        RunExhausted::Steps => "steps",
        RunExhausted::Requests => "own_requests",
        RunExhausted::Tree(it) => match it.good {
            Good::Requests => "requests",
            Good::Tokens => "tokens",
            Good::Cost => "cost",
            Good::Descendants => "descendants",
        },
    }
}

impl Data {
    /// Ends the run of a request that is over, unless it has ended or there is none.
    pub(super) fn end_run(&mut self, key: &RequestKey, how: RunStatus, now: WallTime) {
        let Some(it) = self.runs.get_mut(key).filter(|it| !it.is_over()) else {
            return;
        };
        it.run.status = how;
        it.changed();
        match how {
            RunStatus::Cancelled => it.tell("cancelled", "{}".to_owned(), now),
            _ => it.tell("stopped", r#"{"reason":"request_ended"}"#.to_owned(), now),
        }
    }

    /// Moves a run that has not ended between waiting and running.
    pub(super) fn move_run(&mut self, key: &RequestKey, status: RunStatus) {
        if let Some(it) = self.runs.get_mut(key).filter(|it| !it.is_over()) {
            it.run.status = status;
        }
    }

    /// Whether a run has ended otherwise than by a cancel.
    pub(super) fn has_ended_run(&self, key: &RequestKey) -> bool {
        let run = self.runs.get(key);
        run.is_some_and(|it| it.is_over() && it.run.status != RunStatus::Cancelled)
    }

    fn create_run(&mut self, key: &RequestKey, new: &NewRun, now: WallTime) -> Run {
        if self.entry(key, now).is_none() {
            let entry = Entry::intended(now.saturating_add(RETENTION));
            self.records.insert(key.clone(), entry);
        }
        let spent = self.spent(key, now);
        let made = || AgentRun::new(new, now);
        let it = self.runs.entry(key.clone()).or_insert_with(made);
        Run {
            spent,
            ..it.run.clone()
        }
    }

    fn run(&self, key: &RequestKey, now: WallTime) -> Option<Run> {
        let run = self.runs.get(key)?.run.clone();
        let spent = self.spent(key, now);
        Some(Run { spent, ..run })
    }

    fn spent(&self, key: &RequestKey, now: WallTime) -> Spent {
        self.entry(key, now)
            .map_or_else(Spent::default, |it| it.kin.spent)
    }

    fn checkpoint(
        &mut self,
        owned: &Owned,
        checkpoint: &Checkpoint,
        now: WallTime,
    ) -> CheckpointAnswer {
        let entry = self.records.get_mut(&owned.key);
        let entry = entry.filter(|it| now < it.expires && it.is_owned(owned));
        let Some(entry) = entry else {
            return CheckpointAnswer::Lost;
        };
        let Some(it) = self.runs.get_mut(&owned.key) else {
            return CheckpointAnswer::Stale;
        };
        let spent = &mut entry.kin.spent;
        if let Checkpoint::Charge { spent: more } = checkpoint {
            *spent += *more;
            return CheckpointAnswer::Written(it.run.revision);
        }
        if entry.cancelled || it.run.status == RunStatus::Cancelled {
            return CheckpointAnswer::Lost;
        }
        if it.is_over() {
            return CheckpointAnswer::Stale;
        }
        it.carry_out(checkpoint, spent, now)
    }
}

impl AgentRun {
    const fn is_over(&self) -> bool {
        self.run.status.is_terminal()
    }

    fn carry_out(
        &mut self,
        checkpoint: &Checkpoint,
        spent: &mut Spent,
        now: WallTime,
    ) -> CheckpointAnswer {
        match checkpoint {
            Checkpoint::Reserve { limits } => self.reserve(limits, spent, now),
            Checkpoint::Accept {
                revision,
                decision,
                spent: more,
            } => {
                let answer = self.accept(*revision, decision, now);
                if matches!(answer, CheckpointAnswer::Written(_)) {
                    *spent += *more;
                }
                answer
            }
            Checkpoint::Execute {
                revision,
                operation,
                report,
            } => self.execute(*revision, operation, report.as_ref(), now),
            Checkpoint::Charge { spent: more } => {
                *spent += *more;
                CheckpointAnswer::Written(self.run.revision)
            }
            Checkpoint::End { status, reason } => {
                self.run.status = *status;
                self.run.reason = Some(reason.clone());
                self.tell("stopped", reason.clone(), now);
                CheckpointAnswer::Written(self.run.revision)
            }
        }
    }
}

impl Runs for StoreTwin {
    async fn create(&self, key: &RequestKey, new: &NewRun) -> Result<Run, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.create_run(key, new, clock.now());
        self.run(Op::RunCreate, effect).await
    }

    async fn run(&self, key: &RequestKey) -> Result<Option<Run>, StoreFault> {
        let effect = |data: &mut Data, clock: &Clock| data.run(key, clock.now());
        Self::run(self, Op::RunRead, effect).await
    }

    async fn events(&self, key: &RequestKey, after: u64) -> Result<Vec<RunEvent>, StoreFault> {
        let effect = |data: &mut Data, _: &Clock| {
            let events = data.runs.get(key).into_iter().flat_map(|it| &it.events);
            events.filter(|it| it.seq > after).cloned().collect()
        };
        Self::run(self, Op::RunEvents, effect).await
    }

    async fn checkpoint(
        &self,
        owned: &Owned,
        checkpoint: &Checkpoint,
    ) -> Result<CheckpointAnswer, StoreFault> {
        let effect =
            |data: &mut Data, clock: &Clock| data.checkpoint(owned, checkpoint, clock.now());
        Self::run(self, Op::Checkpoint, effect).await
    }
}

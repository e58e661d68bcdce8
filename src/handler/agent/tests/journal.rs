//! A journal in memory: the seed's table of runs, one row of it.
//!
//! It can be made to hang before or behind any of its calls, as a process does that is killed
//! there, and somebody else can change the run meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;

use crate::{
    contract::{Spent, Step},
    handler::journal::Journal,
    store::run::{Checkpoint, CheckpointAnswer, NewRun, Revision, Run, RunLimits, RunStatus},
};

/// Where a call hangs for good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hang {
    /// Call number so-and-so, from 0, before it does anything.
    Before(usize),
    /// The same, after it has done everything.
    Behind(usize),
}

/// Somebody else changes the run before call number so-and-so.
type Meddling = (usize, fn(&mut Run));

/// The journal of one run. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Notebook(Arc<Mutex<Pages>>);

#[derive(Debug, Default)]
struct Pages {
    run: Option<Run>,
    calls: usize,
    hang: Option<Hang>,
    meddling: Option<Meddling>,
    events: Vec<&'static str>,
}

impl Notebook {
    pub(super) fn hang(&self, hang: Hang) {
        self.pages().hang = Some(hang);
    }

    pub(super) fn meddle(&self, at: usize, with: fn(&mut Run)) {
        self.pages().meddling = Some((at, with));
    }

    pub(super) fn calls(&self) -> usize {
        self.pages().calls
    }

    pub(super) fn run(&self) -> Run {
        self.pages().run.clone().expect("a run")
    }

    /// Changes the run as somebody else would.
    pub(super) fn change(&self, change: impl FnOnce(&mut Run)) {
        change(self.pages().run.as_mut().expect("a run"));
    }

    /// What was written, in its order.
    pub(super) fn events(&self) -> Vec<&'static str> {
        self.pages().events.clone()
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One call, with whatever happens around it.
    async fn call<T>(&self, act: impl FnOnce(&mut Pages) -> T) -> T {
        let (call, hang) = {
            let mut pages = self.pages();
            let call = pages.calls;
            pages.calls += 1;
            if let (Some((at, with)), Some(run)) = (pages.meddling, pages.run.as_mut())
                && at == call
            {
                with(run);
            }
            (call, pages.hang)
        };
        if hang == Some(Hang::Before(call)) {
            std::future::pending::<()>().await;
        }
        let done = act(&mut self.pages());
        if hang == Some(Hang::Behind(call)) {
            std::future::pending::<()>().await;
        }
        done
    }
}

impl Journal for Notebook {
    fn open(&self, new: NewRun) -> BoxFuture<'_, Run> {
        Box::pin(self.call(|pages| pages.run.get_or_insert_with(|| queued(new)).clone()))
    }

    fn read(&self) -> BoxFuture<'_, Option<Run>> {
        Box::pin(self.call(|pages| pages.run.clone()))
    }

    fn checkpoint(&self, checkpoint: Checkpoint) -> BoxFuture<'_, CheckpointAnswer> {
        Box::pin(self.call(|pages| {
            let run = pages.run.as_mut().expect("a run");
            let (answer, event) = write(run, checkpoint);
            pages.events.extend(event);
            answer
        }))
    }
}

fn queued(new: NewRun) -> Run {
    Run {
        status: RunStatus::Queued,
        step: Step::default(),
        requests: 0,
        revision: Revision::default(),
        pending: None,
        model: new.model,
        goal: new.goal,
        past: vec![],
        report: None,
        reason: None,
        spent: Spent::default(),
    }
}

fn write(run: &mut Run, checkpoint: Checkpoint) -> (CheckpointAnswer, Option<&'static str>) {
    if run.status.is_terminal() {
        return (CheckpointAnswer::Stale, None);
    }
    match checkpoint {
        Checkpoint::Reserve { limits } => reserve(run, &limits),
        Checkpoint::Accept {
            revision,
            decision,
            spent,
        } => {
            if run.revision != revision || run.pending.is_some() {
                return (CheckpointAnswer::Stale, None);
            }
            run.pending = Some(decision);
            run.spent += spent;
            (moved(run), Some("decision.accepted"))
        }
        Checkpoint::Execute {
            revision,
            operation,
            report,
        } => {
            if run.revision != revision || run.pending.is_none() {
                return (CheckpointAnswer::Stale, None);
            }
            run.pending = None;
            run.past.push(operation);
            run.step = Step::new(run.step.number() + 1);
            if report.is_some() {
                run.status = RunStatus::Completed;
                run.report = report;
            }
            (moved(run), Some("operation.completed"))
        }
        Checkpoint::Charge { spent } => {
            run.spent += spent;
            (CheckpointAnswer::Written(run.revision), Some("charged"))
        }
        Checkpoint::End { status, reason } => {
            run.status = status;
            run.reason = Some(reason);
            (moved(run), Some("stopped"))
        }
    }
}

fn reserve(run: &mut Run, limits: &RunLimits) -> (CheckpointAnswer, Option<&'static str>) {
    if run.pending.is_some() {
        return (CheckpointAnswer::Stale, None);
    }
    let exhausted = limits.reached(run, &run.spent);
    if let Some(exhausted) = exhausted {
        run.status = RunStatus::BudgetExhausted;
        return (CheckpointAnswer::Exhausted(exhausted), Some("stopped"));
    }
    run.status = RunStatus::Running;
    run.requests += 1;
    run.spent += Spent {
        requests: 1,
        ..Spent::default()
    };
    (moved(run), Some("reserved"))
}

fn moved(run: &mut Run) -> CheckpointAnswer {
    run.revision = Revision::new(run.revision.number() + 1);
    CheckpointAnswer::Written(run.revision)
}

//! What the faults cost.

use std::{collections::BTreeMap, time::Duration};

use super::{
    delegated::DelegationFigures,
    faults::{Faults, Interval},
    stories::{Stories, Story},
    waking::View,
};
use crate::chaos::{
    history::{At, Entry, Event, WorkerId},
    schedule::Fault,
};

/// What the faults cost.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Requests that were accepted.
    pub accepted: usize,
    /// Handlers that were started.
    pub executions: usize,
    /// Of those, the ones beyond the first of their request and those that a delegation brings.
    pub repeated: usize,
    /// From the kill of a worker until each request that it held was claimed elsewhere or had its
    /// result, shortest first.
    pub recoveries: Vec<Duration>,
    /// The same, where no other fault was at work between the two.
    pub undisturbed: Vec<Duration>,
    /// How often each kind of fault struck.
    pub faults: BTreeMap<&'static str, usize>,
    /// How many requests ended in which way.
    pub endings: BTreeMap<String, usize>,
    /// What delegation came to.
    pub delegation: DelegationFigures,
}

impl Figures {
    pub(super) fn of(history: &[Entry], view: View<'_, '_>) -> Self {
        let (stories, faults) = (view.stories, view.faults);
        let mut figures = Self {
            delegation: DelegationFigures::of(history, view),
            ..Self::default()
        };
        for story in stories.iter() {
            figures.add(story);
        }
        for interval in &faults.all {
            *figures.faults.entry(interval.fault.kind()).or_default() += 1;
            figures.recover(interval, stories, faults);
        }
        figures.recoveries.sort_unstable();
        figures.undisturbed.sort_unstable();
        figures
    }

    fn add(&mut self, story: &Story<'_>) {
        self.accepted += usize::from(story.accepted().is_some());
        self.executions += story.executions();
        self.repeated += story.executions().saturating_sub(1 + story.steps());
        let ending = match story.stands() {
            Some(standing) => match (standing.code, standing.kind) {
                (None, _) => "ok".to_owned(),
                (Some(_), Some(kind)) => kind.to_owned(),
                (Some(code), None) => code.as_str().to_owned(),
            },
            // It was flagged before anybody asked for it.
            None if story.accepted().is_none() && story.claims().next().is_none() => return,
            None => "no result".to_owned(),
        };
        *self.endings.entry(ending).or_default() += 1;
    }

    fn recover(&mut self, kill: &Interval<'_>, stories: &Stories<'_>, faults: &Faults<'_>) {
        let is_kill = matches!(
            kill.fault,
            Fault::KillWorker { .. }
                | Fault::KillSupervisor
                | Fault::WrongClock { .. }
                | Fault::DieAt { .. }
        );
        let Some(victim) = kill.worker.filter(|_| is_kill) else {
            return;
        };
        for story in stories.iter().filter(|it| holds(it, victim, kill.from)) {
            let Some(recovered) = goes_on(story, victim, kill.from) else {
                continue;
            };
            let took = recovered.since(kill.from);
            self.recoveries.push(took);
            let at_work = |it: &&Interval<'_>| {
                it.from <= recovered && kill.from <= it.until.unwrap_or(recovered)
            };
            // The kill itself is one.
            if faults.all.iter().filter(at_work).count() == 1 {
                self.undisturbed.push(took);
            }
        }
    }
}

/// Whether `worker` held the request at that moment: the last claim was its own, and nothing had
/// come of it.
fn holds(story: &Story<'_>, worker: &WorkerId, at: At) -> bool {
    let claims = story.claims().filter(|it| it.granted <= at);
    let Some(last) = claims.max_by_key(|it| it.granted) else {
        return false;
    };
    let over = story.entries.iter().any(|entry| {
        let ended = match &entry.event {
            Event::Committed { claim, .. }
            | Event::Refused { claim, .. }
            | Event::LetGo { claim, .. } => claim == last.claim,
            Event::Heard { .. } => true,
            _ => false,
        };
        ended && entry.at <= at
    });
    last.worker == worker && !over
}

/// When somebody else went on with it, or its result came.
fn goes_on(story: &Story<'_>, victim: &WorkerId, after: At) -> Option<At> {
    let elsewhere = story.claims().filter(|it| it.worker != victim);
    let elsewhere = elsewhere.map(|it| it.granted);
    let heard = story.heard().map(|(at, _)| at);
    elsewhere.chain(heard).filter(|at| *at > after).min()
}

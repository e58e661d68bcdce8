//! What delegation came to: how much of it there was, and how long parents and cancels took.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{
    stories::Story,
    waking::{View, end_of, wake_of},
};
use crate::chaos::history::{Entry, Event};

/// What delegation came to.
#[derive(Clone, Debug, Default)]
pub struct DelegationFigures {
    /// How often a request asked others.
    pub delegations: usize,
    /// Requests that were asked by others.
    pub descendants: usize,
    /// The most that were below one caller's request.
    pub most_below: usize,
    /// How many levels the deepest of them had.
    pub deepest: usize,
    /// The most that waited at once while nobody owned them.
    pub waiting_most: usize,
    /// From the end of the last child that is waited for until its parent goes on, shortest first.
    pub resumes: Vec<Duration>,
    /// The same, where no fault was felt.
    pub undisturbed_resumes: Vec<Duration>,
    /// From when nobody wanted a delegated request any more until it ended, shortest first.
    pub ends: Vec<Duration>,
    /// The same, where no fault was felt.
    pub undisturbed_ends: Vec<Duration>,
    /// How many workers died at which joint, as they were made to.
    pub deaths: BTreeMap<&'static str, usize>,
}

impl DelegationFigures {
    pub(super) fn of(history: &[Entry], view: View<'_, '_>) -> Self {
        let mut figures = Self {
            waiting_most: waiting_most(history),
            ..Self::default()
        };
        for story in view.stories.iter() {
            figures.add(story, view);
        }
        for entry in history {
            if let Event::DiedAt { point, .. } = entry.event {
                *figures.deaths.entry(point.name()).or_default() += 1;
            }
        }
        for times in [
            &mut figures.resumes,
            &mut figures.undisturbed_resumes,
            &mut figures.ends,
            &mut figures.undisturbed_ends,
        ] {
            times.sort_unstable();
        }
        figures
    }

    fn add(&mut self, story: &Story<'_>, view: View<'_, '_>) {
        let kinship = view.kinship;
        self.deepest = self.deepest.max(kinship.depth(story.request));
        if kinship.link(story.request).is_some() {
            self.descendants += 1;
        } else {
            let below = kinship.below(story.request).len();
            self.most_below = self.most_below.max(below);
        }
        let delegations: BTreeMap<_, _> = kinship
            .delegations(story.request)
            .iter()
            .map(|it| (it.step, it))
            .collect();
        self.delegations += delegations.len();
        for delegation in delegations.into_values() {
            let Some(wait) = wake_of(story, delegation, view.stories) else {
                continue;
            };
            self.resumes.extend(wait.took());
            if wait.was_undisturbed(view) {
                self.undisturbed_resumes.extend(wait.took());
            }
        }
        if let Some((wait, _)) = end_of(story, view).filter(|_| story.claims().next().is_some()) {
            self.ends.extend(wait.took());
            if wait.was_undisturbed(view) {
                self.undisturbed_ends.extend(wait.took());
            }
        }
    }
}

/// The most requests that waited at once.
fn waiting_most(history: &[Entry]) -> usize {
    let (mut waiting, mut most) = (BTreeSet::new(), 0);
    for entry in history {
        match &entry.event {
            Event::LetGo { request, .. } => {
                waiting.insert(request);
            }
            Event::Claimed { request, .. } | Event::Heard { request, .. } => {
                waiting.remove(request);
            }
            _ => {}
        }
        most = most.max(waiting.len());
    }
    most
}

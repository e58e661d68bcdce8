//! What must happen to requests that ask others: a parent goes on after its children have ended,
//! and whatever nobody wants any more ends.

use std::time::Duration;

use super::{
    Rule, Terms, Violation,
    faults::Faults,
    kinship::{Delegation, Kinship, Link},
    stories::{Stories, Story},
};
use crate::chaos::history::{At, Event};

/// What is looked at to judge one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'c, 'h> {
    pub(super) stories: &'c Stories<'h>,
    pub(super) kinship: &'c Kinship<'h>,
    pub(super) faults: &'c Faults<'h>,
    pub(super) terms: &'c Terms,
}

/// From when on something was owed until it came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// Where a fault may have begun to matter.
    from: At,
    pub(super) since: At,
    pub(super) until: Option<At>,
}

pub(super) fn of_request(story: &Story<'_>, view: View<'_, '_>) -> Vec<Violation> {
    let found = [
        not_woken(story, view).map(|told| (Rule::NotWoken, told)),
        left_running(story, view).map(|told| (Rule::LeftRunning, told)),
    ];
    let violation = |(rule, told)| Violation {
        rule,
        request: Some(story.request.clone()),
        told,
    };
    found.into_iter().flatten().map(violation).collect()
}

impl Wait {
    /// How long it took.
    pub(super) fn took(&self) -> Option<Duration> {
        self.until.map(|until| until.since(self.since))
    }

    /// Whether no fault may have had to do with how long.
    pub(super) fn was_undisturbed(&self, view: View<'_, '_>) -> bool {
        let until = self.until.unwrap_or(self.since);
        view.faults.felt(self.from, until, view.terms.linger) == 0
    }

    /// Until when it had to come; `None` where nothing can be said, because faults never stopped
    /// or the store forgot what was owed.
    fn due(&self, view: View<'_, '_>, within: Duration) -> Option<At> {
        let soon = self.since.plus(within);
        let due = if view.faults.felt(self.from, soon, view.terms.linger) == 0 {
            soon
        } else {
            let calm = view.faults.calm?.plus(view.terms.linger);
            self.since.max(calm).plus(within)
        };
        (!view.faults.emptied_between(self.from, due)).then_some(due)
    }
}

/// L2.
fn not_woken(story: &Story<'_>, view: View<'_, '_>) -> Option<String> {
    for delegation in view.kinship.delegations(story.request) {
        let Some(wait) = wake_of(story, delegation, view.stories) else {
            continue;
        };
        let Some(due) = wait.due(view, view.terms.wakes_within) else {
            continue;
        };
        if wait.until.is_none_or(|until| due < until) {
            let went_on = wait
                .until
                .map_or_else(|| "never".to_owned(), |it| format!("at {it}"));
            return Some(format!(
                "of step {} enough had ended at {}, it went on {went_on}, due at {due}",
                delegation.step, wait.since
            ));
        }
    }
    None
}

/// From the end of the last child that a delegation waits for until its parent went on.
pub(super) fn wake_of(
    parent: &Story<'_>,
    delegation: &Delegation<'_>,
    stories: &Stories<'_>,
) -> Option<Wait> {
    let kids = delegation.children.iter();
    let mut ends: Vec<At> = kids
        .filter_map(|it| stories.get(&it.request)?.ended())
        .collect();
    ends.sort_unstable();
    let over = ends.get(usize::from(delegation.join).saturating_sub(1))?;
    // Whoever learns late that it wrote a delegation down may do so after its parent went on.
    let went_on = parent.entries.iter().filter(|it| it.at >= delegation.begun);
    let mut went_on = went_on.filter(|entry| match &entry.event {
        Event::Resumed { step, claim, .. } => *step == delegation.step && claim != delegation.claim,
        Event::Committed { .. } | Event::Heard { .. } => true,
        _ => false,
    });
    Some(Wait {
        from: delegation.begun,
        since: (*over).max(delegation.at),
        until: went_on.next().map(|it| it.at),
    })
}

/// L5.
fn left_running(story: &Story<'_>, view: View<'_, '_>) -> Option<String> {
    let (wait, why) = end_of(story, view)?;
    let due = wait.due(view, view.terms.ends_within)?;
    let late = story.entries.iter().find(|entry| {
        matches!(
            entry.event,
            Event::Started { .. } | Event::ModelCalled { .. }
        ) && due < entry.at
    });
    if let Some(late) = late {
        return Some(format!(
            "execution at {}, and {why} at {}",
            late.at, wait.since
        ));
    }
    // Nobody began with one that was never claimed.
    let runs = story.claims().next().is_some();
    let ended = wait.until.is_some_and(|until| until <= due);
    let told = || {
        let until = wait
            .until
            .map_or_else(|| "never".to_owned(), |it| format!("at {it}"));
        format!("{why} at {}, it ended {until}, due at {due}", wait.since)
    };
    (runs && !ended).then(told)
}

/// From when nobody wanted a delegated request any more until it ended; `None` for one that ended
/// before, or is wanted.
pub(super) fn end_of(story: &Story<'_>, view: View<'_, '_>) -> Option<(Wait, &'static str)> {
    if view.kinship.is_forged(story.request) {
        // Perhaps it is a caller's.
        return None;
    }
    let (since, why) = unwanted(story, view)?;
    let until = story.ended();
    let from = view.kinship.chain(story.request).map(|it| it.at).min()?;
    let wait = Wait { from, since, until };
    until.is_none_or(|it| it > since).then_some((wait, why))
}

/// Since when nobody wants a delegated request any more, and why.
pub(super) fn unwanted(story: &Story<'_>, view: View<'_, '_>) -> Option<(At, &'static str)> {
    let chain = view.kinship.chain(story.request);
    let given_up = chain.filter_map(|link| given_up(&link, view));
    given_up.min_by_key(|(at, _)| *at)
}

/// When a parent did not want what it had asked for in `link` any more.
fn given_up(link: &Link<'_>, view: View<'_, '_>) -> Option<(At, &'static str)> {
    let parent = view.stories.get(link.parent)?;
    let cancelled = parent.cancelled().map(|at| (at, "cancelled above"));
    let ended = parent.ended().map(|at| (at, "ended above"));
    let resumed = parent.entries.iter().find_map(|entry| match &entry.event {
        Event::Resumed { step, .. } if *step == link.step => Some((entry.at, "dropped above")),
        _ => None,
    });
    let all = [cancelled, ended, resumed].into_iter().flatten();
    all.min_by_key(|(at, _)| *at)
}

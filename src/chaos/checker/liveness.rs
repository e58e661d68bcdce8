//! What must happen once faults stop, to one request or to the run.

use std::collections::BTreeMap;

use super::{
    Rule, Terms, Violation,
    faults::Faults,
    stories::{Standing, Stories, Story},
    waking::{View, unwanted},
};
use crate::{
    chaos::history::{At, Entry, Event, Expected},
    contract::{ErrorCode, IpcKind, RequestId},
};

pub(super) fn of_request(story: &Story<'_>, view: View<'_, '_>) -> Vec<Violation> {
    let View {
        stories,
        faults,
        terms,
        ..
    } = view;
    let dead = story
        .accepted()
        .is_some_and(|it| stories.dead_lettered(it.sequence));
    let found = match story.stands() {
        None if dead => Vec::new(),
        None => vec![
            lost(story, view).map(|told| (Rule::Lost, told)),
            never_published(story).map(|told| (Rule::NeverPublished, told)),
        ],
        Some(standing) => vec![
            late(story, faults, terms).map(|told| (Rule::Late, told)),
            wrong(story, standing, view).map(|told| (Rule::WrongAnswer, told)),
            ignored(story, standing, faults).map(|told| (Rule::CancelIgnored, told)),
        ],
    };
    let executions = too_many(story, faults, terms).map(|told| (Rule::TooManyExecutions, told));
    let violation = |(rule, told)| Violation {
        rule,
        request: Some(story.request.clone()),
        told,
    };
    let all = found.into_iter().chain([executions]).flatten();
    all.map(violation).collect()
}

pub(super) fn of_run(stories: &Stories<'_>, history: &[Entry]) -> Vec<Violation> {
    let owners: BTreeMap<u64, _> = stories
        .iter()
        .filter_map(|story| Some((story.accepted()?.sequence, story.request)))
        .collect();
    let stuck = stories.left().iter().map(|sequence| Violation {
        rule: Rule::Stuck,
        request: owners.get(sequence).map(|request| (*request).clone()),
        told: format!("message {sequence} is still in the stream"),
    });
    let held = history.iter().filter_map(|entry| match &entry.event {
        Event::DeadSessionHolds { session } => Some(Violation {
            rule: Rule::HeldByTheDead,
            request: None,
            told: format!("session {session} is over and still on the roster"),
        }),
        _ => None,
    });
    let recorded = history.iter().filter_map(|entry| match &entry.event {
        Event::HostileStored { sequence, .. } => Some(*sequence),
        _ => None,
    });
    // One that is still there is stuck, and told above.
    let gone = recorded
        .filter(|it| !stories.dead_lettered(*it) && !stories.left().contains(it))
        .map(|sequence| Violation {
            rule: Rule::LeftUnanswered,
            request: None,
            told: format!("hostile message {sequence} left the stream without a record"),
        });
    stuck.chain(held).chain(gone).collect()
}

/// L1. One whose message is still there is stuck, and told elsewhere.
fn lost(story: &Story<'_>, view: View<'_, '_>) -> Option<String> {
    let Some(accepted) = story.accepted() else {
        return lost_child(story, view);
    };
    (!view.stories.left().contains(&accepted.sequence)).then(|| {
        format!(
            "accepted at {} as message {}, which is gone without a result",
            accepted.at, accepted.sequence
        )
    })
}

/// One that nobody ever claimed may never have been published: its parent ended before. Where a
/// message was forged under its id, or above it, a store that was emptied takes each of the two for
/// the request in turn, and refuses the other with all that it asked for, beside its place.
fn lost_child(story: &Story<'_>, view: View<'_, '_>) -> Option<String> {
    let link = view.kinship.link(story.request)?;
    let claim = story.claims().next()?;
    let mut above = view.kinship.chain(story.request).map(|it| it.parent);
    let is_forged = |it: &RequestId| view.kinship.is_forged(it);
    let there_were_two = is_forged(story.request) || above.any(is_forged);
    if there_were_two && may_be_forgotten(story, view) {
        return None;
    }
    // Which message it was nobody told.
    let may_be_stuck = !view.stories.left().is_empty();
    (!may_be_stuck).then(|| {
        format!(
            "asked by {} at {}, claimed at {}, and gone without a result",
            link.parent, link.at, claim.granted
        )
    })
}

/// L4.
fn never_published(story: &Story<'_>) -> Option<String> {
    let commit = story.commits().next()?;
    Some(format!("committed at {}", commit.at))
}

/// L1.
fn late(story: &Story<'_>, faults: &Faults<'_>, terms: &Terms) -> Option<String> {
    let (accepted, (heard, _)) = (story.accepted()?, story.heard().next()?);
    let due = accepted.at.plus(accepted.within).max(faults.calm?);
    (due.plus(terms.grace) < heard).then(|| format!("due at {due}, heard at {heard}"))
}

/// L1: an answer has its reason in the history.
fn wrong(story: &Story<'_>, standing: Standing<'_>, view: View<'_, '_>) -> Option<String> {
    let accepted = story.accepted().map(|it| it.expected);
    let foreseen = || view.kinship.foreseen(story.request).map(|it| it.expected);
    let expected = accepted.or_else(foreseen)?;
    let terms = view.terms;
    let right = match standing.code {
        code if expected.is(code) => true,
        // What its parent allowed it stood in its record; a caller's own is allowed more.
        None if expected == Expected::Refused(ErrorCode::BudgetExhausted) => {
            view.kinship.is_forged(story.request) || may_be_forgotten(story, view)
        }
        Some(ErrorCode::Timeout) => time_was_up(story, view),
        Some(ErrorCode::Cancelled) => cancel_was_asked(story) || nobody_wants(story, view),
        Some(ErrorCode::IpcError) if standing.kind == Some(IpcKind::Poisoned.as_str()) => {
            story.claims().count() >= terms.attempts_max
        }
        None | Some(_) => false,
    };
    let told = || {
        let (code, kind) = (standing.code, standing.kind);
        format!("ended with {code:?} {kind:?}, expected {expected:?}")
    };
    (!right).then(told)
}

/// Whether the store may have forgotten what it knew of a request before that began.
fn may_be_forgotten(story: &Story<'_>, view: View<'_, '_>) -> bool {
    let written = view.kinship.link(story.request).map(|it| it.at);
    let from = written.or_else(|| Some(story.entries.first()?.at));
    from.is_some_and(|from| view.faults.emptied_between(from, story.last()))
}

/// Whether the request, or the first of its chain, had been there for as long as it was allowed
/// to, when it got its answer.
fn time_was_up(story: &Story<'_>, view: View<'_, '_>) -> bool {
    let answered = story.heard().next().map(|(at, _)| at);
    let answered: At = answered.unwrap_or_else(|| story.last());
    let root = view.stories.get(view.kinship.caller(story.request));
    let accepted = story.accepted().or_else(|| root?.accepted());
    accepted.is_some_and(|it| it.sent.plus(it.within) <= answered.plus(view.terms.slack))
}

/// Whether whoever delegated it did without it, or ended; a parent whose time is up cancels what is
/// below it before it ends itself.
fn nobody_wants(story: &Story<'_>, view: View<'_, '_>) -> bool {
    let delegated = view.kinship.caller(story.request) != story.request;
    delegated
        && (unwanted(story, view).is_some()
            || time_was_up(story, view)
            || given_up_untold(story, view))
}

/// Whether its parent went on or ended first, where nobody told that it was asked, nor by which
/// delegation: a park whose answer was lost is known to whoever takes over alone.
fn given_up_untold(story: &Story<'_>, view: View<'_, '_>) -> bool {
    let kinship = view.kinship;
    let foreseen = kinship.foreseen(story.request);
    let foreseen = foreseen.filter(|_| kinship.link(story.request).is_none());
    let parent = foreseen.and_then(|it| view.stories.get(it.parent));
    let resumed = |it: &&Entry| matches!(it.event, Event::Resumed { .. });
    parent.is_some_and(|parent| {
        let resumed = parent.entries.iter().copied().find(resumed);
        let went_on = resumed.map(|it| it.at);
        let all = [went_on, parent.ended(), parent.cancelled()];
        let first = all.into_iter().flatten().min();
        first.is_some_and(|first| story.ended().is_some_and(|ended| first <= ended))
    })
}

fn cancel_was_asked(story: &Story<'_>) -> bool {
    let asked = |it: &&&Entry| matches!(it.event, Event::CancelAsked { .. });
    story.entries.iter().any(|it| asked(&it))
}

/// L5. The flag stands in the store and is gone with it.
fn ignored(story: &Story<'_>, standing: Standing<'_>, faults: &Faults<'_>) -> Option<String> {
    let at = story.cancelled()?;
    let held = standing.code == Some(ErrorCode::Cancelled);
    (!held && !faults.emptied_between(story.sent(), story.last()))
        .then(|| format!("flagged at {at}, ended with {:?}", standing.code))
}

/// A request is executed once, and once more for each of its delegations and for each fault that it
/// felt; one whose store was emptied begins again.
fn too_many(story: &Story<'_>, faults: &Faults<'_>, terms: &Terms) -> Option<String> {
    let executions = story.executions();
    let (from, last) = (story.entries.first()?.at, story.last());
    let felt = faults.felt(from, last, terms.linger);
    let emptied = faults.emptied_within(from, last);
    let steps = story.steps();
    (executions > 1 + felt + steps * (1 + emptied))
        .then(|| format!("{executions} executions, {steps} delegations, {felt} faults felt"))
}

//! What must happen once faults stop, to one request or to the run.

use std::collections::BTreeMap;

use super::{
    Rule, Terms, Violation,
    faults::Faults,
    stories::{Accepted, Standing, Stories, Story},
};
use crate::{
    chaos::history::{At, Entry, Event},
    contract::{ErrorCode, IpcKind},
};

pub(super) fn of_request(
    story: &Story<'_>,
    stories: &Stories<'_>,
    faults: &Faults<'_>,
    terms: &Terms,
) -> Vec<Violation> {
    let dead = story
        .accepted()
        .is_some_and(|it| stories.dead_lettered(it.sequence));
    let found = match story.stands() {
        None if dead => Vec::new(),
        None => vec![
            lost(story, stories).map(|told| (Rule::Lost, told)),
            never_published(story).map(|told| (Rule::NeverPublished, told)),
        ],
        Some(standing) => vec![
            late(story, faults, terms).map(|told| (Rule::Late, told)),
            wrong(story, standing, terms).map(|told| (Rule::WrongAnswer, told)),
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
fn lost(story: &Story<'_>, stories: &Stories<'_>) -> Option<String> {
    let accepted = story.accepted()?;
    (!stories.left().contains(&accepted.sequence)).then(|| {
        format!(
            "accepted at {} as message {}, which is gone without a result",
            accepted.at, accepted.sequence
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
fn wrong(story: &Story<'_>, standing: Standing<'_>, terms: &Terms) -> Option<String> {
    let accepted = story.accepted()?;
    let right = match standing.code {
        code if accepted.expected.is(code) => true,
        Some(ErrorCode::Timeout) => time_was_up(story, accepted, terms),
        Some(ErrorCode::Cancelled) => cancel_was_asked(story),
        Some(ErrorCode::IpcError) if standing.kind == Some(IpcKind::Poisoned.as_str()) => {
            story.claims().count() >= terms.attempts_max
        }
        None | Some(_) => false,
    };
    let told = || {
        let (code, kind) = (standing.code, standing.kind);
        format!(
            "ended with {code:?} {kind:?}, expected {:?}",
            accepted.expected
        )
    };
    (!right).then(told)
}

/// Whether the request had been there for as long as it was allowed to, when it got its answer.
fn time_was_up(story: &Story<'_>, accepted: Accepted, terms: &Terms) -> bool {
    let answered = story.heard().next().map(|(at, _)| at);
    let answered: At = answered.unwrap_or_else(|| story.last());
    accepted.sent.plus(accepted.within) <= answered.plus(terms.slack)
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

/// A request is executed once, and once more for each fault that it felt.
fn too_many(story: &Story<'_>, faults: &Faults<'_>, terms: &Terms) -> Option<String> {
    let executions = story.executions();
    let from = story.entries.first()?.at;
    let felt = faults.felt(from, story.last(), terms.linger);
    (executions > 1 + felt).then(|| format!("{executions} executions, {felt} faults felt"))
}

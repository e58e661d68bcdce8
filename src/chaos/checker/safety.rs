//! What must never happen, to one request or to the run.

use super::{
    Rule, Violation,
    faults::Faults,
    stories::{Commit, Story},
    waking::View,
};
use crate::chaos::history::{At, Digest, Entry, Event, WorkerId};

pub(super) fn of_request(story: &Story<'_>, view: View<'_, '_>) -> Vec<Violation> {
    let faults = view.faults;
    let found = [
        committed_twice(story, faults).map(|told| (Rule::CommittedTwice, told)),
        old_claim(story).map(|told| (Rule::CommittedUnderAnOldClaim, told)),
        other_bytes(story).map(|told| (Rule::PublishedOtherBytes, told)),
        unanswered(story).map(|told| (Rule::LeftUnanswered, told)),
        after_the_end(story, view).map(|told| (Rule::StartedAfterTheEnd, told)),
        changed(story, faults).map(|told| (Rule::AnswerChanged, told)),
    ];
    let violation = |(rule, told)| Violation {
        rule,
        request: Some(story.request.clone()),
        told,
    };
    found.into_iter().flatten().map(violation).collect()
}

pub(super) fn of_run(history: &[Entry]) -> Vec<Violation> {
    let leaks = history.iter().filter_map(|entry| match &entry.event {
        Event::Leaked { place } => Some(Violation {
            rule: Rule::Leaked,
            request: None,
            told: format!("it stands in {place}"),
        }),
        _ => None,
    });
    leaks.collect()
}

/// S1. A store that was emptied in between has forgotten the first; then the stream decides.
fn committed_twice(story: &Story<'_>, faults: &Faults<'_>) -> Option<String> {
    let commits: Vec<Commit<'_>> = story.commits().collect();
    let (first, rest) = commits.split_first()?;
    let mut last = first;
    for next in rest {
        // Whoever learns late of a commit that it began early may have made the first one.
        let forgotten = faults.emptied_between(last.begun, next.at)
            || faults.emptied_between(next.begun, last.at);
        if next.digest != last.digest && !forgotten {
            let (one, other) = (last.claim, next.claim);
            return Some(format!(
                "{} under {one} and {} under {other}, at {}",
                last.digest, next.digest, next.at
            ));
        }
        last = next;
    }
    None
}

/// S2. A later claim that was granted before the commit was even begun makes it an old one.
fn old_claim(story: &Story<'_>) -> Option<String> {
    for commit in story.commits() {
        let Some(own) = story.claims().find(|it| it.claim == commit.claim) else {
            return Some(format!("nobody was granted {}", commit.claim));
        };
        let rival = story.claims().find(|it| {
            it.claim != own.claim && it.granted > own.granted && it.granted < commit.begun
        });
        if let Some(rival) = rival {
            return Some(format!(
                "{} of {} was granted at {}, and {} of {} committed at {}",
                rival.claim, rival.worker, rival.granted, own.claim, own.worker, commit.at
            ));
        }
    }
    None
}

/// S3.
fn other_bytes(story: &Story<'_>) -> Option<String> {
    if story.may_hold_an_untold_commit() {
        return None;
    }
    let mut committed: Vec<&Digest> = story.commits().map(|it| it.digest).collect();
    for entry in &story.entries {
        if let Event::Publishing { digest, worker, .. } = &entry.event
            && story.may_have_been_committed_by_another(worker, entry.at)
        {
            committed.push(digest);
        }
    }
    let sent = story.entries.iter().find_map(|entry| match &entry.event {
        Event::Publishing { digest, worker, .. } if !committed.contains(&digest) => {
            Some(format!("{worker} sent {digest} at {}", entry.at))
        }
        _ => None,
    });
    let stands = story.stands().filter(|it| !committed.contains(&it.digest));
    sent.or_else(|| Some(format!("{} stands", stands?.digest)))
}

/// S4. Within one worker the order of its own log decides.
fn unanswered(story: &Story<'_>) -> Option<String> {
    let mut answered: Vec<&WorkerId> = Vec::new();
    for entry in &story.entries {
        match &entry.event {
            Event::Published { worker, .. } => answered.push(worker),
            Event::Acked { worker, .. } if !answered.contains(&worker) => {
                return Some(format!("{worker} acked at {}", entry.at));
            }
            _ => {}
        }
    }
    None
}

/// S5. A store that was emptied takes what was forged under a child's id for a request of its own.
fn after_the_end(story: &Story<'_>, view: View<'_, '_>) -> Option<String> {
    let (faults, terms) = (view.faults, view.terms);
    let began = story.entries.first()?.at;
    if view.kinship.is_forged(story.request) && faults.emptied_between(began, story.last()) {
        return None;
    }
    let wakes_within = 2 * terms.slack;
    for entry in &story.entries {
        let (what, woke) = match &entry.event {
            Event::Started { worker, .. } => {
                ("execution", faults.woke(worker, entry.at, wakes_within))
            }
            // A model does not see who calls.
            Event::ModelCalled { .. } => {
                ("model call", faults.anybody_woke(entry.at, wakes_within))
            }
            _ => continue,
        };
        let ended = ends(story, entry.at, faults)
            .filter(|(_, end)| end.plus(terms.slack) < entry.at)
            .min_by_key(|(_, end)| *end);
        if let (Some((why, end)), false) = (ended, woke) {
            return Some(format!("{what} at {}, {why} at {end}", entry.at));
        }
    }
    None
}

/// What ended the request for everyone to see, as far as it was known at `by`.
fn ends<'s>(
    story: &'s Story<'_>,
    by: At,
    faults: &'s Faults<'_>,
) -> impl Iterator<Item = (&'static str, At)> + 's {
    let results = story.entries.iter().filter_map(|entry| match &entry.event {
        Event::Heard { .. } => Some(("heard", entry.at)),
        Event::Published { own: true, .. } => Some(("published", entry.at)),
        _ => None,
    });
    let commits = story.commits();
    let commits = commits.filter(move |it| !faults.emptied_between(it.begun, by));
    let due = story.accepted().map(|it| ("due", it.at.plus(it.within)));
    // What was told of the cancel of a request that is forgotten is no promise.
    let sent = story.sent();
    let cancel = story.cancelled();
    let cancel = cancel.filter(move |_| !faults.emptied_between(sent, by));
    let commits = commits.map(|it| ("committed", it.at));
    let cancel = cancel.map(|at| ("cancelled", at));
    results.chain(commits).chain(due).chain(cancel)
}

/// S6. After the store was emptied a second answer may be sent, which the stream does not take.
fn changed(story: &Story<'_>, faults: &Faults<'_>) -> Option<String> {
    if faults.emptied_between(story.sent(), story.last()) {
        return None;
    }
    let mut seen = story.heard();
    let (at, first) = seen.next()?;
    let later = seen.map(|(_, digest)| digest);
    let mut later = later.chain(story.stands().map(|it| it.digest));
    let other = later.find(|digest| *digest != first)?;
    Some(format!("{first} was heard at {at}, then {other}"))
}

//! What must never happen to requests that ask others: a made-up origin, an id that is not its
//! place's, more than the bounds allow, a wait that holds something.

use std::collections::BTreeMap;

use super::{
    Rule, Terms, Violation,
    kinship::{Delegation, Kinship},
    stories::Story,
    waking::View,
};
use crate::{
    chaos::history::{At, ClaimId, Entry, Event, Origin},
    contract::RequestId,
};

pub(super) fn of_request(story: &Story<'_>, view: View<'_, '_>) -> Vec<Violation> {
    let View { kinship, terms, .. } = view;
    let found = [
        made_up(story, view).map(|told| (Rule::OriginMadeUp, told)),
        wrong_id(story, kinship).map(|told| (Rule::ChildIdWrong, told)),
        holds_on(story).map(|told| (Rule::WaitHolds, told)),
        too_often(story, terms).map(|told| (Rule::TooMuch, told)),
        too_wide(story, kinship, terms).map(|told| (Rule::TooMuch, told)),
        too_many_below(story, kinship, terms).map(|told| (Rule::TooMuch, told)),
    ];
    let violation = |(rule, told)| Violation {
        rule,
        request: Some(story.request.clone()),
        told,
    };
    found.into_iter().flatten().map(violation).collect()
}

pub(super) fn of_run(history: &[Entry]) -> Vec<Violation> {
    let held = history.iter().filter_map(|entry| match entry.event {
        Event::WaitedTogether {
            asked,
            waiting,
            slots,
            taken,
        } if taken > 0 || waiting < asked => Some(Violation {
            rule: Rule::WaitHolds,
            request: None,
            told: format!(
                "{waiting} of {asked} requests waited at once, and {taken} of {slots} slots were \
                 taken"
            ),
        }),
        _ => None,
    });
    held.collect()
}

/// S7. Who was asked by a request has its parent, its root and its depth from the record; a
/// caller's own request has none of it, whatever its message says.
fn made_up(story: &Story<'_>, view: View<'_, '_>) -> Option<String> {
    for entry in &story.entries {
        let Event::Started { origin, worker, .. } = &entry.event else {
            continue;
        };
        let told = match (origin, origins(story.request, view, entry.at)) {
            (Some(origin), Origins::None) if story.accepted().is_some() => {
                format!("has the parent {} and was asked by a caller", origin.parent)
            }
            (Some(origin), Origins::Some(all)) if !all.iter().any(|it| it.is(origin)) => {
                format!("has the origin {origin:?}, which is none of {all:?}")
            }
            (None, Origins::Some(_)) if !view.kinship.is_forged(story.request) => {
                "has no parent and was asked by one".to_owned()
            }
            _ => continue,
        };
        return Some(format!("on {worker} at {} it {told}", entry.at));
    }
    None
}

/// Which origins a request can have at some moment.
enum Origins<'h> {
    /// It is a caller's own.
    None,
    /// One of these: more than one where a message was forged above it, which then is a caller's.
    Some(Vec<Place<'h>>),
    /// The store forgot some of its chain, or who wrote it down did not live to tell.
    Unknown,
}

/// A place in a chain.
#[derive(Debug)]
struct Place<'h> {
    parent: &'h RequestId,
    root: &'h RequestId,
    hop: usize,
}

impl Place<'_> {
    fn is(&self, origin: &Origin) -> bool {
        let hop = usize::from(origin.hop);
        *self.parent == origin.parent && *self.root == origin.root && self.hop == hop
    }
}

fn origins<'h>(request: &RequestId, view: View<'_, 'h>, by: At) -> Origins<'h> {
    let kinship = view.kinship;
    let Some(link) = kinship.link(request).filter(|it| it.at <= by) else {
        return Origins::None;
    };
    let first = kinship.chain(request).map(|it| it.at).min();
    let root = view.stories.get(kinship.root(link.parent));
    let is_whole = root.is_some_and(|it| it.accepted().is_some());
    if !is_whole || view.faults.emptied_between(first.unwrap_or(link.at), by) {
        return Origins::Unknown;
    }
    let parent = link.parent;
    let above = kinship.chain(request).map(|it| it.parent).zip(1..);
    let first = kinship.depth(request);
    let roots = above.filter(|(root, hop)| *hop == first || kinship.is_forged(root));
    let places = roots.map(|(root, hop)| Place { parent, root, hop });
    Origins::Some(places.collect())
}

/// S8.
fn wrong_id(story: &Story<'_>, kinship: &Kinship<'_>) -> Option<String> {
    let parent = story.request;
    for delegation in kinship.delegations(parent) {
        for kid in delegation.children {
            let (id, place) = (&kid.request, (delegation.step, kid.index));
            let right = delegation.id_of(parent, kid);
            if *id != right {
                let (step, index) = place;
                return Some(format!(
                    "child {step}.{index} is {id} at {} and has to be {right}",
                    delegation.at
                ));
            }
            let strange = |it: &super::kinship::Foreseen<'_>| it.parent != parent;
            if let Some(other) = kinship.foreseen(id).filter(strange) {
                return Some(format!("{id} is a child of {}", other.parent));
            }
        }
    }
    None
}

/// S9. Nothing happens any more under a claim that was let go of.
fn holds_on(story: &Story<'_>) -> Option<String> {
    let mut over: BTreeMap<&ClaimId, At> = BTreeMap::new();
    for entry in &story.entries {
        match &entry.event {
            Event::LetGo { claim, .. } => {
                over.insert(claim, entry.at);
            }
            Event::Started { claim, worker, .. }
            | Event::Parked { claim, worker, .. }
            | Event::Resumed { claim, worker, .. }
            | Event::Committing { claim, worker, .. }
            | Event::Committed { claim, worker, .. } => {
                if let Some(since) = over.get(claim) {
                    return Some(format!(
                        "{worker} let go of {claim} at {since} and goes on under it at {}",
                        entry.at
                    ));
                }
            }
            _ => {}
        }
    }
    None
}

/// S10.
fn too_often(story: &Story<'_>, terms: &Terms) -> Option<String> {
    story.entries.iter().find_map(|entry| match &entry.event {
        Event::Claimed { attempt, .. } if *attempt as usize > terms.attempts_max => Some(format!(
            "attempt {attempt} at {}, at most {} are allowed",
            entry.at, terms.attempts_max
        )),
        _ => None,
    })
}

/// S10.
fn too_wide(story: &Story<'_>, kinship: &Kinship<'_>, terms: &Terms) -> Option<String> {
    let most = terms.bounds.children;
    let mut all = kinship.delegations(story.request).iter();
    let wide = all.find(|it| it.children.len() > most)?;
    let count = wide.children.len();
    Some(format!(
        "{count} children at {}, at most {most} are allowed",
        wide.at
    ))
}

/// S10, told of the root.
fn too_many_below(story: &Story<'_>, kinship: &Kinship<'_>, terms: &Terms) -> Option<String> {
    let root = story.request;
    if kinship.link(root).is_some() || kinship.delegations(root).is_empty() {
        return None;
    }
    let below = kinship.below(root);
    let depth = below.iter().map(|it| kinship.depth(it)).max().unwrap_or(0);
    let asked = below.iter().copied().chain([root]);
    let bytes: u64 = asked
        .flat_map(|it| last_of_each_step(kinship.delegations(it)))
        .map(|it| it.bytes)
        .sum();
    let bounds = terms.bounds;
    [
        (below.len() as u64, bounds.descendants as u64, "descendants"),
        (depth as u64, bounds.depth as u64, "levels"),
        (bytes, bounds.bytes, "bytes"),
    ]
    .into_iter()
    .find(|(count, most, _)| count > most)
    .map(|(count, most, what)| format!("{count} {what} below it, at most {most} are allowed"))
}

/// A step that was written down again is the same one.
fn last_of_each_step<'d, 'h>(
    delegations: &'d [Delegation<'h>],
) -> impl Iterator<Item = &'d Delegation<'h>> {
    let by_step: BTreeMap<_, _> = delegations.iter().map(|it| (it.step, it)).collect();
    by_step.into_values()
}

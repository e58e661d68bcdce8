//! A history, told request by request.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    chaos::history::{At, CancelTold, ClaimId, Digest, Entry, Event, Expected, WorkerId},
    contract::{ErrorCode, RequestId},
};

/// All requests, and what was read of the stream at the end.
#[derive(Debug)]
pub(super) struct Stories<'h> {
    by_request: BTreeMap<&'h RequestId, Story<'h>>,
    dead: BTreeSet<u64>,
    left: BTreeSet<u64>,
}

/// What happened to one request, in order.
#[derive(Debug)]
pub(super) struct Story<'h> {
    pub(super) request: &'h RequestId,
    pub(super) entries: Vec<&'h Entry>,
}

/// When and how a request came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accepted {
    /// It may have been stored from then on ...
    pub(super) sent: At,
    /// ... and was by then.
    pub(super) at: At,
    pub(super) within: std::time::Duration,
    pub(super) expected: Expected,
    pub(super) sequence: u64,
}

/// One claim and what came of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim<'h> {
    pub(super) worker: &'h WorkerId,
    pub(super) claim: &'h ClaimId,
    /// By the store's clock.
    pub(super) granted: At,
}

/// One result that the store took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commit<'h> {
    pub(super) claim: &'h ClaimId,
    pub(super) digest: &'h Digest,
    /// The store was asked from then on ...
    pub(super) begun: At,
    /// ... and had taken it by then.
    pub(super) at: At,
}

/// What stands at the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing<'h> {
    pub(super) digest: &'h Digest,
    pub(super) code: Option<ErrorCode>,
    pub(super) kind: Option<&'h str>,
}

impl<'h> Stories<'h> {
    pub(super) fn of(history: &'h [Entry]) -> Self {
        let mut stories = Self {
            by_request: BTreeMap::new(),
            dead: BTreeSet::new(),
            left: BTreeSet::new(),
        };
        for entry in history {
            stories.add(entry);
        }
        stories
    }

    fn add(&mut self, entry: &'h Entry) {
        if let Some(request) = entry.event.request() {
            let story = self.by_request.entry(request).or_insert_with(|| Story {
                request,
                entries: Vec::new(),
            });
            story.entries.push(entry);
        }
        match entry.event {
            Event::DeadLettered { sequence } => {
                self.dead.insert(sequence);
            }
            Event::LeftInStream { sequence } => {
                self.left.insert(sequence);
            }
            _ => {}
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Story<'h>> {
        self.by_request.values()
    }

    pub(super) fn get(&self, request: &RequestId) -> Option<&Story<'h>> {
        self.by_request.get(request)
    }

    pub(super) fn dead_lettered(&self, sequence: u64) -> bool {
        self.dead.contains(&sequence)
    }

    pub(super) fn left(&self) -> &BTreeSet<u64> {
        &self.left
    }
}

impl<'h> Story<'h> {
    /// Its first acceptance; the same request may be published again.
    pub(super) fn accepted(&self) -> Option<Accepted> {
        self.entries.iter().find_map(|entry| match &entry.event {
            Event::Accepted {
                sent,
                within,
                expected,
                sequence,
                ..
            } => Some(Accepted {
                sent: *sent,
                at: entry.at,
                within: *within,
                expected: *expected,
                sequence: *sequence,
            }),
            _ => None,
        })
    }

    /// When it was first sent.
    pub(super) fn sent(&self) -> At {
        self.accepted().map(|it| it.sent).unwrap_or_default()
    }

    pub(super) fn claims(&self) -> impl Iterator<Item = Claim<'h>> {
        self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Claimed {
                worker,
                claim,
                granted,
                ..
            } => Some(Claim {
                worker,
                claim,
                granted: *granted,
            }),
            _ => None,
        })
    }

    pub(super) fn commits(&self) -> impl Iterator<Item = Commit<'h>> {
        self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Committed { claim, digest, .. } => Some(Commit {
                claim,
                digest,
                begun: self.committing(claim).unwrap_or(entry.at),
                at: entry.at,
            }),
            _ => None,
        })
    }

    /// When the store was first asked to take a result under this claim.
    fn committing(&self, of: &ClaimId) -> Option<At> {
        self.entries.iter().find_map(|entry| match &entry.event {
            Event::Committing { claim, .. } if claim == of => Some(entry.at),
            _ => None,
        })
    }

    /// Whether some worker asked the store to take a result and did not live to say what came of
    /// it.
    pub(super) fn may_hold_an_untold_commit(&self) -> bool {
        let told = |of: &ClaimId| {
            self.entries.iter().any(|entry| match &entry.event {
                Event::Committed { claim, .. } | Event::Refused { claim, .. } => claim == of,
                _ => false,
            })
        };
        self.entries.iter().any(|entry| match &entry.event {
            Event::Committing { claim, .. } => !told(claim),
            _ => false,
        })
    }

    /// Whether somebody else than `publisher` had asked the store by then to take a result and did
    /// not know yet what came of it. A call that timed out may be carried out; whoever asks the
    /// store then learns of the result before its own worker does, who is refused when it asks
    /// again after the request was settled.
    pub(super) fn may_have_been_committed_by_another(&self, publisher: &WorkerId, by: At) -> bool {
        let told = |of: &ClaimId| {
            self.entries.iter().any(|entry| match &entry.event {
                Event::Committed { claim, .. } | Event::Refused { claim, .. } => {
                    claim == of && entry.at <= by
                }
                _ => false,
            })
        };
        self.entries.iter().any(|entry| match &entry.event {
            Event::Committing { worker, claim, .. } => {
                worker != publisher && entry.at <= by && !told(claim)
            }
            _ => false,
        })
    }

    pub(super) fn executions(&self) -> usize {
        let started = |it: &&&Entry| matches!(it.event, Event::Started { .. });
        self.entries.iter().filter(started).count()
    }

    pub(super) fn heard(&self) -> impl Iterator<Item = (At, &'h Digest)> {
        self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Heard { digest, .. } => Some((entry.at, digest)),
            _ => None,
        })
    }

    /// When its result was first there for everyone to see.
    pub(super) fn ended(&self) -> Option<At> {
        let ends = self.entries.iter().filter(|entry| {
            matches!(
                entry.event,
                Event::Heard { .. } | Event::Published { own: true, .. }
            )
        });
        ends.map(|it| it.at).min()
    }

    /// How many of its delegations its handler was told of.
    pub(super) fn steps(&self) -> usize {
        let steps = self.entries.iter().filter_map(|entry| match entry.event {
            Event::Resumed { step, .. } => Some(step),
            _ => None,
        });
        steps.collect::<BTreeSet<_>>().len()
    }

    pub(super) fn stands(&self) -> Option<Standing<'h>> {
        self.entries.iter().find_map(|entry| match &entry.event {
            Event::Stands {
                digest, code, kind, ..
            } => Some(Standing {
                digest,
                code: *code,
                kind: kind.as_deref(),
            }),
            _ => None,
        })
    }

    /// When a cancel first took hold.
    pub(super) fn cancelled(&self) -> Option<At> {
        let told = |it: &&&Entry| matches!(it.event, Event::CancelAsked { told, .. } if told == CancelTold::Flagged);
        self.entries.iter().find(told).map(|it| it.at)
    }

    /// When it was last heard of while it ran; not when its end was looked up.
    pub(super) fn last(&self) -> At {
        let reading = |it: &&Entry| matches!(it.event, Event::Stands { .. });
        let lived = self.entries.iter().filter(|it| !reading(it));
        lived.map(|it| it.at).max().unwrap_or_default()
    }
}

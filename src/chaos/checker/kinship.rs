//! Who asked whom, as the workers wrote it down.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter::successors,
};

use crate::{
    chaos::history::{At, ClaimId, Entry, Event, Expected, Kid},
    contract::{ChildPlace, PurutoName, RequestId, Step},
};

/// No chain of a history is longer: one that is goes in circles.
const DEPTH_MAX: usize = 64;

/// All delegations of a history.
#[derive(Debug, Default)]
pub(super) struct Kinship<'h> {
    by_parent: BTreeMap<&'h RequestId, Vec<Delegation<'h>>>,
    by_child: BTreeMap<&'h RequestId, Link<'h>>,
    foreseen: BTreeMap<&'h RequestId, Foreseen<'h>>,
    forged: BTreeSet<&'h RequestId>,
    /// What was last told of each claim before the next is looked at.
    last_told: BTreeMap<(&'h RequestId, &'h ClaimId), At>,
}

/// A delegation as it was written down; the same one again for each time that it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delegation<'h> {
    /// The store may have been asked to write it down from then on ...
    pub(super) begun: At,
    /// ... and had done so by then. A worker that sleeps in between learns of it late.
    pub(super) at: At,
    pub(super) claim: &'h ClaimId,
    pub(super) target: &'h PurutoName,
    pub(super) step: Step,
    pub(super) join: u16,
    pub(super) bytes: u64,
    pub(super) children: &'h [Kid],
}

/// By whom a request was asked first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link<'h> {
    pub(super) parent: &'h RequestId,
    pub(super) step: Step,
    /// The earliest that it may have been.
    pub(super) at: At,
}

/// What was known beforehand of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Foreseen<'h> {
    pub(super) parent: &'h RequestId,
    pub(super) expected: Expected,
}

impl<'h> Kinship<'h> {
    pub(super) fn of(history: &'h [Entry]) -> Self {
        let mut kinship = Self::default();
        for entry in history {
            kinship.add(entry);
        }
        kinship
    }

    fn add(&mut self, entry: &'h Entry) {
        match &entry.event {
            Event::Parked {
                request,
                claim,
                target,
                step,
                join,
                bytes,
                children,
                ..
            } => {
                let before = self.last_told.get(&(request, claim)).copied();
                let begun = before.unwrap_or(entry.at);
                let delegation = Delegation {
                    begun,
                    at: entry.at,
                    claim,
                    target,
                    step: *step,
                    join: *join,
                    bytes: *bytes,
                    children,
                };
                self.by_parent.entry(request).or_default().push(delegation);
                for kid in children {
                    self.by_child.entry(&kid.request).or_insert(Link {
                        parent: request,
                        step: *step,
                        at: begun,
                    });
                }
            }
            Event::Foreseen {
                request,
                parent,
                expected,
            } => {
                let expected = *expected;
                let foreseen = Foreseen { parent, expected };
                self.foreseen.insert(request, foreseen);
            }
            Event::Forged { request } => {
                self.forged.insert(request);
            }
            Event::Claimed { request, claim, .. }
            | Event::Started { request, claim, .. }
            | Event::Resumed { request, claim, .. } => {
                self.last_told.insert((request, claim), entry.at);
            }
            _ => {}
        }
    }

    /// Everything that `parent` delegated, in order of time.
    pub(super) fn delegations(&self, parent: &RequestId) -> &[Delegation<'h>] {
        self.by_parent.get(parent).map_or(&[], Vec::as_slice)
    }

    pub(super) fn link(&self, child: &RequestId) -> Option<Link<'h>> {
        self.by_child.get(child).copied()
    }

    pub(super) fn foreseen(&self, child: &RequestId) -> Option<Foreseen<'h>> {
        self.foreseen.get(child).copied()
    }

    pub(super) fn is_forged(&self, child: &RequestId) -> bool {
        self.forged.contains(child)
    }

    /// The links from `child` up to its first caller's request.
    pub(super) fn chain(&self, child: &RequestId) -> impl Iterator<Item = Link<'h>> {
        successors(self.link(child), |link| self.link(link.parent)).take(DEPTH_MAX)
    }

    /// The first request of the chain in which `request` stands.
    pub(super) fn root<'r>(&self, request: &'r RequestId) -> &'r RequestId
    where
        'h: 'r,
    {
        self.chain(request).last().map_or(request, |it| it.parent)
    }

    /// Who asks for it: as it was written down, or as it was known beforehand.
    fn parent(&self, child: &RequestId) -> Option<&'h RequestId> {
        let written = self.link(child).map(|it| it.parent);
        written.or_else(|| self.foreseen(child).map(|it| it.parent))
    }

    /// The caller's request because of which there is this one; itself where nobody delegated it.
    pub(super) fn caller<'r>(&self, request: &'r RequestId) -> &'r RequestId
    where
        'h: 'r,
    {
        let above = successors(Some(request), |it| {
            self.parent(it).map(|it| it as &'r RequestId)
        });
        above.take(DEPTH_MAX).last().unwrap_or(request)
    }

    /// How many requests stand above it.
    pub(super) fn depth(&self, request: &RequestId) -> usize {
        self.chain(request).count()
    }

    /// Every request below `root`, once.
    pub(super) fn below(&self, root: &RequestId) -> BTreeSet<&'h RequestId> {
        let mut found = BTreeSet::new();
        let mut open: Vec<_> = self.children(root).collect();
        while let Some(child) = open.pop() {
            if found.insert(child) {
                open.extend(self.children(child));
            }
        }
        found
    }

    fn children(&self, parent: &RequestId) -> impl Iterator<Item = &'h RequestId> {
        let kids = self.delegations(parent).iter().flat_map(|it| it.children);
        kids.map(|it| &it.request)
    }
}

impl Delegation<'_> {
    /// The id that a child has to have.
    pub(super) fn id_of(&self, parent: &RequestId, kid: &Kid) -> RequestId {
        let (step, index) = (self.step, kid.index);
        ChildPlace { step, index }.child_of(self.target, parent)
    }
}

//! What a record says of its request's kin, in the reference model.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::super::kin::{Child, ChildEnd, ChildEnded, Kin, Lineage, Park, Verdict, Wait};
use crate::contract::{ChildPlace, Micros, Spent, Step};

#[derive(Debug, Default)]
pub(super) struct Relations {
    pub(super) lineage: Option<Lineage>,
    pub(super) verdict: Option<Verdict>,
    pub(super) spent: Spent,
    pub(super) delegation: Option<Delegated>,
    /// The delegations that are over.
    steps: Vec<Step>,
    /// Every child ever.
    children: BTreeMap<ChildPlace, Child>,
    /// What was granted to children that have not been told of as ended.
    slices: BTreeMap<ChildPlace, Spent>,
}

/// A request's last delegation.
#[derive(Debug)]
pub(super) struct Delegated {
    pub(super) wait: Wait,
    /// Its handler has not been told of its end.
    pub(super) is_open: bool,
    /// The children's messages, until they are known to be published.
    pub(super) messages: Vec<Bytes>,
}

impl Relations {
    /// What a claim is told.
    pub(super) fn told(&self) -> Option<Box<Kin>> {
        let kin = Kin {
            lineage: self.lineage.clone(),
            waits: self.open().is_some(),
            steps: self.steps.clone(),
            spent: self.spent,
            verdict: self.verdict.clone(),
        };
        (kin != Kin::default()).then(|| Box::new(kin))
    }

    fn open(&self) -> Option<&Delegated> {
        self.delegation.as_ref().filter(|it| it.is_open)
    }

    /// Whether it waits for no child.
    pub(super) fn is_ready(&self) -> bool {
        self.open().is_none_or(|it| it.wait.is_over())
    }

    pub(super) fn running(&self) -> Vec<Child> {
        let wait = self.delegation.as_ref().map(|it| &it.wait);
        wait.into_iter().flat_map(Wait::running).cloned().collect()
    }

    pub(super) fn children(&self) -> Vec<Child> {
        self.children.values().cloned().collect()
    }

    /// Whether it waits for the children of this step.
    pub(super) fn is_open(&self, step: Step) -> bool {
        self.open().is_some_and(|it| it.wait.step == step)
    }

    /// Whether that is new.
    pub(super) fn park(&mut self, park: &Park) -> bool {
        let first = park.children.first().map(|(child, _)| child.place);
        if first.is_some_and(|place| self.children.contains_key(&place)) {
            return false;
        }
        for (child, _) in &park.children {
            let slice = child.limits.as_spent();
            self.spent += slice;
            self.spent.descendants += 1;
            self.slices.insert(child.place, slice);
            self.children.insert(child.place, child.clone());
        }
        let children = park.children.iter().map(|(child, _)| (child.clone(), None));
        let messages = park.children.iter().map(|(_, message)| message.clone());
        self.delegation = Some(Delegated {
            wait: Wait {
                step: park.step,
                join: park.join,
                sent: false,
                children: children.collect(),
            },
            is_open: true,
            messages: messages.collect(),
        });
        true
    }

    /// Whether it waits for this child.
    pub(super) fn child_ended(&mut self, ended: &ChildEnded) -> bool {
        if let Some(slice) = self.slices.remove(&ended.place) {
            self.spent = less(self.spent, slice);
            self.spent += ended.spent;
        }
        let open = self.delegation.as_mut().filter(|it| it.is_open);
        let mut children = open.into_iter().flat_map(|it| &mut it.wait.children);
        let child = children.find(|(child, _)| child.place == ended.place);
        let Some((_, end)) = child else {
            return false;
        };
        end.get_or_insert(ended.end);
        true
    }

    /// The children that are dropped.
    pub(super) fn resume(&mut self, step: Step) -> Vec<Child> {
        let Some(delegated) = self.delegation.as_mut().filter(|it| it.wait.step == step) else {
            return Vec::new();
        };
        if delegated.is_open {
            for (_, end) in &mut delegated.wait.children {
                end.get_or_insert(ChildEnd::Dropped);
            }
            delegated.is_open = false;
            self.steps.push(step);
        }
        let all = delegated.wait.children.iter();
        let dropped = all.filter(|(_, end)| *end == Some(ChildEnd::Dropped));
        dropped.map(|(child, _)| child.clone()).collect()
    }

    pub(super) fn commit(&mut self, spent: Spent) {
        self.delegation = None;
        self.spent += spent;
    }
}

fn less(all: Spent, part: Spent) -> Spent {
    Spent {
        requests: all.requests.saturating_sub(part.requests),
        tokens: all.tokens.saturating_sub(part.tokens),
        cost: Micros(all.cost.0.saturating_sub(part.cost.0)),
        descendants: all.descendants.saturating_sub(part.descendants),
    }
}

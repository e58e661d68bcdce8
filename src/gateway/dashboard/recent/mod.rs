//! The latest requests, as far as anything was heard of them: an index in memory.
//!
//! It holds so many and forgets the one that it heard of first. Whatever it is asked, it looks at
//! each request once at most.
//! Never: I/O, or a promise; how a request stands is in its record.

mod entry;
mod query;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    num::NonZeroUsize,
    sync::Arc,
};

use self::entry::Entry;
pub(super) use self::{
    entry::{Phase, Told, What},
    query::{Filter, Row, Serial},
};

/// Names of targets, callers, actions and workers that are kept once; others are kept each time.
const NAMES_MAX: usize = 4_096;

/// Names a request: who is asked, and its id.
type Key = (Arc<str>, Arc<str>);

/// The latest requests.
#[derive(Debug)]
pub(super) struct Recent {
    most: NonZeroUsize,
    entries: VecDeque<Entry>,
    /// The serial number of the first entry.
    first: u64,
    serials: HashMap<Key, u64>,
    names: HashSet<Arc<str>>,
    counts: BTreeMap<Arc<str>, Counts>,
    changes: u64,
}

/// How many requests of a target are in each phase.
pub(super) type Counts = [u32; Phase::ALL.len()];

impl Recent {
    /// An index of so many requests.
    pub(super) fn of(most: NonZeroUsize) -> Self {
        Self {
            most,
            entries: VecDeque::new(),
            first: 0,
            serials: HashMap::new(),
            names: HashSet::new(),
            counts: BTreeMap::new(),
            changes: 0,
        }
    }

    /// Takes in what was told of a request.
    pub(super) fn take(&mut self, told: Told) {
        let key = (
            self.name(told.target.as_str()),
            told.request.as_str().into(),
        );
        let what = self.named(told.what);
        let serial = self.serials.get(&key).copied();
        let Some(entry) = serial.and_then(|serial| self.entry_mut(serial)) else {
            let chain = told.correlation.as_str().into();
            let mut entry = Entry::new(key, chain, told.at);
            entry.hear(told.at, what);
            return self.add(entry);
        };
        let (target, before) = (Arc::clone(&entry.key.0), entry.phase);
        if !entry.hear(told.at, what) {
            return;
        }
        let after = entry.phase;
        self.count(&target, before, |count| count.saturating_sub(1));
        self.count(&target, after, |count| count + 1);
        self.changes += 1;
    }

    /// How many requests it holds.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Grows with whatever is taken in.
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    /// How many of its requests are in which phase, by target.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&str, &Counts)> {
        self.counts
            .iter()
            .map(|(target, counts)| (&**target, counts))
    }

    fn add(&mut self, entry: Entry) {
        if self.entries.len() == self.most.get() {
            self.forget_first();
        }
        let serial = self.first + self.entries.len() as u64;
        let target = Arc::clone(&entry.key.0);
        self.count(&target, entry.phase, |count| count + 1);
        self.serials.insert(entry.key.clone(), serial);
        self.entries.push_back(entry);
        self.changes += 1;
    }

    fn forget_first(&mut self) {
        let Some(entry) = self.entries.pop_front() else {
            return;
        };
        self.first += 1;
        self.serials.remove(&entry.key);
        let target = &entry.key.0;
        self.count(target, entry.phase, |count| count.saturating_sub(1));
        if self.counts.get(target) == Some(&Counts::default()) {
            self.counts.remove(target);
        }
    }

    fn entry_mut(&mut self, serial: u64) -> Option<&mut Entry> {
        let at = usize::try_from(serial.checked_sub(self.first)?).ok()?;
        self.entries.get_mut(at)
    }

    fn count(&mut self, target: &Arc<str>, phase: Phase, change: impl Fn(u32) -> u32) {
        let counts = self.counts.entry(Arc::clone(target)).or_default();
        if let Some(count) = counts.get_mut(phase as usize) {
            *count = change(*count);
        }
    }

    /// The name, kept once however often it comes.
    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = name.into();
        if self.names.len() < NAMES_MAX {
            self.names.insert(Arc::clone(&new));
        }
        new
    }

    fn named(&mut self, what: What<Box<str>>) -> What<Arc<str>> {
        what.map(|name| self.name(&name))
    }
}

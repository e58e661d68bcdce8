//! Asks the index: the newest first, page by page.

use std::{sync::Arc, time::Duration};

use super::{Entry, Phase, Recent};
use crate::{clock::WallTime, contract::ErrorCode};

/// The place of a request in the order in which the index heard of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Serial(pub(crate) u64);

/// Which requests are meant: those that fit everything that is said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Who is asked.
    pub(crate) target: Option<Box<str>>,
    /// Who asks.
    pub(crate) caller: Option<Box<str>>,
    /// In one of these phases; in any where there is none.
    pub(crate) phases: Vec<Phase>,
    /// Of this chain.
    pub(crate) correlation: Option<Box<str>>,
    /// With this in its id.
    pub(crate) text: Option<Box<str>>,
}

impl Filter {
    fn takes(&self, entry: &Entry) -> bool {
        let is = |asked: &Option<Box<str>>, found: Option<&str>| {
            asked.as_deref().is_none_or(|asked| found == Some(asked))
        };
        (self.phases.is_empty() || self.phases.contains(&entry.phase))
            && is(&self.target, Some(&entry.key.0))
            && is(&self.caller, entry.caller.as_deref())
            && is(&self.correlation, Some(&entry.chain))
            && self
                .text
                .as_deref()
                .is_none_or(|it| holds(&entry.key.1, it))
    }
}

/// Whether there is `part` in a short text; without the tables that [`str::contains`] may make each
/// time, and with both ends compared before all of it, which most places do not pass.
fn holds(text: &str, part: &str) -> bool {
    let part = part.as_bytes();
    let ends = (part.first(), part.last());
    let may_be = |it: &[u8]| (it.first() == ends.0) & (it.last() == ends.1);
    part.is_empty()
        || text
            .as_bytes()
            .windows(part.len())
            .any(|it| may_be(it) && it == part)
}

/// What is known of one request.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) serial: Serial,
    pub(crate) target: Arc<str>,
    pub(crate) request: Arc<str>,
    pub(crate) chain: Box<str>,
    pub(crate) caller: Option<Arc<str>>,
    pub(crate) action: Option<Arc<str>>,
    pub(crate) worker: Option<Arc<str>>,
    pub(crate) phase: Phase,
    pub(crate) code: Option<ErrorCode>,
    pub(crate) attempts: u32,
    pub(crate) began: WallTime,
    pub(crate) duration: Option<Duration>,
}

impl Row {
    fn of(serial: u64, entry: &Entry) -> Self {
        Self {
            serial: Serial(serial),
            target: Arc::clone(&entry.key.0),
            request: Arc::clone(&entry.key.1),
            chain: entry.chain.clone(),
            caller: entry.caller.clone(),
            action: entry.action.clone(),
            worker: entry.worker.clone(),
            phase: entry.phase,
            code: entry.code,
            attempts: entry.attempts,
            began: entry.began,
            duration: entry.duration,
        }
    }
}

/// Some requests that fit, the newest first.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) rows: Vec<Row>,
    /// Where older ones that fit go on: before this one. None where there are none.
    pub(crate) next: Option<Serial>,
}

impl Recent {
    /// The newest requests that fit and were heard of before `before`, at most `most`.
    pub(crate) fn page(&self, filter: &Filter, before: Option<Serial>, most: usize) -> Page {
        let end = self.first + self.entries.len() as u64;
        let end = before.map_or(end, |Serial(before)| before.clamp(self.first, end));
        let looked_at = usize::try_from(end - self.first).unwrap_or(usize::MAX);
        let numbered = (self.entries.range(..looked_at).enumerate())
            .map(|(at, entry)| (self.first + at as u64, entry));
        let mut fitting = numbered.rev().filter(|(_, entry)| filter.takes(entry));
        let rows: Vec<_> = fitting
            .by_ref()
            .take(most)
            .map(|(serial, entry)| Row::of(serial, entry))
            .collect();
        let more = fitting.next().is_some();
        let last = rows.last().map(|row| row.serial);
        Page {
            next: last.filter(|_| more),
            rows,
        }
    }

    /// What is known of this request.
    pub(crate) fn row(&self, target: &str, request: &str) -> Option<Row> {
        let key = (target.into(), request.into());
        let serial = *self.serials.get(&key)?;
        let at = usize::try_from(serial.checked_sub(self.first)?).ok()?;
        Some(Row::of(serial, self.entries.get(at)?))
    }
}

//! What a run has done so far, as values.
//!
//! Never: a judgement. What stands here was accepted and carried out.

use serde_json::Value;

use super::{
    decision::{DELEGATE, READ, REPORT, SEARCH},
    documents::DocumentId,
};
use crate::store::run::{Operation, Run};

/// Everything that a run has done, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Past(Vec<Done>);

/// A decision that was carried out, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Done {
    pub(super) decision: Value,
    pub(super) result: Value,
}

/// What a search was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Searched {
    /// It was the first, or found what none had found before.
    News,
    /// It found only what was found before, or nothing again.
    NoNews,
    /// It was made before, with the same words.
    Again,
}

impl Past {
    pub(super) fn of(run: &Run) -> Self {
        Self(run.past.iter().map(Done::of).collect())
    }

    pub(super) fn as_slice(&self) -> &[Done] {
        &self.0
    }

    /// The documents that were read, each once, in the order of their reading.
    pub(super) fn read(&self) -> Vec<(&str, &str)> {
        let mut read: Vec<(&str, &str)> = Vec::new();
        for done in self.with_action(READ) {
            let Some((id, text)) = done.document() else {
                continue;
            };
            if read.iter().all(|(other, _)| *other != id) {
                read.push((id, text));
            }
        }
        read
    }

    /// Whether this document was read.
    pub(super) fn has_read(&self, id: &DocumentId) -> bool {
        self.read().iter().any(|(read, _)| *read == id.as_str())
    }

    /// The ids that the latest search found; `None` before any.
    pub(super) fn found(&self) -> Option<Vec<&str>> {
        Some(self.with_action(SEARCH).last()?.hits().collect())
    }

    /// Every id that a search found, each once, in the order of their finding.
    pub(super) fn found_ever(&self) -> Vec<&str> {
        let mut found = Vec::new();
        for id in self.with_action(SEARCH).flat_map(Done::hits) {
            if !found.contains(&id) {
                found.push(id);
            }
        }
        found
    }

    /// Whether a decision was to read this document, whatever came of it.
    pub(super) fn has_tried(&self, id: &str) -> bool {
        let mut tried = self.with_action(READ);
        tried.any(|done| done.decision.pointer("/args/id").and_then(Value::as_str) == Some(id))
    }

    /// What the latest step was worth, where it was a search.
    pub(super) fn latest_search(&self) -> Option<Searched> {
        let (last, before) = self.0.split_last()?;
        (last.action() == SEARCH).then_some(())?;
        if before.iter().any(|done| done.decision == last.decision) {
            return Some(Searched::Again);
        }
        let searches = || before.iter().filter(|done| done.action() == SEARCH);
        let is_known = |id| searches().flat_map(Done::hits).any(|known| known == id);
        let is_first = searches().next().is_none();
        Some(if is_first || !last.hits().all(is_known) {
            Searched::News
        } else {
            Searched::NoNews
        })
    }

    /// Whether anything was observed that a report can rely on or has to speak of: more than what
    /// searches find.
    pub(super) fn has_evidence(&self) -> bool {
        let other = |done: &Done| !matches!(done.action(), SEARCH | READ | REPORT);
        self.0
            .iter()
            .any(|done| done.document().is_some() || other(done))
    }

    /// What children said, in the order in which they were asked.
    pub(super) fn children(&self) -> impl Iterator<Item = &Value> {
        let told = self
            .with_action(DELEGATE)
            .filter_map(|done| done.result.get("children"));
        told.filter_map(Value::as_array).flatten()
    }

    /// What came of the latest delegation; `None` before any.
    pub(super) fn delegated(&self) -> Option<&Value> {
        let latest = self.with_action(DELEGATE).last();
        latest.map(|done| &done.result)
    }

    fn with_action(&self, action: &'static str) -> impl Iterator<Item = &Done> {
        self.0.iter().filter(move |done| done.action() == action)
    }

    /// These decisions, and what came of each.
    #[cfg(test)]
    pub(super) fn made_of(done: impl IntoIterator<Item = (Value, Value)>) -> Self {
        let done = done.into_iter();
        let done = done.map(|(decision, result)| Done { decision, result });
        Self(done.collect())
    }
}

impl Done {
    fn of(operation: &Operation) -> Self {
        // What this version cannot read it can still show.
        let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| text.into());
        Self {
            decision: value(&operation.decision),
            result: value(&operation.result),
        }
    }

    /// What was decided, in one word.
    pub(super) fn action(&self) -> &str {
        let action = self.decision.get("action").and_then(Value::as_str);
        action.unwrap_or_default()
    }

    /// The ids that were found, where it was a search.
    fn hits(&self) -> impl Iterator<Item = &str> {
        let hits = self.result.get("hits").and_then(Value::as_array);
        let hits = hits.into_iter().flatten();
        hits.filter_map(|hit| hit.get("id")?.as_str())
    }

    /// The id and the text of the document that was read; `None` unless one was.
    pub(super) fn document(&self) -> Option<(&str, &str)> {
        let id = self.result.get("id")?.as_str()?;
        let text = self.result.get("text")?.as_str()?;
        (self.action() == READ).then_some((id, text))
    }
}

//! What a run has done so far, as values.
//!
//! Never: a judgement. What stands here was accepted and carried out.

use serde_json::Value;

use super::{
    decision::{DELEGATE, READ, SEARCH},
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
        let search = self.with_action(SEARCH).last()?;
        let hits = search.result.get("hits").and_then(Value::as_array);
        let ids = hits
            .into_iter()
            .flatten()
            .filter_map(|hit| hit.get("id")?.as_str());
        Some(ids.collect())
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

    /// The id and the text of the document that was read; `None` unless one was.
    pub(super) fn document(&self) -> Option<(&str, &str)> {
        let id = self.result.get("id")?.as_str()?;
        let text = self.result.get("text")?.as_str()?;
        (self.action() == READ).then_some((id, text))
    }
}

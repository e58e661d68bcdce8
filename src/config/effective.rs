//! The configuration as a person may see it: what stands, and who said so.

use super::{
    Key, key,
    layers::{Layers, Source},
};

/// One key with what stands for it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: &'static Key,
    /// Its value without secrets.
    pub value: String,
    /// Where it was given.
    pub source: Source,
}

/// Every key with what stands for it.
#[derive(Clone, Debug)]
pub struct Effective(Vec<Entry>);

impl Effective {
    pub(super) fn of(layers: &Layers) -> Self {
        let entry = |key: &'static Key| {
            layers.get(key).map(|given| Entry {
                key,
                value: key.shown(&given.raw.to_string()),
                source: given.source.clone(),
            })
        };
        Self(key::keys().filter_map(entry).collect())
    }

    /// Each entry, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter()
    }

    /// Where the value of `section.name` was given.
    #[must_use]
    pub fn source_of(&self, section: &str, name: &str) -> Option<&Source> {
        let found = self
            .iter()
            .find(|it| it.key.section == section && it.key.name == name)?;
        Some(&found.source)
    }
}

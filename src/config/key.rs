//! One key of the configuration as a person meets it.

use std::fmt;

use super::sections;

/// One key: what it is called, what it takes, and what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The table in which it stands.
    pub section: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// What kind of value it takes.
    pub kind: &'static str,
    /// The value when nobody gives one, as text; empty for none.
    pub default: &'static str,
    /// What it means.
    pub about: &'static str,
    /// A value of it as it may be shown: without secrets.
    pub(super) shown: fn(&str) -> String,
}

impl Key {
    /// The variable that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("PURUTO_{}__{}", self.section, self.name).to_uppercase()
    }

    /// The variable by which other tools name the same thing, if there is one.
    #[must_use]
    pub fn well_known(&self) -> Option<&'static str> {
        match (self.section, self.name) {
            ("nats", "url") => Some("NATS_URL"),
            ("redis", "url") => Some("REDIS_URL"),
            _ => None,
        }
    }

    /// A value of it as it may be shown: without secrets.
    #[must_use]
    pub fn shown(&self, text: &str) -> String {
        (self.shown)(text)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.section, self.name)
    }
}

/// Every key, section by section.
pub fn keys() -> impl Iterator<Item = &'static Key> {
    sections::KEYS.iter().flat_map(|section| section.iter())
}

/// The key that is called `section.name`.
pub(super) fn find(called: &str) -> Option<&'static Key> {
    let (section, name) = called.split_once('.')?;
    keys().find(|key| key.section == section && key.name == name)
}

/// Whether there is such a section.
pub(super) fn is_section(name: &str) -> bool {
    keys().any(|key| key.section == name)
}

/// What there is where `unknown` was looked for, in words.
pub(super) fn beside(unknown: &str) -> String {
    let section = unknown
        .split_once('.')
        .map_or(unknown, |(section, _)| section);
    let names: Vec<_> = keys()
        .filter(|key| key.section == section)
        .map(|key| key.name)
        .collect();
    if names.is_empty() {
        let sections: Vec<_> = sections::KEYS
            .iter()
            .filter_map(|keys| Some(keys.first()?.section))
            .collect();
        format!("the sections are {}", sections.join(", "))
    } else {
        format!("[{section}] has {}", names.join(", "))
    }
}

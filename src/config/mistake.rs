//! Everything that is wrong with a configuration, in words.

use std::fmt;

use super::{Key, layers::Source};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// A key that nothing reads.
    #[error("{at}: unknown key {key}; {allowed}")]
    Unknown {
        /// The key as given.
        key: String,
        /// Where it was given.
        at: Source,
        /// What there is.
        allowed: String,
    },
    /// A value that its key does not take.
    #[error("{at}: {key} = {value}: {why}; it takes {allowed}")]
    Value {
        /// The key.
        key: String,
        /// The value, without secrets.
        value: String,
        /// Where it was given.
        at: Source,
        /// What is wrong with it.
        why: String,
        /// What the key takes.
        allowed: String,
    },
    /// Values that do not go together.
    #[error("{keys}: {why}")]
    Together {
        /// The keys with their values.
        keys: String,
        /// What must hold.
        why: &'static str,
    },
    /// A file that cannot be read as what it is.
    #[error("{place}: {why}")]
    File {
        /// Its path, with the line where one is known.
        place: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Everything that is wrong, in the order in which it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Mistake> {
        self.0.iter()
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn note(&mut self, mistake: Mistake) {
        self.0.push(mistake);
    }

    /// Whether the value of `key` is among them.
    pub(super) fn concern(&self, key: &Key) -> bool {
        let name = key.to_string();
        self.iter()
            .any(|it| matches!(it, Mistake::Value { key, .. } if *key == name))
    }
}

impl std::error::Error for Mistakes {}

impl fmt::Display for Mistakes {
    /// One line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, mistake) in self.iter().enumerate() {
            if nth > 0 {
                f.write_str("\n")?;
            }
            mistake.fmt(f)?;
        }
        Ok(())
    }
}

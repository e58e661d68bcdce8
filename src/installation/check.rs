//! One thing that was looked at.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Ok,
    /// It works, and could cost something.
    Warning,
    /// It does not work, or loses what the fleet promises to keep.
    Error,
}

impl Level {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing that was looked at: what was seen, what that means, what to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked at: `redis eviction`.
    pub name: String,
    /// How bad it is.
    pub level: Level,
    /// The value that was seen.
    pub seen: String,
    /// What it means for the fleet.
    pub meaning: String,
    /// What to change; nothing where all is well.
    pub change: Option<String>,
}

impl Check {
    /// All is well.
    pub fn ok(
        name: impl Into<String>,
        seen: impl Into<String>,
        meaning: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            level: Level::Ok,
            seen: seen.into(),
            meaning: meaning.into(),
            change: None,
        }
    }

    /// The same, at another level and with what to change.
    #[must_use]
    pub fn at(self, level: Level, change: impl Into<String>) -> Self {
        Self {
            level,
            change: Some(change.into()),
            ..self
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            seen,
            meaning,
            ..
        } = self;
        write!(f, "{name} is {seen}: {meaning}")?;
        match &self.change {
            Some(change) => write!(f, "; {change}"),
            None => Ok(()),
        }
    }
}

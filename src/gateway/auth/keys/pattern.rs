//! Which skills or targets a key is good for.

use std::str::FromStr;

/// Names, each whole or as its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Those that `texts` are.
    ///
    /// # Errors
    /// The first that is none.
    pub fn read<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, InvalidPattern> {
        let patterns: Result<_, _> = texts.into_iter().map(str::parse).collect();
        patterns.map(Self)
    }

    /// Whether one of them is, or begins, `name`.
    #[must_use]
    pub fn cover(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.covers(name))
    }

    /// Whether there is none, so that nothing is covered.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// One name, or all that begin so: `com.example.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Whole(Box<str>),
    Beginning(Box<str>),
}

impl Pattern {
    fn covers(&self, name: &str) -> bool {
        match self {
            Self::Whole(whole) => **whole == *name,
            Self::Beginning(beginning) => name.starts_with(&**beginning),
        }
    }
}

/// A text that covers nothing, or not what its author means.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a name, or its beginning with `*` at the end, got {0:?}")]
pub struct InvalidPattern(Box<str>);

impl FromStr for Pattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let invalid = || InvalidPattern(text.into());
        let (name, pattern): (_, fn(Box<str>) -> Self) = match text.strip_suffix('*') {
            Some(beginning) => (beginning, Self::Beginning),
            None if text.is_empty() => return Err(invalid()),
            None => (text, Self::Whole),
        };
        let strange = |c: char| c == '*' || c.is_whitespace() || c.is_control();
        if name.contains(strange) {
            return Err(invalid());
        }
        Ok(pattern(name.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Result<Patterns, InvalidPattern> {
        Patterns::read(texts.iter().copied())
    }

    #[test]
    fn a_name_is_covered_by_itself_and_by_its_beginning_with_a_star() {
        let some = patterns(&["com.example.*", "echo"]).expect("valid");
        for covered in ["com.example.translate-v1", "com.example.", "echo"] {
            assert!(some.cover(covered), "{covered}");
        }
        for other in ["com.example", "com.examplex", "echo2", "Echo", ""] {
            assert!(!some.cover(other), "{other}");
        }
        assert!(patterns(&["*"]).expect("valid").cover("anything"));
        assert!(!Patterns::default().cover("anything"));
    }

    #[test]
    fn a_star_stands_only_at_the_end() {
        for unfit in ["", "*.translate", "a*b", "**", "a b", "a\n"] {
            assert!(patterns(&[unfit]).is_err(), "{unfit:?}");
        }
    }
}

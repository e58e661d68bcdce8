//! What a skill is called.

use std::{fmt, str::FromStr};

use crate::contract::InvalidId;

/// Longest id, in bytes.
const BYTES_MAX: usize = 128;
const EXPECTED: &str = "names of [A-Za-z0-9_-] joined by dots, such as com.example.translate-v1, 128 characters at most";

/// The id of a skill, as its descriptor gives it and callers name it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillId(Box<str>);

impl SkillId {
    /// The id as text; it needs no encoding in a path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SkillId {
    type Err = InvalidId;

    fn from_str(raw: &str) -> Result<Self, InvalidId> {
        if raw.len() <= BYTES_MAX && raw.contains('.') && raw.split('.').all(is_label) {
            return Ok(Self(raw.into()));
        }
        Err(InvalidId {
            expected: EXPECTED,
            actual: format!("{raw:?}"),
        })
    }
}

/// What may stand between two dots.
fn is_label(label: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let begins = label
        .bytes()
        .next()
        .is_some_and(|it| it.is_ascii_alphanumeric());
    begins && label.bytes().all(allowed)
}

impl fmt::Display for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_dotted_name_that_a_path_can_hold_as_it_is() {
        let longest = format!("a.{}", "x".repeat(BYTES_MAX - 2));
        for good in ["com.example.translate-v1", "a.b", "A.0_b", &longest] {
            assert_eq!(good.parse::<SkillId>().expect(good).as_str(), good);
        }
        let too_long = format!("{longest}x");
        for bad in [
            "",
            "translate",
            ".a",
            "a.",
            "a..b",
            "a.-b",
            "a.b/c",
            "a.b%2e",
            "a.é",
            "a.b\r\n",
            "../a",
            &too_long,
        ] {
            assert!(bad.parse::<SkillId>().is_err(), "{bad:?}");
        }
    }
}

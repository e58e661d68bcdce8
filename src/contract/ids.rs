//! The names under which requests travel, each checked where it is made.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, de};

/// A text that cannot be the id or name it was meant as.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {actual}")]
pub struct InvalidId {
    /// What the contract allows.
    pub expected: &'static str,
    /// What was given, described.
    pub actual: String,
}

/// Longest id, in characters.
const ID_CHARS_MAX: usize = 200;
const ID_EXPECTED: &str = "1 to 200 characters, no control characters";
const ID_PATTERN: &str = r"^[^\u0000-\u001F\u007F-\u009F]{1,200}$";

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 64;
const NAME_EXPECTED: &str = "[A-Za-z0-9][A-Za-z0-9_-]{0,63}";
const NAME_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$";

fn check_id(raw: &str) -> Result<(), String> {
    let chars = raw.chars().count();
    if raw.is_empty() || chars > ID_CHARS_MAX {
        return Err(format!("{chars} characters"));
    }
    match raw.chars().find(|c| c.is_control()) {
        Some(control) => Err(format!("control character U+{:04X}", u32::from(control))),
        None => Ok(()),
    }
}

fn check_name(raw: &str) -> Result<(), String> {
    let starts = raw
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric());
    let clean = raw
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if starts && clean && raw.len() <= NAME_BYTES_MAX {
        Ok(())
    } else {
        Err(format!("{raw:?}"))
    }
}

macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $check:ident, $expected:ident, $pattern:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Box<str>);

        impl $name {
            /// What the contract allows.
            pub const EXPECTED: &'static str = $expected;

            /// The text itself.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(raw: &str) -> Result<Self, InvalidId> {
                match $check(raw) {
                    Ok(()) => Ok(Self(raw.into())),
                    Err(actual) => Err(InvalidId { expected: $expected, actual }),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let raw = Cow::<str>::deserialize(from)?;
                raw.parse().map_err(de::Error::custom)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &self.0)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

checked_text!(
    /// Names one invocation, unique per target.
    RequestId, check_id, ID_EXPECTED, ID_PATTERN
);
checked_text!(
    /// Shared by all invocations of one chain.
    CorrelationId, check_id, ID_EXPECTED, ID_PATTERN
);
checked_text!(
    /// Names a Puruto, as caller or target.
    PurutoName, check_name, NAME_EXPECTED, NAME_PATTERN
);
checked_text!(
    /// Names what a target is asked to do.
    ActionName, check_name, NAME_EXPECTED, NAME_PATTERN
);

impl PurutoName {
    /// The caller of a request that names none; a policy must allow it by this name.
    #[must_use]
    pub fn anonymous() -> Self {
        Self("anonymous".into())
    }
}

impl RequestId {
    /// `base` with `mark` behind it; `base` is cut where the whole would be too long.
    ///
    /// # Errors
    /// The two make no id: `mark` alone is too long, or one of them has a control character.
    pub fn marked(base: &str, mark: &str) -> Result<Self, InvalidId> {
        let room = ID_CHARS_MAX.saturating_sub(mark.chars().count());
        let id: String = base.chars().take(room).chain(mark.chars()).collect();
        id.parse()
    }

    /// A fresh id from 128 bits of time and chance.
    #[must_use]
    pub fn from_uuid(id: uuid::Uuid) -> Self {
        Self(id.to_string().into())
    }
}

impl CorrelationId {
    /// A fresh id from 128 bits of time and chance.
    #[must_use]
    pub fn from_uuid(id: uuid::Uuid) -> Self {
        Self(id.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_any_text_of_up_to_200_characters_without_controls() {
        for good in ["1", "a.b", "*", "café", "req 7", &"é".repeat(200)] {
            assert!(good.parse::<RequestId>().is_ok(), "{good:?}");
        }
        for bad in ["", "a\nb", "\u{0}", "\u{85}", &"x".repeat(201)] {
            assert!(bad.parse::<RequestId>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_marked_id_keeps_its_mark_however_long_it_is() {
        let marked = |base: &str| RequestId::marked(base, ".2").unwrap();
        assert_eq!(marked("r").as_str(), "r.2");
        assert_eq!(marked(&"é".repeat(200)).as_str(), "é".repeat(198) + ".2");
        assert!(RequestId::marked("r", &"x".repeat(201)).is_err());
    }

    #[test]
    fn a_name_is_what_a_subject_token_can_hold_as_it_is() {
        for good in ["a", "puruto-financial", "pay_invoice", "0", &"x".repeat(64)] {
            assert!(good.parse::<PurutoName>().is_ok(), "{good:?}");
        }
        for bad in [
            "",
            "-a",
            "_a",
            "a.b",
            "a b",
            "café",
            "../x",
            "*",
            ">",
            &"x".repeat(65),
        ] {
            assert!(bad.parse::<ActionName>().is_err(), "{bad:?}");
        }
    }
}

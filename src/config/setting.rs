//! How the text or TOML value of a key becomes a value of its type.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use crate::{
    contract::{PurutoName, Subjects},
    handler::Prices,
    telemetry::logs::LogFilter,
};

/// The longest time that a key takes: everything has a bound.
const DURATION_MAX: Duration = Duration::from_secs(366 * 86_400);

/// A value as it was given, before its key's type has seen it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Raw {
    /// A string of a file, or whatever a variable or flag holds.
    Text(String),
    /// An integer of a file.
    Integer(i64),
    /// A list of strings of a file.
    List(Vec<String>),
    /// Anything else of a file, by the name of its kind and as it stands there.
    Other(&'static str, String),
}

impl fmt::Display for Raw {
    /// As it may be written into a variable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Other(_, text) => f.write_str(text),
            Self::Integer(number) => number.fmt(f),
            Self::List(items) => f.write_str(&items.join(",")),
        }
    }
}

impl Raw {
    /// The text of a value that has to be one.
    pub(super) fn text(&self) -> Result<&str, String> {
        match self {
            Self::Text(text) => Ok(text.trim()),
            Self::Integer(_) => Err("a number stands there".to_owned()),
            Self::List(_) => Err("a list stands there".to_owned()),
            Self::Other(kind, _) => Err(format!("{kind} stands there")),
        }
    }

    /// The texts of a value that has to be some: a list, or joined by commas.
    pub(super) fn items(&self) -> Result<Vec<&str>, String> {
        match self {
            Self::List(items) => Ok(items.iter().map(String::as_str).collect()),
            raw => {
                let items = raw.text()?.split(',');
                Ok(items.filter(|it| !it.trim().is_empty()).collect())
            }
        }
    }
}

/// A type that a key can have.
pub(super) trait Setting: Sized {
    /// What kind of value it is, in a word or two.
    const KIND: &'static str;

    /// What is allowed.
    fn allowed() -> String;

    /// Reads it.
    ///
    /// # Errors
    /// Why it cannot be one, in words and without secrets.
    fn parse(raw: &Raw) -> Result<Self, String>;

    /// A value as it may be shown.
    fn shown(text: &str) -> String {
        text.to_owned()
    }
}

/// Reads a text through its type's own parser.
pub(super) fn by_text<T: FromStr<Err: fmt::Display>>(raw: &Raw) -> Result<T, String> {
    raw.text()?
        .parse()
        .map_err(|error: T::Err| error.to_string())
}

impl<T: Setting> Setting for Option<T> {
    const KIND: &'static str = T::KIND;

    fn allowed() -> String {
        format!("{}, or nothing", T::allowed())
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(text) if text.trim().is_empty() => Ok(None),
            raw => T::parse(raw).map(Some),
        }
    }

    fn shown(text: &str) -> String {
        T::shown(text)
    }
}

impl Setting for String {
    const KIND: &'static str = "text";

    fn allowed() -> String {
        "a text".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        raw.text().map(ToOwned::to_owned)
    }
}

impl Setting for PathBuf {
    const KIND: &'static str = "path";

    fn allowed() -> String {
        "a path".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        match raw.text()? {
            "" => Err("it is empty".to_owned()),
            path => Ok(path.into()),
        }
    }
}

impl Setting for bool {
    const KIND: &'static str = "boolean";

    fn allowed() -> String {
        "true or false".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        let text = match raw {
            Raw::Other(_, text) => text.as_str(),
            raw => raw.text()?,
        };
        text.parse().map_err(|_| "it is neither".to_owned())
    }
}

impl Setting for Duration {
    const KIND: &'static str = "duration";

    fn allowed() -> String {
        "a time with its unit, above zero and up to a year: 500ms, 90s, 5m, 72h".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        if let Raw::Integer(_) = raw {
            return Err("the unit is missing".to_owned());
        }
        let parsed: Self = humantime::parse_duration(raw.text()?).map_err(|it| it.to_string())?;
        match parsed {
            Self::ZERO => Err("it is zero".to_owned()),
            parsed if parsed > DURATION_MAX => Err("it is longer than a year".to_owned()),
            parsed => Ok(parsed),
        }
    }
}

impl Setting for PurutoName {
    const KIND: &'static str = "name";

    fn allowed() -> String {
        format!("the name of a Puruto, {}", Self::EXPECTED)
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        by_text(raw)
    }
}

impl Setting for Vec<PurutoName> {
    const KIND: &'static str = "names";

    fn allowed() -> String {
        format!("names of Purutos, each {}", PurutoName::EXPECTED)
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        let parse = |name: &str| name.trim().parse().map_err(|error| format!("{error}"));
        raw.items()?.into_iter().map(parse).collect()
    }
}

impl Setting for Prices {
    const KIND: &'static str = "prices";

    fn allowed() -> String {
        format!("entries {}", Self::EXPECTED)
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        Self::read(raw.items()?).map_err(|error| error.to_string())
    }
}

impl Setting for Subjects {
    const KIND: &'static str = "subject prefix";

    fn allowed() -> String {
        "tokens of [A-Za-z0-9_-] joined by dots".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        by_text(raw)
    }
}

impl Setting for LogFilter {
    const KIND: &'static str = "log filter";

    fn allowed() -> String {
        "off, error, warn, info, debug or trace, or target=level, joined by commas".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        by_text(raw)
    }
}

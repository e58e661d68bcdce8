//! The types that only a configuration has: secrets, bounded numbers, words, plain names.

use std::fmt;

use super::setting::{Raw, Setting};

/// What stands where a secret is.
pub(super) const MASK: &str = "********";

/// A text that is never shown; only its reader sees it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// The secret itself, for whoever logs in with it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Setting for Secret {
    const KIND: &'static str = "secret";

    fn allowed() -> String {
        "a text".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        raw.text().map(|text| Self(text.into()))
    }

    fn shown(text: &str) -> String {
        if text.is_empty() { "" } else { MASK }.to_owned()
    }
}

/// An integer from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whole<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64> Setting for Whole<MIN, MAX> {
    const KIND: &'static str = "integer";

    fn allowed() -> String {
        format!("an integer from {MIN} to {MAX}")
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        let parsed = match raw {
            Raw::Integer(number) => u64::try_from(*number).ok(),
            raw => raw.text()?.parse().ok(),
        };
        let fits = parsed.filter(|number| (MIN..=MAX).contains(number));
        fits.map(Self)
            .ok_or_else(|| "it is out of bounds".to_owned())
    }
}

/// A share, in whole percent of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percent(u32);

impl Percent {
    /// Of a hundred so many.
    #[must_use]
    pub const fn of_hundred(self) -> u32 {
        self.0
    }
}

impl Setting for Percent {
    const KIND: &'static str = "percentage";

    fn allowed() -> String {
        "a percentage from 0% to 100%".to_owned()
    }

    fn parse(raw: &Raw) -> Result<Self, String> {
        let number = raw.text()?.strip_suffix('%');
        let number = number.ok_or_else(|| "the percent sign is missing".to_owned())?;
        let parsed = number.trim_end().parse().ok().filter(|it| *it <= 100);
        parsed
            .map(Self)
            .ok_or_else(|| "it is out of bounds".to_owned())
    }
}

/// A type that takes one of a few words.
macro_rules! words {
    (
        $(#[doc = $about:literal])*
        $name:ident { $( $(#[doc = $doc:literal])* $variant:ident = $word:literal, )* }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[doc = $doc])* $variant, )* }

        impl Setting for $name {
            const KIND: &'static str = "word";

            fn allowed() -> String {
                [$( $word ),*].join(" or ")
            }

            fn parse(raw: &Raw) -> Result<Self, String> {
                match raw.text()? {
                    $( $word => Ok(Self::$variant), )*
                    _ => Err("it is none of the words".to_owned()),
                }
            }
        }
    };
}

words! {
    /// Where the broker keeps its streams.
    Storage {
        /// On disk.
        File = "file",
        /// In memory: gone with the server.
        Memory = "memory",
    }
}

words! {
    /// Of which requests it is told what happens to them.
    EventsOf {
        /// Of every one.
        All = "all",
        /// Of delegations, agents and what waits for an approval.
        Delegations = "delegations",
        /// Of none.
        None = "none",
    }
}

words! {
    /// What a log line looks like.
    LogStyle {
        /// For people on a terminal, else for machines.
        Auto = "auto",
        /// One JSON object a line.
        Json = "json",
        /// Text without colour.
        Plain = "plain",
        /// Text in colour.
        Pretty = "pretty",
    }
}

/// A type that is a text of `[A-Za-z0-9_.-]`, so that it can stand in a key, a header or a name.
macro_rules! plain_text {
    ($(#[doc = $about:literal])* $name:ident) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(Box<str>);

        impl $name {
            /// The text itself.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Setting for $name {
            const KIND: &'static str = "name";

            fn allowed() -> String {
                "1 to 64 of [A-Za-z0-9_.-]".to_owned()
            }

            fn parse(raw: &Raw) -> Result<Self, String> {
                let text = raw.text()?;
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
                if !(1..=64).contains(&text.len()) || !text.chars().all(plain) {
                    return Err("it is no such name".to_owned());
                }
                Ok(Self(text.into()))
            }
        }
    };
}

plain_text! {
    /// What every key in the store begins with.
    RedisPrefix
}

plain_text! {
    /// Behind what a process is answered.
    InboxName
}

plain_text! {
    /// What a worker process is called.
    WorkerName
}

//! `gateway-keys.toml` as a [`KeySet`], or everything that is wrong with it.
//!
//! Never: a value in a mistake. Where a digest belongs, an operator may have put the key.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
    path::{Path, PathBuf},
};

use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

use super::{Key, KeyDigest, KeyName, KeySet, Patterns};
use crate::{clock::WallTime, contract::PurutoName, policy::read_bounded};

/// Longest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Most keys that there may be: each request with a key is held against all.
const KEYS_MAX: usize = 4_096;

const ENTRIES: &str = "key";
const FIELDS: [&str; 5] = ["name", "sha256", "skills", "targets", "expires"];

/// One thing to correct in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMistake {
    /// The line, from 1; none when the whole file is meant.
    pub line: Option<usize>,
    /// What is expected there.
    pub why: String,
}

/// Why a file is not used: every mistake in it, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMistakes {
    /// The file.
    pub file: PathBuf,
    /// In the order of its lines.
    pub mistakes: Vec<KeyMistake>,
}

impl fmt::Display for KeyMistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, mistake) in self.mistakes.iter().enumerate() {
            let newline = if at == 0 { "" } else { "\n" };
            write!(f, "{newline}{}", self.file.display())?;
            if let Some(line) = mistake.line {
                write!(f, ":{line}")?;
            }
            write!(f, ": {}", mistake.why)?;
        }
        Ok(())
    }
}

impl std::error::Error for KeyMistakes {}

impl KeySet {
    /// The keys in `file`; none when there is no such file.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn load(file: &Path) -> Result<Self, KeyMistakes> {
        let mistakes = |mistakes| KeyMistakes {
            file: file.to_owned(),
            mistakes,
        };
        let whole = |why: String| mistakes(vec![KeyMistake { line: None, why }]);
        let bytes = match read_bounded(file, FILE_BYTES_MAX) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(Self::default()),
            Err(error) => return Err(whole(error.to_string())),
        };
        let text = String::from_utf8(bytes).map_err(|_| whole("is no UTF-8".to_owned()))?;
        parse(&text).map_err(mistakes)
    }
}

/// Reads the text of a file.
pub(super) fn parse(text: &str) -> Result<KeySet, Vec<KeyMistake>> {
    let mut reading = Reading {
        text,
        mistakes: Vec::new(),
    };
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        for error in errors {
            // Its message names what was expected, and nothing of the text.
            let at = error.span().map_or(0, |span| span.start);
            reading.note(at, error.message());
        }
        // What was read around them is half of what its author wrote.
        return Err(reading.mistakes);
    }
    let keys = reading.keys(table.get_ref());
    let mut mistakes = reading.mistakes;
    if mistakes.is_empty() {
        return Ok(KeySet(keys));
    }
    mistakes.sort_by_key(|mistake| mistake.line);
    Err(mistakes)
}

struct Reading<'t> {
    text: &'t str,
    mistakes: Vec<KeyMistake>,
}

type Value<'t> = Spanned<DeValue<'t>>;

impl Reading<'_> {
    fn note(&mut self, at: usize, why: impl fmt::Display) {
        let line = Some(self.line(at));
        let why = why.to_string();
        self.mistakes.push(KeyMistake { line, why });
    }

    /// The line of a byte, from 1.
    fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().iter().take(at);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    fn keys(&mut self, table: &DeTable<'_>) -> Vec<Key> {
        let mut entries: &[Value<'_>] = &[];
        for (name, value) in table {
            match value.get_ref() {
                DeValue::Array(array) if name.get_ref() == ENTRIES => entries = array,
                _ => self.note(name.span().start, "expected nothing but tables `[[key]]`"),
            }
        }
        if let Some(beyond) = entries.get(KEYS_MAX) {
            self.note(
                beyond.span().start,
                format_args!("expected at most {KEYS_MAX} keys"),
            );
        }
        let mut seen = Seen::default();
        let keys = entries.iter().take(KEYS_MAX);
        keys.filter_map(|entry| self.key(entry, &mut seen))
            .collect()
    }

    fn key(&mut self, entry: &Value<'_>, seen: &mut Seen) -> Option<Key> {
        let at = entry.span().start;
        let DeValue::Table(table) = entry.get_ref() else {
            self.note(at, "expected a table `[[key]]`");
            return None;
        };
        for name in table
            .keys()
            .filter(|name| !FIELDS.contains(&&**name.get_ref()))
        {
            let known = FIELDS.join("`, `");
            self.note(name.span().start, format_args!("expected one of `{known}`"));
        }
        let name = self.needed(table, at, "name", read_name);
        let digest = self.needed(table, at, "sha256", read_digest);
        let skills = self.field(table, "skills", read_patterns);
        let targets = self.field(table, "targets", read_patterns);
        let expires = self.field(table, "expires", read_time);
        let line = self.line(at);
        for (what, first) in seen.twice(name.as_ref(), digest, line) {
            self.note(
                at,
                format_args!("{what} stands at the key of line {first} too"),
            );
        }
        if !table.contains_key("skills") && !table.contains_key("targets") {
            self.note(
                at,
                "expected `skills` or `targets`: a key is good for nothing else",
            );
        }
        Some(Key {
            name: name?,
            digest: digest?,
            skills: skills.unwrap_or_default(),
            targets: targets.unwrap_or_default(),
            expires,
        })
    }

    /// What stands at `name`, read; notes what does not fit.
    fn field<T>(
        &mut self,
        table: &DeTable<'_>,
        name: &str,
        read: fn(&DeValue<'_>) -> Result<T, String>,
    ) -> Option<T> {
        let value = table.get(name)?;
        match read(value.get_ref()) {
            Ok(read) => Some(read),
            Err(expected) => {
                self.note(value.span().start, format_args!("`{name}`: {expected}"));
                None
            }
        }
    }

    /// The same where it has to be there.
    fn needed<T>(
        &mut self,
        table: &DeTable<'_>,
        at: usize,
        name: &str,
        read: fn(&DeValue<'_>) -> Result<T, String>,
    ) -> Option<T> {
        if !table.contains_key(name) {
            self.note(at, format_args!("`{name}` is missing"));
        }
        self.field(table, name, read)
    }
}

/// The lines of the names and digests so far.
#[derive(Default)]
struct Seen {
    names: BTreeMap<String, usize>,
    digests: BTreeMap<String, usize>,
}

impl Seen {
    /// What of a key stood at another before, and on which line.
    fn twice(
        &mut self,
        name: Option<&KeyName>,
        digest: Option<KeyDigest>,
        line: usize,
    ) -> impl Iterator<Item = (&'static str, usize)> + use<> {
        let name = name.and_then(|name| first(&mut self.names, name.to_string(), line));
        let digest = digest.and_then(|it| first(&mut self.digests, it.to_string(), line));
        let twice = [("its `name`", name), ("its `sha256`", digest)];
        twice
            .into_iter()
            .filter_map(|(what, line)| Some((what, line?)))
    }
}

fn first(seen: &mut BTreeMap<String, usize>, what: String, line: usize) -> Option<usize> {
    match seen.entry(what) {
        Entry::Occupied(first) => Some(*first.get()),
        Entry::Vacant(new) => {
            new.insert(line);
            None
        }
    }
}

fn read_name(value: &DeValue<'_>) -> Result<KeyName, String> {
    let invalid = || format!("expected {}", PurutoName::EXPECTED);
    let text = text(value).ok_or_else(invalid)?;
    text.parse().map_err(|_| invalid())
}

fn read_digest(value: &DeValue<'_>) -> Result<KeyDigest, String> {
    let digest = text(value).and_then(KeyDigest::from_hex);
    digest.ok_or_else(|| "expected the 64 hexadecimal digits of the key's SHA-256".to_owned())
}

fn read_patterns(value: &DeValue<'_>) -> Result<Patterns, String> {
    let DeValue::Array(items) = value else {
        return Err("expected a list of names".to_owned());
    };
    let texts = texts(items).ok_or("expected a list of nothing but names")?;
    Patterns::read(texts).map_err(|error| error.to_string())
}

fn read_time(value: &DeValue<'_>) -> Result<WallTime, String> {
    let time = match value {
        DeValue::Datetime(time) => WallTime::parse_rfc3339(&time.to_string()),
        value => text(value).and_then(WallTime::parse_rfc3339),
    };
    time.ok_or_else(|| "expected a time with its offset, such as 2027-01-31T00:00:00Z".to_owned())
}

fn text<'v>(value: &'v DeValue<'_>) -> Option<&'v str> {
    match value {
        DeValue::String(text) => Some(text),
        _ => None,
    }
}

fn texts<'v>(items: &'v DeArray<'_>) -> Option<Vec<&'v str>> {
    items.iter().map(|item| text(item.get_ref())).collect()
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;

//! The layer of a TOML file.

use std::{fs, path::Path};

use toml::de::{DeArray, DeTable, DeValue};

use super::{
    Mistake, Mistakes, key,
    layers::{Layers, Source},
    setting::Raw,
};

/// Longest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Lays the file at `path` over `layers`.
pub(super) fn lay(path: &Path, layers: &mut Layers, mistakes: &mut Mistakes) {
    match read(path) {
        Ok(text) => File { path, text: &text }.lay(layers, mistakes),
        Err(why) => mistakes.note(Mistake::File {
            place: path.display().to_string(),
            why,
        }),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let bytes = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(format!("{bytes} bytes; at most {FILE_BYTES_MAX} are read"));
    }
    fs::read_to_string(path).map_err(|error| error.to_string())
}

struct File<'f> {
    path: &'f Path,
    text: &'f str,
}

impl File<'_> {
    fn lay(&self, layers: &mut Layers, mistakes: &mut Mistakes) {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            let line = self.line(error.span().map_or(0, |span| span.start));
            mistakes.note(Mistake::File {
                place: format!("{}:{line}", self.path.display()),
                why: error.message().to_owned(),
            });
        }
        for (section, value) in table.get_ref() {
            let name = section.get_ref();
            match value.get_ref() {
                DeValue::Table(keys) if key::is_section(name) => {
                    self.section(name, keys, layers, mistakes)
                }
                _ => mistakes.note(Mistake::Unknown {
                    key: name.clone().into_owned(),
                    at: self.source(section.span().start),
                    allowed: key::beside(name),
                }),
            }
        }
    }

    fn section(
        &self,
        section: &str,
        keys: &DeTable<'_>,
        layers: &mut Layers,
        mistakes: &mut Mistakes,
    ) {
        for (name, value) in keys {
            let raw = self.raw(value.get_ref(), value.span());
            let called = format!("{section}.{}", name.get_ref());
            layers.lay(&called, raw, self.source(name.span().start), mistakes);
        }
    }

    fn raw(&self, value: &DeValue<'_>, span: std::ops::Range<usize>) -> Raw {
        let other = |kind| Raw::Other(kind, self.text.get(span).unwrap_or_default().to_owned());
        match value {
            DeValue::String(text) => Raw::Text(text.clone().into_owned()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| other("a number too large"), Raw::Integer),
            DeValue::Array(items) => {
                strings(items).map_or_else(|| other("a list of other things"), Raw::List)
            }
            DeValue::Float(_) => other("a fraction"),
            DeValue::Boolean(_) => other("true or false"),
            DeValue::Datetime(_) => other("a date"),
            DeValue::Table(_) => other("a table"),
        }
    }

    fn source(&self, at: usize) -> Source {
        Source::File {
            path: self.path.to_owned(),
            line: self.line(at),
        }
    }

    /// The line of a byte, from 1.
    fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().iter().take(at);
        1 + before.filter(|byte| **byte == b'\n').count()
    }
}

/// The items of a list that has nothing but strings.
fn strings(items: &DeArray<'_>) -> Option<Vec<String>> {
    let text = |item: &toml::Spanned<DeValue<'_>>| match item.get_ref() {
        DeValue::String(text) => Some(text.clone().into_owned()),
        _ => None,
    };
    items.iter().map(text).collect()
}

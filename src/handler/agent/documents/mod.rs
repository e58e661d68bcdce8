//! The documents of a Puruto: what its agent may search and read.
//!
//! Read once, when the agent is made, and then only looked up by id: no id leads to a file. Never:
//! a link followed, or a file that nobody would read.

mod folder;
mod ranking;

use std::{collections::BTreeMap, fmt, path::Path, str::FromStr};

use serde_json::{Value, json};

pub use self::folder::{DOCUMENTS_MAX, DocumentsFault, FILE_BYTES_MAX, TOTAL_BYTES_MAX};
use self::ranking::Ranking;

/// How many documents a search finds at most.
pub const HITS_MAX: usize = 5;

/// Longest title and longest extract, in characters.
const TITLE_CHARS_MAX: usize = 120;
const EXTRACT_CHARS_MAX: usize = 240;

/// Names a document: its path in `docs/`, with `/` and without the extension.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(Box<str>);

/// Longest id, in characters.
pub(super) const ID_CHARS_MAX: usize = 200;

impl DocumentId {
    /// What such an id may be.
    pub const EXPECTED: &'static str = "1 to 200 characters, no control characters";

    /// The text itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DocumentId {
    type Err = &'static str;

    fn from_str(raw: &str) -> Result<Self, &'static str> {
        let chars = raw.chars().count();
        if (1..=ID_CHARS_MAX).contains(&chars) && !raw.chars().any(char::is_control) {
            Ok(Self(raw.into()))
        } else {
            Err(Self::EXPECTED)
        }
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The documents of one Puruto, ready to be searched.
#[derive(Default)]
pub struct Documents {
    texts: BTreeMap<DocumentId, Box<str>>,
    ranking: Ranking,
}

impl fmt::Debug for Documents {
    /// How many: their words never reach a log by way of `{:?}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Documents({})", self.texts.len())
    }
}

impl Documents {
    /// Every `.md` and `.txt` file in `folder` and below; none where there is no such folder.
    ///
    /// # Errors
    /// A file that cannot be read or is no UTF-8, two files with one id, or more than is searched.
    pub fn load(folder: &Path) -> Result<Self, DocumentsFault> {
        folder::read(folder).map(Self::new)
    }

    /// These texts by their ids.
    #[cfg(test)]
    pub(super) fn of_texts(texts: impl IntoIterator<Item = (String, &'static str)>) -> Self {
        let texts = texts.into_iter();
        Self::new(
            texts
                .map(|(id, text)| (id.parse().expect("an id"), text.into()))
                .collect(),
        )
    }

    fn new(texts: BTreeMap<DocumentId, Box<str>>) -> Self {
        Self {
            ranking: Ranking::of(texts.iter().map(|(id, text)| (id, &**text))),
            texts,
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Their ids, in order.
    pub fn ids(&self) -> impl Iterator<Item = &DocumentId> {
        self.texts.keys()
    }

    /// The text of a document.
    #[must_use]
    pub fn text(&self, id: &DocumentId) -> Option<&str> {
        self.texts.get(id).map(|it| &**it)
    }

    /// What fits `query` best, best first, and by id among equals:
    /// `{"hits": [{"id", "title", "score", "extract"}]}`.
    #[must_use]
    pub fn search(&self, query: &str) -> Value {
        let terms = ranking::terms(query);
        let ranked = self.ranking.best(&terms, HITS_MAX);
        let hits = ranked.into_iter().filter_map(|(id, score)| {
            let text = self.text(&id)?;
            Some(json!({
                "id": id.as_str(),
                "title": title(&id, text),
                "score": score,
                "extract": extract(text, &terms),
            }))
        });
        json!({ "hits": hits.collect::<Vec<_>>() })
    }
}

/// The first line that says something.
fn title(id: &DocumentId, text: &str) -> String {
    let lines = text.lines().map(|line| line.trim_start_matches('#').trim());
    let line = lines.into_iter().find(|line| !line.is_empty());
    cut(line.unwrap_or(id.as_str()), TITLE_CHARS_MAX)
}

/// The line that has the most of `terms`, the first among equals.
fn extract(text: &str, terms: &[String]) -> String {
    let mut best = ("", 0);
    for line in text.lines() {
        let words = ranking::words(line);
        let found = terms.iter().filter(|term| words.contains(term)).count();
        if found > best.1 {
            best = (line, found);
        }
    }
    cut(best.0.trim(), EXTRACT_CHARS_MAX)
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(texts: &[(&str, &str)]) -> Documents {
        let texts = texts
            .iter()
            .map(|(id, text)| (id.parse().expect("an id"), (*text).into()));
        Documents::new(texts.collect())
    }

    fn found(documents: &Documents, query: &str) -> Vec<String> {
        let hits = documents.search(query);
        let hits = hits["hits"].as_array().cloned().unwrap_or_default();
        let ids = hits.iter().filter_map(|hit| hit["id"].as_str());
        ids.map(str::to_owned).collect()
    }

    #[test]
    fn what_has_more_and_rarer_words_of_the_query_comes_first() {
        let documents = documents(&[
            ("network", "The db container listens on 5432, not on 5433."),
            ("incident", "The API tried to connect to db:5433."),
            ("menu", "Soup on Monday."),
        ]);
        assert_eq!(found(&documents, "api db 5433"), ["incident", "network"]);
        assert_eq!(found(&documents, "SOUP?"), ["menu"]);
        assert!(found(&documents, "zebra").is_empty());
        assert!(found(&documents, "").is_empty());
    }

    #[test]
    fn equals_come_by_id_and_no_more_than_five() {
        let ids = ["c", "a", "f", "b", "e", "d"];
        let same: Vec<_> = ids.map(|id| (id, "the same words")).into();
        assert_eq!(found(&documents(&same), "words"), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn a_hit_has_a_title_and_the_line_that_fits_best() {
        let text = "\n# Network \n\nNothing here.\nThe db listens on 5432.\nThe db is blue.\n";
        let hits = documents(&[("net/work", text)]).search("db 5432");
        let hit = &hits["hits"][0];
        assert_eq!(hit["title"], "Network");
        assert_eq!(hit["extract"], "The db listens on 5432.");
        assert!(hit["score"].as_f64().expect("a number") > 0.0);
    }

    #[test]
    fn an_id_is_looked_up_and_nothing_else() {
        let documents = documents(&[("a", "text")]);
        let text = |id: &str| documents.text(&id.parse().expect("an id"));
        assert_eq!(text("a"), Some("text"));
        for elsewhere in ["../a", "./a", "a.md", "/etc/passwd", "A"] {
            assert_eq!(text(elsewhere), None, "{elsewhere}");
        }
    }
}

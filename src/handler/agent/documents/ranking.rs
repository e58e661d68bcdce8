//! Which documents fit a query best, by BM25.
//!
//! Never: a guess at the language; words are compared as they are, but for upper and lower case.

use std::{collections::HashSet, fmt};

use bm25::{Embedder, EmbedderBuilder, Scorer, Tokenizer};

use super::DocumentId;

/// Most different words of a query that count: more would only cost time.
const TERMS_MAX: usize = 64;

/// The runs of letters and digits in `text`, in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    let runs = runs.filter(|run| !run.is_empty());
    runs.map(str::to_lowercase).collect()
}

/// The different words of a query, in their order.
pub(super) fn terms(query: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut terms = words(query);
    terms.retain(|word| seen.insert(word.clone()));
    terms.truncate(TERMS_MAX);
    terms
}

#[derive(Debug, Default)]
struct Words;

impl Tokenizer for Words {
    fn tokenize(&self, text: &str) -> Vec<String> {
        words(text)
    }
}

/// The words of some documents, weighed.
#[derive(Default)]
pub(super) struct Ranking(Option<Weighed>);

struct Weighed {
    embedder: Embedder<u64, Words>,
    scorer: Scorer<DocumentId, u64>,
}

impl fmt::Debug for Ranking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranking").finish_non_exhaustive()
    }
}

impl Ranking {
    pub(super) fn of<'d>(
        documents: impl Iterator<Item = (&'d DocumentId, &'d str)> + Clone,
    ) -> Self {
        let texts: Vec<_> = documents.clone().map(|(_, text)| text).collect();
        if texts.is_empty() {
            return Self::default();
        }
        let embedder =
            EmbedderBuilder::<u64, _>::with_tokenizer_and_fit_to_corpus(Words, &texts).build();
        let mut scorer = Scorer::new();
        for (id, text) in documents {
            let mut embedding = embedder.embed(text);
            // A word that comes again has the same weight again, and is looked for but once.
            let mut seen = HashSet::new();
            embedding.0.retain(|word| seen.insert(word.index));
            scorer.upsert(id, embedding);
        }
        Self(Some(Weighed { embedder, scorer }))
    }

    /// The best `count`, best first and by id among equals, each with its score.
    pub(super) fn best(&self, terms: &[String], count: usize) -> Vec<(DocumentId, f64)> {
        let Some(Weighed { embedder, scorer }) = &self.0 else {
            return Vec::new();
        };
        let found = scorer.matches(&embedder.embed(&terms.join(" ")));
        let scored = found.into_iter().map(|it| (it.id, rounded(it.score)));
        let mut scored: Vec<_> = scored.collect();
        scored.sort_by(|(id, score), (other, than)| {
            than.total_cmp(score).then_with(|| id.cmp(other))
        });
        scored.truncate(count);
        scored
    }
}

/// To three decimals: what is left of them differs between machines.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1_000.0).round() / 1_000.0
}

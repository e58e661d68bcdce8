//! What was left for later.

use proc_macro2::{TokenStream, TokenTree};

use crate::project::{Project, Source};

/// In halves, so that this file has none.
const MARKS: &[(&str, &str)] = &[("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("todo", "!")];

/// Files with a mark that something is missing.
pub(crate) fn marks(project: &Project) -> Vec<String> {
    let mut faults = Vec::new();
    for source in project.all() {
        for (left, right) in MARKS {
            let mark = format!("{left}{right}");
            let lines = source.text.lines().zip(1..);
            for (_, number) in lines.filter(|(line, _)| has_word(line, &mark)) {
                faults.push(source.fault(&format!("line {number} has `{mark}`")));
            }
        }
    }
    faults
}

fn has_word(line: &str, word: &str) -> bool {
    let within = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !within(before) && (word.ends_with('!') || !within(after))
    })
}

/// Files with a test that is not run.
pub(crate) fn ignored(project: &Project) -> Vec<String> {
    let ignores = |source: &&Source| {
        let tokens = source.text.parse();
        tokens.is_ok_and(has_ignored)
    };
    let fault = |source: &Source| source.fault("has an ignored test");
    project.rust().filter(ignores).map(fault).collect()
}

/// Whether an attribute of the name is in `tokens`, alone or under `cfg_attr`.
fn has_ignored(tokens: TokenStream) -> bool {
    let tokens: Vec<_> = tokens.into_iter().collect();
    tokens.iter().enumerate().any(|(at, token)| match token {
        TokenTree::Group(group) => {
            let marked = at.checked_sub(1).and_then(|before| tokens.get(before));
            let attribute =
                matches!(marked, Some(TokenTree::Punct(p)) if "#!".contains(p.as_char()));
            (attribute && names_ignore(group.stream())) || has_ignored(group.stream())
        }
        _ => false,
    })
}

fn names_ignore(attribute: TokenStream) -> bool {
    attribute.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "ignore",
        TokenTree::Group(group) => names_ignore(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

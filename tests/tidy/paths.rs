//! The paths that a file of Rust names, read from its tokens.
//!
//! Comments and strings name nothing: prose may speak of any layer.

use std::{collections::BTreeSet, iter::Peekable, vec};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::project::Source;

/// An imported path, or one of two segments or more, such as `crate::store::Claims`.
pub(crate) struct Named {
    pub(crate) segments: Vec<String>,
    /// How many inline modules of the file stand around it.
    pub(crate) nested: usize,
}

impl Named {
    pub(crate) fn first(&self) -> &str {
        self.segments.first().map_or("", String::as_str)
    }
}

/// What a file names.
#[derive(Default)]
pub(crate) struct Paths {
    pub(crate) named: Vec<Named>,
    /// Names that it declares or imports: `redis::X` after `mod redis;` is no crate.
    pub(crate) local: BTreeSet<String>,
}

type Tokens = Peekable<vec::IntoIter<TokenTree>>;

impl Paths {
    pub(crate) fn of(source: &Source) -> Self {
        let tokens: TokenStream = source
            .text
            .parse()
            .unwrap_or_else(|error| panic!("{}: {error}", source.path.display()));
        let mut paths = Self::default();
        paths.walk(tokens, 0);
        paths
    }

    fn walk(&mut self, stream: TokenStream, nested: usize) {
        let mut tokens = peekable(stream);
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => self.walk(group.stream(), nested),
                TokenTree::Ident(word) if word == "use" => self.tree(&mut tokens, &[], nested),
                TokenTree::Ident(word) if word == "mod" => self.module(&mut tokens, nested),
                TokenTree::Ident(word) => {
                    let mut segments = vec![word.to_string()];
                    while let Some(next) = next_segment(&mut tokens) {
                        segments.push(next);
                    }
                    if segments.len() > 1 {
                        self.named.push(Named { segments, nested });
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    fn module(&mut self, tokens: &mut Tokens, nested: usize) {
        let Some(name) = next_ident(tokens) else {
            return;
        };
        self.local.insert(name);
        if let Some(body) = next_braces(tokens) {
            self.walk(body.stream(), nested + 1);
        }
    }

    /// One branch of what follows `use`, up to the comma or semicolon behind it.
    fn tree(&mut self, tokens: &mut Tokens, prefix: &[String], nested: usize) {
        let mut segments = prefix.to_vec();
        skip_colons(tokens);
        while let Some(name) = next_ident(tokens) {
            segments.push(name);
            skip_colons(tokens);
        }
        if let Some(branches) = next_braces(tokens) {
            let mut inner = peekable(branches.stream());
            while inner.peek().is_some() {
                self.tree(&mut inner, &segments, nested);
                inner.next();
            }
            return;
        }
        let names_all = next_mark(tokens, '*');
        let names: Vec<_> = segments.iter().filter(|name| *name != "self").collect();
        // What `as` calls it was read as one more segment, the last.
        if let [_, .., name] = names.as_slice()
            && !names_all
        {
            self.local.insert((*name).clone());
        }
        if !segments.is_empty() {
            self.named.push(Named { segments, nested });
        }
    }
}

fn peekable(stream: TokenStream) -> Tokens {
    stream
        .into_iter()
        .collect::<Vec<_>>()
        .into_iter()
        .peekable()
}

fn next_ident(tokens: &mut Tokens) -> Option<String> {
    let is_ident = |token: &TokenTree| matches!(token, TokenTree::Ident(_));
    tokens.next_if(is_ident).map(|ident| ident.to_string())
}

fn next_braces(tokens: &mut Tokens) -> Option<Group> {
    match tokens.peek() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let group = group.clone();
            tokens.next();
            Some(group)
        }
        _ => None,
    }
}

fn next_mark(tokens: &mut Tokens, mark: char) -> bool {
    let is_mark =
        |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark);
    tokens.next_if(is_mark).is_some()
}

/// Whether it was two of them, as between segments.
fn skip_colons(tokens: &mut Tokens) -> bool {
    let mut skipped = 0;
    while next_mark(tokens, ':') {
        skipped += 1;
    }
    skipped == 2
}

/// What follows `::`, when that does.
fn next_segment(tokens: &mut Tokens) -> Option<String> {
    if skip_colons(tokens) {
        next_ident(tokens)
    } else {
        None
    }
}

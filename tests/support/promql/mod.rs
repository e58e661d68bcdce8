//! What a query of Prometheus names: metrics, their matchers, and the labels that it groups by.
//!
//! Reads as much of PromQL as names anything. Never: whether a query is well formed, which
//! `promtool` says, or what it is worth.

#![allow(dead_code, reason = "every test program uses its own part")]

pub(crate) mod exported;
mod lexer;
pub(crate) mod watched;

use self::lexer::Token;

/// What stands between others and names nothing.
const WORDS: &[&str] = &[
    "and", "or", "unless", "bool", "offset", "inf", "Inf", "nan", "NaN",
];
/// Behind these stand labels.
const BEFORE_LABELS: &[&str] = &[
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
];

/// What one query names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) selectors: Vec<Selector>,
    /// Labels in `by (...)` and its like.
    pub(crate) labels: Vec<String>,
}

/// A metric as a query selects it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    /// Empty where the braces stand alone.
    pub(crate) metric: String,
    pub(crate) matchers: Vec<Matcher>,
}

/// One condition within the braces.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Matcher {
    pub(crate) label: String,
    /// The value, unless it is a pattern.
    pub(crate) literal: Option<String>,
}

/// Reads a query.
pub(crate) fn named(query: &str) -> Named {
    let mut reader = Reader(lexer::tokens(query));
    let mut named = Named::default();
    while let Some(token) = reader.next() {
        match token {
            Token::Symbol('{') => named.selectors.push(Selector {
                metric: String::new(),
                matchers: reader.matchers(),
            }),
            Token::Name(name) if BEFORE_LABELS.contains(&&*name) => {
                named.labels.extend(reader.labels());
            }
            Token::Name(name) if WORDS.contains(&&*name) || reader.is_after_function() => {}
            Token::Name(metric) => {
                let matchers = match reader.take(&Token::Symbol('{')) {
                    true => reader.matchers(),
                    false => Vec::new(),
                };
                named.selectors.push(Selector { metric, matchers });
            }
            Token::Symbol(_) | Token::Text(_) => {}
        }
    }
    named
}

/// The tokens that are left.
struct Reader(std::collections::VecDeque<Token>);

impl Reader {
    fn next(&mut self) -> Option<Token> {
        self.0.pop_front()
    }

    fn take(&mut self, wanted: &Token) -> bool {
        let is_next = self.0.front() == Some(wanted);
        if is_next {
            self.next();
        }
        is_next
    }

    /// Whether the name just read is a function or an aggregation.
    fn is_after_function(&self) -> bool {
        match self.0.front() {
            Some(Token::Symbol('(')) => true,
            Some(Token::Name(next)) => next == "by" || next == "without",
            _ => false,
        }
    }

    /// The list in parentheses, if there is one.
    fn labels(&mut self) -> Vec<String> {
        let mut labels = Vec::new();
        if !self.take(&Token::Symbol('(')) {
            return labels;
        }
        while let Some(token) = self.next() {
            match token {
                Token::Symbol(')') => break,
                Token::Name(label) => labels.push(label),
                Token::Symbol(_) | Token::Text(_) => {}
            }
        }
        labels
    }

    /// Up to the closing brace.
    fn matchers(&mut self) -> Vec<Matcher> {
        let mut matchers = Vec::new();
        let mut now = Matcher::default();
        let mut is_pattern = false;
        while let Some(token) = self.next() {
            match token {
                Token::Symbol('}') => break,
                Token::Symbol(symbol) => is_pattern |= symbol == '~',
                Token::Name(label) => now.label = label,
                Token::Text(value) => {
                    now.literal = (!is_pattern).then_some(value);
                    matchers.push(std::mem::take(&mut now));
                    is_pattern = false;
                }
            }
        }
        matchers
    }
}

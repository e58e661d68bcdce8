//! The tokens of PromQL, without those that name nothing: numbers, ranges, comments.

use std::{collections::VecDeque, iter::Peekable, str::Chars};

/// A token that may matter.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A metric, a label, a function or a word of the language.
    Name(String),
    /// What stands in quotes.
    Text(String),
    /// Any other character.
    Symbol(char),
}

/// All of them, in order.
pub(super) fn tokens(query: &str) -> VecDeque<Token> {
    let mut rest = query.chars().peekable();
    let mut tokens = VecDeque::new();
    while let Some(first) = rest.next() {
        match first {
            '#' => drop(take_while(&mut rest, |it| it != '\n')),
            '[' => drop(take_while(&mut rest, |it| it != ']')),
            '"' | '\'' | '`' => tokens.push_back(Token::Text(quoted(&mut rest, first))),
            '0'..='9' | '.' => {
                take_while(&mut rest, |it| it.is_ascii_alphanumeric() || it == '.');
            }
            'a'..='z' | 'A'..='Z' | '_' | ':' => {
                let more = take_while(&mut rest, |it| {
                    it.is_ascii_alphanumeric() || it == '_' || it == ':'
                });
                tokens.push_back(Token::Name(format!("{first}{more}")));
            }
            space if space.is_whitespace() => {}
            symbol => tokens.push_back(Token::Symbol(symbol)),
        }
    }
    tokens
}

fn take_while(rest: &mut Peekable<Chars<'_>>, holds: impl Fn(char) -> bool) -> String {
    std::iter::from_fn(|| rest.next_if(|it| holds(*it))).collect()
}

/// Up to the closing quote; what is escaped stays so.
fn quoted(rest: &mut Peekable<Chars<'_>>, quote: char) -> String {
    let mut text = String::new();
    while let Some(next) = rest.next() {
        match next {
            '\\' => text.extend(rest.next()),
            _ if next == quote => break,
            _ => text.push(next),
        }
    }
    text
}

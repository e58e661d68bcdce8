//! What some models think at the beginning of the content, between `<think>` and `</think>`, told
//! from the answer while it comes.
//!
//! Never: the answer that the contract sees; that is read from the whole.

use std::mem;

use crate::runtime::stream::Delta;

const OPENED: &str = "<think>";
const CLOSED: &str = "</think>";

/// Where in the content we are.
#[derive(Debug)]
enum At {
    /// At its beginning; this much may be the beginning of a tag.
    Start(String),
    /// Among thoughts; this much may be the beginning of their end.
    Thoughts(String),
    /// Behind the thoughts, before the answer.
    Between,
    Answer,
}

/// Tells thoughts from the answer.
#[derive(Debug)]
pub(super) struct Thoughts(At);

impl Default for Thoughts {
    fn default() -> Self {
        Self(At::Start(String::new()))
    }
}

impl Thoughts {
    /// What `delta` says, each part under its kind.
    pub(super) fn split(&mut self, delta: Delta) -> Vec<Delta> {
        let mut text = match delta {
            Delta::Content(text) => text,
            other @ (Delta::Reasoning(_) | Delta::Restart) => return vec![other],
        };
        let mut deltas = Vec::new();
        while !text.is_empty() {
            let (delta, rest) = self.step(text);
            deltas.extend(delta);
            text = rest;
        }
        deltas
    }

    /// What was held back, when nothing more comes.
    pub(super) fn rest(&mut self) -> Vec<Delta> {
        let delta = match mem::replace(&mut self.0, At::Answer) {
            At::Start(held) => Delta::Content(held),
            At::Thoughts(held) => Delta::Reasoning(held),
            At::Between | At::Answer => return Vec::new(),
        };
        if delta.is_empty() {
            Vec::new()
        } else {
            vec![delta]
        }
    }

    /// One delta out of `text`, and what of it is still to be looked at.
    fn step(&mut self, text: String) -> (Option<Delta>, String) {
        match &mut self.0 {
            At::Start(held) => {
                held.push_str(&text);
                let begun = held.trim_start();
                if let Some(thoughts) = begun.strip_prefix(OPENED) {
                    let thoughts = thoughts.to_owned();
                    self.0 = At::Thoughts(String::new());
                    return (None, thoughts);
                }
                if OPENED.starts_with(begun) {
                    return (None, String::new());
                }
                let answer = mem::take(held);
                self.0 = At::Answer;
                (None, answer)
            }
            At::Thoughts(held) => {
                held.push_str(&text);
                if let Some((thoughts, rest)) = held.split_once(CLOSED) {
                    let (thoughts, rest) = (thoughts.to_owned(), rest.to_owned());
                    self.0 = At::Between;
                    return (Some(Delta::Reasoning(thoughts)), rest);
                }
                let tag = held.split_off(held.len() - tag_begun(held));
                let thoughts = mem::replace(held, tag);
                (Some(Delta::Reasoning(thoughts)), String::new())
            }
            At::Between => {
                let answer = text.trim_start();
                if !answer.is_empty() {
                    self.0 = At::Answer;
                }
                (None, answer.to_owned())
            }
            At::Answer => (Some(Delta::Content(text)), String::new()),
        }
    }
}

/// How many bytes at the end of `text` may be the beginning of the closing tag.
fn tag_begun(text: &str) -> usize {
    let begun = (1..CLOSED.len()).rev();
    let fits = |len: &usize| CLOSED.get(..*len).is_some_and(|tag| text.ends_with(tag));
    begun.into_iter().find(fits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The thoughts and the answer.
    fn told<'t>(pieces: impl IntoIterator<Item = &'t str>) -> (String, String) {
        let mut thoughts = Thoughts::default();
        let mut deltas = Vec::new();
        for piece in pieces {
            deltas.extend(thoughts.split(Delta::Content(piece.to_owned())));
        }
        deltas.extend(thoughts.rest());
        let (mut thought, mut answer) = (String::new(), String::new());
        for delta in deltas {
            match delta {
                Delta::Reasoning(text) => thought.push_str(&text),
                Delta::Content(text) => answer.push_str(&text),
                Delta::Restart => panic!("nothing starts again"),
            }
        }
        (thought, answer)
    }

    fn owned(thought: &str, answer: &str) -> (String, String) {
        (thought.to_owned(), answer.to_owned())
    }

    #[test]
    fn thoughts_stand_at_the_beginning_and_the_answer_behind_them() {
        for (content, thought, answer) in [
            ("<think>hm</think>\n\nyes", "hm", "yes"),
            ("\n <think>a < b</thin></think>yes", "a < b</thin>", "yes"),
            ("<think>cut off", "cut off", ""),
            ("yes <think>no</think>", "", "yes <think>no</think>"),
            (" plain", "", " plain"),
            ("<thing>", "", "<thing>"),
            ("<th", "", "<th"),
            ("<think>x</thi", "x</thi", ""),
        ] {
            assert_eq!(told([content]), owned(thought, answer), "{content:?}");
        }
    }

    proptest! {
        #[test]
        fn however_the_content_is_cut_thoughts_and_answer_are_the_same(
            pieces in prop::collection::vec(
                prop_oneof![
                    Just("<think>"), Just("</think>"), Just("<"), Just("/thi"), Just(" "),
                    Just("é"), Just("hm"), Just("\n"),
                ],
                0..12,
            ),
        ) {
            let content = pieces.concat();
            let chars: Vec<String> = content.chars().map(String::from).collect();
            let whole = told([content.as_str()]);
            prop_assert_eq!(told(pieces), whole.clone());
            prop_assert_eq!(told(chars.iter().map(String::as_str)), whole);
        }
    }
}

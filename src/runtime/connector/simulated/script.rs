//! What the scripted model does for the prompts that it is for.

use std::time::Duration;

use super::config::{Latency, ScriptedError};
use crate::{
    clock::Chance,
    contract::RequestId,
    runtime::{Fault, retry::Attempt},
};

/// One answer, one latency and the errors before the answer.
#[derive(Debug)]
pub(super) struct Script {
    answer: Vec<Piece>,
    latency: Latency,
    errors: Vec<ScriptedError>,
}

/// A part of an answer's template.
#[derive(Debug)]
enum Piece {
    Text(String),
    Prompt,
    RequestId,
    Attempt,
}

impl Script {
    pub(super) fn new(answer: &str, latency: Latency, errors: &[ScriptedError]) -> Self {
        Self {
            answer: pieces(answer),
            latency,
            errors: errors.to_vec(),
        }
    }

    pub(super) fn latency(&self, chance: &Chance) -> Duration {
        match self.latency {
            Latency::Fixed(latency) => latency,
            Latency::Between { min, max } => {
                let spread = max.saturating_sub(min);
                min.saturating_add(spread.mul_f64(chance.fraction()))
            }
        }
    }

    /// The error of this attempt; `None` once the sequence is through.
    pub(super) fn fault(&self, attempt: Attempt, took: Duration) -> Option<Fault> {
        let scripted = self.errors.get(usize::from(attempt.number()))?;
        scripted.fault(took)
    }

    pub(super) fn answer(&self, prompt: &str, id: &RequestId, attempt: Attempt) -> String {
        let mut answer = String::new();
        for piece in &self.answer {
            match piece {
                Piece::Text(text) => answer.push_str(text),
                Piece::Prompt => answer.push_str(prompt),
                Piece::RequestId => answer.push_str(id.as_str()),
                Piece::Attempt => answer.push_str(&attempt.number().to_string()),
            }
        }
        answer
    }
}

/// Splits a template at its placeholders. Other braces stand for themselves, so that an answer
/// can be JSON.
fn pieces(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((before, piece, after)) = first_placeholder(rest) {
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    pieces
}

fn first_placeholder(template: &str) -> Option<(&str, Piece, &str)> {
    let named = |name: &str, piece: Piece| {
        let (before, after) = template.split_once(name)?;
        Some((before, piece, after))
    };
    [
        named("{prompt}", Piece::Prompt),
        named("{request_id}", Piece::RequestId),
        named("{attempt}", Piece::Attempt),
    ]
    .into_iter()
    .flatten()
    .min_by_key(|(before, _, _)| before.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(template: &str, prompt: &str) -> String {
        let script = Script::new(template, Latency::Fixed(Duration::ZERO), &[]);
        let id = "r-1".parse().expect("valid");
        script.answer(prompt, &id, Attempt::nth(2))
    }

    #[test]
    fn placeholders_are_filled_and_other_braces_stand_for_themselves() {
        assert_eq!(
            answer("{attempt}: {prompt} for {request_id}.", "hi"),
            "2: hi for r-1."
        );
        assert_eq!(
            answer(r#"{"action":"{prompt}"}"#, "go"),
            r#"{"action":"go"}"#
        );
        assert_eq!(
            answer("{prompt}", "{attempt}"),
            "{attempt}",
            "a prompt is no template"
        );
        assert_eq!(answer("", "hi"), "");
    }

    #[test]
    fn a_range_of_latency_is_drawn_within_its_ends() {
        let min = Duration::from_millis(10);
        let max = Duration::from_millis(20);
        let script = Script::new("", Latency::Between { min, max }, &[]);
        let chance = Chance::seeded(3);
        for _ in 0..1_000 {
            let latency = script.latency(&chance);
            assert!((min..=max).contains(&latency), "{latency:?}");
        }
    }
}

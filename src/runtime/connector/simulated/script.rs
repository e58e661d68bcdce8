//! What the scripted model does for the prompts that it is for.

use std::time::Duration;

use super::config::{Latency, RuleConfig, ScriptedError, SimulatedConfig};
use crate::{
    clock::Chance,
    contract::RequestId,
    runtime::{
        retry::Attempt,
        stream::{Delta, TokenSink},
    },
};

/// One answer, its latencies and the errors before it.
#[derive(Debug)]
pub(super) struct Script {
    answer: Vec<Piece>,
    reasoning: Vec<Piece>,
    latency: Latency,
    word_latency: Latency,
    errors: Vec<ScriptedError>,
}

/// What is said in one attempt.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) reasoning: String,
    pub(super) answer: String,
}

/// A part of a template.
#[derive(Debug)]
enum Piece {
    Text(String),
    Prompt,
    RequestId,
    Attempt,
}

impl Script {
    /// The script of `config` itself.
    pub(super) fn of(config: &SimulatedConfig) -> Self {
        Self {
            answer: pieces(&config.answer),
            reasoning: pieces(&config.reasoning),
            latency: config.latency,
            word_latency: config.word_latency,
            errors: config.errors.clone(),
        }
    }

    /// The script of one of its rules.
    pub(super) fn of_rule(rule: &RuleConfig, config: &SimulatedConfig) -> Self {
        Self {
            answer: pieces(rule.answer.as_ref().unwrap_or(&config.answer)),
            reasoning: pieces(rule.reasoning.as_ref().unwrap_or(&config.reasoning)),
            latency: rule.latency.unwrap_or(config.latency),
            word_latency: rule.word_latency.unwrap_or(config.word_latency),
            errors: rule.errors.as_ref().unwrap_or(&config.errors).clone(),
        }
    }

    pub(super) fn latency(&self, chance: &Chance) -> Duration {
        self.latency.draw(chance)
    }

    /// How this attempt ends; well once the sequence is through.
    pub(super) fn ending(&self, attempt: Attempt) -> ScriptedError {
        let scripted = self.errors.get(usize::from(attempt.number()));
        scripted.copied().unwrap_or(ScriptedError::Ok)
    }

    pub(super) fn says(&self, prompt: &str, id: &RequestId, attempt: Attempt) -> Said {
        let fill = |template| filled(template, prompt, id, attempt);
        Said {
            reasoning: fill(&self.reasoning),
            answer: fill(&self.answer),
        }
    }

    /// Says the thoughts and then the first `words` of the answer, word by word.
    pub(super) async fn say(&self, said: &Said, words: usize, to: &TokenSink, chance: &Chance) {
        let each = |text: &str| {
            let words = text.split_inclusive(char::is_whitespace);
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        let thoughts = each(&said.reasoning).into_iter().map(Delta::Reasoning);
        let answer = each(&said.answer).into_iter().map(Delta::Content);
        let mut latency = Duration::ZERO;
        for delta in thoughts.chain(answer.take(words)) {
            if !latency.is_zero() {
                tokio::time::sleep(latency).await;
            }
            to.emit(delta);
            latency = self.word_latency.draw(chance);
        }
    }
}

fn filled(template: &[Piece], prompt: &str, id: &RequestId, attempt: Attempt) -> String {
    let mut text = String::new();
    for piece in template {
        match piece {
            Piece::Text(words) => text.push_str(words),
            Piece::Prompt => text.push_str(prompt),
            Piece::RequestId => text.push_str(id.as_str()),
            Piece::Attempt => text.push_str(&attempt.number().to_string()),
        }
    }
    text
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
        let id = "r-1".parse().expect("valid");
        filled(&pieces(template), prompt, &id, Attempt::nth(2))
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
        let chance = Chance::seeded(3);
        for _ in 0..1_000 {
            let latency = Latency::Between { min, max }.draw(&chance);
            assert!((min..=max).contains(&latency), "{latency:?}");
        }
    }
}

//! A model that answers as its configuration says: deterministic, for tests, demos, benchmarks.
//!
//! Never: a network, or a difference between two runs of the same script but for a latency that
//! is given as a range.

mod config;
mod script;

use serde_json::Map;

pub use self::config::{Latency, RuleConfig, ScriptedError, SimulatedConfig};
use self::script::{Said, Script};
use crate::{
    clock::Chance,
    runtime::{
        Fault, ModelCall, ModelName,
        contract::{Draft, DraftUsage},
        retry::Attempt,
    },
};

/// How many bytes of text count as one token.
const BYTES_A_TOKEN: usize = 4;

/// The scripted model.
#[derive(Debug)]
pub struct Simulated {
    model: ModelName,
    script: Script,
    rules: Vec<(String, Script)>,
    chance: Chance,
}

impl Simulated {
    /// The model that `config` scripts; `chance` decides where in a range a latency lies.
    #[must_use]
    pub fn new(config: SimulatedConfig, chance: Chance) -> Self {
        let rules = config.rules.iter();
        let rules = rules.map(|rule| (rule.when.clone(), Script::of_rule(rule, &config)));
        Self {
            rules: rules.collect(),
            script: Script::of(&config),
            model: config.model,
            chance,
        }
    }

    pub(super) const fn model(&self) -> &ModelName {
        &self.model
    }

    /// The script's answer to this attempt, after the script's latency.
    pub(super) async fn attempt(&self, call: &ModelCall, attempt: Attempt) -> Result<Draft, Fault> {
        let prompt = call.prompt();
        let script = self.script_for(prompt);
        let latency = script.latency(&self.chance);
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        let ending = script.ending(attempt);
        let said = script.says(prompt, &call.request_id, attempt);
        if let (Some(tokens), words @ 1..) = (&call.tokens, ending.words_before()) {
            // Boxed, so that a call that is not streamed carries nothing for it.
            Box::pin(script.say(&said, words, tokens, &self.chance)).await;
        }
        match ending.fault(latency) {
            Some(fault) => Err(fault),
            None => Ok(draft(call, said)),
        }
    }

    fn script_for(&self, prompt: &str) -> &Script {
        let matching = self.rules.iter().find(|(when, _)| prompt.contains(when));
        matching.map_or(&self.script, |(_, script)| script)
    }
}

fn draft(call: &ModelCall, said: Said) -> Draft {
    let Said { reasoning, answer } = said;
    let prompt_bytes: usize = call
        .messages
        .iter()
        .map(|message| message.content.len())
        .sum();
    let prompt = prompt_bytes.div_ceil(BYTES_A_TOKEN);
    let completion = (reasoning.len() + answer.len()).div_ceil(BYTES_A_TOKEN);
    let mut metadata = Map::new();
    if !reasoning.is_empty() {
        let chars = reasoning.chars().count();
        metadata.insert("reasoning_chars".to_owned(), chars.into());
    }
    Draft {
        content: answer.into(),
        model: call.model.as_str().into(),
        usage: DraftUsage::Counters {
            prompt: prompt.into(),
            completion: completion.into(),
            total: (prompt + completion).into(),
        },
        finish_reason: "stop".into(),
        metadata,
        ..Draft::default()
    }
}

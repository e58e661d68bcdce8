//! A model that answers as its configuration says: deterministic, for tests, demos, benchmarks.
//!
//! Never: a network, or a difference between two runs of the same script but for a latency that
//! is given as a range.

mod config;
mod script;

pub use self::config::{Latency, RuleConfig, ScriptedError, SimulatedConfig};
use self::script::Script;
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
        let rules = config.rules.iter().map(|rule| {
            let script = Script::new(
                rule.answer.as_ref().unwrap_or(&config.answer),
                rule.latency.unwrap_or(config.latency),
                rule.errors.as_ref().unwrap_or(&config.errors),
            );
            (rule.when.clone(), script)
        });
        Self {
            rules: rules.collect(),
            script: Script::new(&config.answer, config.latency, &config.errors),
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
        if let Some(fault) = script.fault(attempt, latency) {
            return Err(fault);
        }
        Ok(draft(
            call,
            script.answer(prompt, &call.request_id, attempt),
        ))
    }

    fn script_for(&self, prompt: &str) -> &Script {
        let matching = self.rules.iter().find(|(when, _)| prompt.contains(when));
        matching.map_or(&self.script, |(_, script)| script)
    }
}

fn draft(call: &ModelCall, content: String) -> Draft {
    let prompt_bytes: usize = call
        .messages
        .iter()
        .map(|message| message.content.len())
        .sum();
    let prompt = prompt_bytes.div_ceil(BYTES_A_TOKEN);
    let completion = content.len().div_ceil(BYTES_A_TOKEN);
    Draft {
        content: content.into(),
        model: call.model.as_str().into(),
        usage: DraftUsage::Counters {
            prompt: prompt.into(),
            completion: completion.into(),
            total: (prompt + completion).into(),
        },
        finish_reason: "stop".into(),
        ..Draft::default()
    }
}

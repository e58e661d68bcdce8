//! What `kind = "chat"` says of its models and their answers.
//!
//! Never: the meaning of a provider's keys; the runtime reads those.

use serde_json::Map;
use toml::Value;

use super::Keys;
use crate::{
    contract::Violation,
    policy::{Finding, FindingCode},
    puruto::spec::ChatSpec,
    runtime::{
        config::{AnswerFormat, ProviderConfig},
        contract::AnswerShape,
        repair::Repair,
        routes::ROUTES_MAX,
    },
};

/// Most tables `[[fallback]]`: the model itself is a route too.
const FALLBACKS_MAX: usize = ROUTES_MAX - 1;

impl Keys<'_> {
    /// None without a usable `[model]`.
    pub(super) fn chat(&mut self) -> Option<ChatSpec> {
        let model = self.table.remove("model");
        let model = model.and_then(|table| self.provider("model", table));
        let fallbacks = self.fallbacks();
        let answer = self.answer();
        let repair = self.take("repair_attempts");
        let chat = ChatSpec {
            model: model?,
            fallbacks,
            answer,
            repair: repair.unwrap_or_default(),
        };
        self.repair_is_of_use(&chat);
        Some(chat)
    }

    /// Any text is as good as any other: there is nothing to correct in it.
    fn repair_is_of_use(&mut self, chat: &ChatSpec) {
        let mut models = [&chat.model].into_iter().chain(&chat.fallbacks);
        let asks_for_json = chat.answer != AnswerShape::Text || models.any(is_told_json);
        // A schema with mistakes is told already.
        if chat.repair == Repair::Once && !asks_for_json && self.findings.is_empty() {
            let expected = "a response_schema beside it";
            let why = Violation::new("repair_attempts", expected, "none");
            self.error(FindingCode::InvalidWorkerConfig, &why);
        }
    }

    pub(super) fn fallbacks(&mut self) -> Vec<ProviderConfig> {
        let tables = self.take::<Vec<Value>>("fallback").unwrap_or_default();
        if tables.len() > FALLBACKS_MAX {
            let expected = format!("at most {FALLBACKS_MAX} tables");
            let why = Violation::new("fallback", expected, tables.len());
            self.error(FindingCode::InvalidWorkerConfig, &why);
        }
        let numbered = tables.into_iter().enumerate();
        numbered
            .filter_map(|(index, table)| self.provider(&format!("fallback[{index}]"), table))
            .collect()
    }

    pub(super) fn provider(&mut self, at: &str, table: Value) -> Option<ProviderConfig> {
        let table = self.fit::<Map<_, _>>(at, table)?;
        let misread = match ProviderConfig::read(table) {
            Ok(config) => return Some(config),
            Err(misread) => misread,
        };
        let key = match misread.key {
            Some(key) => format!("{at}.{key}"),
            None => at.to_owned(),
        };
        let code = FindingCode::InvalidWorkerConfig;
        self.findings
            .push(Finding::at(code, self.file, &key, misread.why));
        None
    }
}

const fn is_told_json(model: &ProviderConfig) -> bool {
    match model {
        ProviderConfig::Ollama(config) => matches!(config.format, Some(AnswerFormat::Json)),
        ProviderConfig::Simulated(_) | ProviderConfig::OpenAi(_) | ProviderConfig::MiniMax(_) => {
            false
        }
    }
}

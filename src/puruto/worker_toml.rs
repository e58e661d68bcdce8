//! `worker.toml` as a [`WorkerSpec`], or everything that is wrong with it.
//!
//! Each key is read by itself, so that a mistake in one hides none in another. Never: a file that
//! was not handed over, or a look at what the tables of a kind mean; the runtime and the
//! handler read those.

mod actions;
pub(super) mod agent;
pub(super) mod budget;
mod chat;
mod schema;

use std::path::Path;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::spec::{Kind, Work, WorkerSpec};
use crate::{
    contract::Violation,
    handler::{Answering, agent::StepLimits},
    policy::{Finding, FindingCode, Unreadable},
};

/// The name of the file that says how a Puruto is served.
pub const WORKER_FILE: &str = "worker.toml";

/// Every key of `worker.toml`; which of them are needed, and which say nothing, depends on the kind.
pub const WORKER_KEYS: [&str; 17] = [
    "kind",
    "description",
    "actions",
    "concurrency",
    "on_circuit_open",
    "stream",
    "model",
    "fallback",
    "response_schema",
    "repair_attempts",
    "command",
    "decisions",
    "tools",
    "mcp",
    "tool_timeout",
    "output_max",
    "budget",
];

/// Which keys say nothing, by kind.
const NEEDLESS_TO_CHAT: [&str; 6] = [
    "command",
    "decisions",
    "tools",
    "mcp",
    "tool_timeout",
    "output_max",
];
const NEEDLESS_TO_COMMAND: [&str; 9] = [
    "model",
    "fallback",
    "response_schema",
    "repair_attempts",
    "decisions",
    "tools",
    "mcp",
    "tool_timeout",
    "output_max",
];
const NEEDLESS_TO_AGENT: [&str; 3] = ["command", "response_schema", "repair_attempts"];

/// Reads a file of the Puruto's folder; `None` when there is none of that name.
pub(super) type Beside<'f> = &'f dyn Fn(&Path) -> Result<Option<Vec<u8>>, Unreadable>;

/// Reads a `worker.toml`; `file` is only named in findings, and `beside` reads what it names.
pub(super) fn parse(
    file: &Path,
    bytes: &[u8],
    beside: Beside<'_>,
) -> Result<WorkerSpec, Vec<Finding>> {
    let unreadable =
        |why: String| vec![Finding::whole(FindingCode::InvalidWorkerConfig, file, why)];
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        unreadable(format!("is no UTF-8 text: invalid byte at offset {at}"))
    })?;
    let table = text
        .parse::<Table>()
        .map_err(|error| unreadable(syntax_error(text, &error)))?;
    Keys {
        file,
        beside,
        table,
        findings: Vec::new(),
    }
    .into_spec()
}

/// The error in one line, where its own display would draw the place over several.
fn syntax_error(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let message = error.message().replace('\n', ", ");
    match before {
        Some(before) => format!(
            "is no TOML: line {}: {message}",
            before.matches('\n').count() + 1
        ),
        None => format!("is no TOML: {message}"),
    }
}

/// Takes the known keys out of the table and notes what is wrong with each.
struct Keys<'f> {
    file: &'f Path,
    beside: Beside<'f>,
    table: Table,
    findings: Vec<Finding>,
}

impl Keys<'_> {
    fn into_spec(mut self) -> Result<WorkerSpec, Vec<Finding>> {
        let kind = self.kind();
        let description = self.take("description");
        let actions = self.actions();
        let concurrency = self.take("concurrency");
        let on_circuit_open = self.take("on_circuit_open");
        let answering = self.answering(kind);
        let (budget, steps) = self.budget(kind);
        let work = self.work(kind, steps);
        self.unknown();
        match work {
            Some(work) if self.findings.is_empty() => Ok(WorkerSpec {
                work,
                description,
                actions,
                concurrency: concurrency.unwrap_or_default(),
                on_circuit_open: on_circuit_open.unwrap_or_default(),
                answering,
                budget,
            }),
            _ => Err(self.findings),
        }
    }

    /// None when there is one that is no kind.
    fn kind(&mut self) -> Option<Kind> {
        if self.table.contains_key("kind") {
            return self.take("kind");
        }
        Some(Kind::default())
    }

    fn answering(&mut self, kind: Option<Kind>) -> Answering {
        match self.take("stream") {
            Some(true) if !matches!(kind, Some(Kind::Chat) | None) => {
                let expected = "no stream unless kind is \"chat\"";
                let why = Violation::new("stream", expected, "true");
                self.error(FindingCode::InvalidWorkerConfig, &why);
                Answering::Whole
            }
            Some(true) => Answering::Streamed,
            Some(false) | None => Answering::Whole,
        }
    }

    fn work(&mut self, kind: Option<Kind>, steps: StepLimits) -> Option<Work> {
        if let Some(kind) = kind {
            self.tables_fit(kind);
        }
        // All of them, so that the mistakes inside are found whatever the kind.
        let equipment = self.equipment();
        let command = self.take("command").map(Work::Command);
        let agent = match kind {
            Some(Kind::Agent) => self.agent(equipment, steps),
            Some(Kind::Chat | Kind::Command) | None => None,
        };
        let chat = self.chat().map(|chat| Work::Chat(Box::new(chat)));
        match kind? {
            Kind::Chat => chat,
            Kind::Command => command,
            Kind::Agent => agent.map(|agent| Work::Agent(Box::new(agent))),
        }
    }

    /// The table of this kind is there, and no key of another.
    fn tables_fit(&mut self, kind: Kind) {
        let model = ("model", "the table [model], which names a provider");
        let program = ("command", "the table [command], which names a program");
        let ((needed, expected), needless, name): (_, &[&str], _) = match kind {
            Kind::Chat => (model, &NEEDLESS_TO_CHAT, "chat"),
            Kind::Command => (program, &NEEDLESS_TO_COMMAND, "command"),
            Kind::Agent => (model, &NEEDLESS_TO_AGENT, "agent"),
        };
        if !self.table.contains_key(needed) {
            let why = Violation::new(needed, expected, "nothing");
            self.error(FindingCode::WorkerConfigMissingKey, &why);
        }
        for key in needless {
            if self.table.contains_key(*key) {
                let expected = format!("no {key} when kind is \"{name}\"");
                let why = Violation::new(*key, expected, "one");
                self.error(FindingCode::InvalidWorkerConfig, &why);
            }
        }
    }

    fn unknown(&mut self) {
        let known = format!("one of the keys {}", WORKER_KEYS.join(", "));
        for key in std::mem::take(&mut self.table).keys() {
            let violation = Violation::new(key, known.as_str(), "an unknown key");
            self.error(FindingCode::InvalidWorkerConfig, &violation);
        }
    }

    fn take<T: DeserializeOwned>(&mut self, key: &str) -> Option<T> {
        let value = self.table.remove(key)?;
        self.fit(key, value)
    }

    fn fit<T: DeserializeOwned>(&mut self, at: &str, value: Value) -> Option<T> {
        let read = serde_path_to_error::deserialize::<_, T>(value);
        read.map_err(|error| self.misfit(at, &error)).ok()
    }

    fn misfit(&mut self, at: &str, error: &serde_path_to_error::Error<toml::de::Error>) {
        let inner = error.path().to_string();
        let key = match inner.as_str() {
            "." => at.to_owned(),
            inner => format!("{at}.{inner}"),
        };
        let message = error.inner().message();
        self.findings.push(Finding::at(
            FindingCode::InvalidWorkerConfig,
            self.file,
            &key,
            message,
        ));
    }

    fn error(&mut self, code: FindingCode, violation: &Violation) {
        self.findings
            .push(Finding::error(code, self.file, violation));
    }
}

#[cfg(test)]
#[path = "worker_toml_tests.rs"]
mod tests;

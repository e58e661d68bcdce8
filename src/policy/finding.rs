//! What is wrong with a file that an operator wrote, for the eye and for a script.

use std::{fmt, path::Path};

use serde::Serialize;

use crate::contract::Violation;

/// Whether a file with this finding can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The file is not used.
    Error,
    /// The file is used; it probably does not say what its author means.
    Warning,
}

/// What kind of mistake a finding is; the code as it stands in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingCode {
    /// `.puruto-ipc.json`: no JSON object, a duplicate or unknown key, a value that makes no sense.
    InvalidIpcConfig,
    /// `.puruto-ipc.json`: a value of another JSON type.
    IpcConfigInvalidType,
    /// `.puruto-ipc.json`: a key whose absence is probably an oversight.
    IpcConfigMissingKey,
    /// `worker.toml`: no TOML, an unknown key, a value that does not fit, or a `response_schema`
    /// that is none.
    InvalidWorkerConfig,
    /// `worker.toml`: a key that its kind cannot do without.
    WorkerConfigMissingKey,
    /// The folder itself, its `prompt.md` or its `docs/`.
    InvalidPurutoFolder,
    /// A skill's descriptor: no JSON object, a duplicate or unknown key, a value that makes no
    /// sense, or a skill that nobody serves.
    InvalidSkill,
    /// A skill's descriptor: a key that it cannot do without.
    SkillMissingKey,
}

impl FindingCode {
    /// The code as it stands in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidIpcConfig => "invalid-ipc-config",
            Self::IpcConfigInvalidType => "ipc-config-invalid-type",
            Self::IpcConfigMissingKey => "ipc-config-missing-key",
            Self::InvalidWorkerConfig => "invalid-worker-config",
            Self::WorkerConfigMissingKey => "worker-config-missing-key",
            Self::InvalidPurutoFolder => "invalid-puruto-folder",
            Self::InvalidSkill => "invalid-skill",
            Self::SkillMissingKey => "skill-missing-key",
        }
    }
}

/// One thing to correct: how bad, what kind, where, and what is allowed there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// What kind of mistake it is.
    pub code: FindingCode,
    /// `file#key`, or the file alone when all of it is meant.
    pub path: String,
    /// What was expected and what was found, in one line.
    pub message: String,
}

impl Finding {
    /// All of `findings` for people, each on a line of its own.
    pub(crate) fn listed(findings: &[Self]) -> String {
        let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    /// An error at the place that `violation` names.
    pub(crate) fn error(code: FindingCode, file: &Path, violation: &Violation) -> Self {
        let Violation {
            field,
            expected,
            actual,
        } = violation;
        let message = format!("expected {expected}, got {actual}");
        Self::new(Level::Error, code, locate(file, field), message)
    }

    /// An error at `key`.
    pub(crate) fn at(
        code: FindingCode,
        file: &Path,
        key: &str,
        message: impl fmt::Display,
    ) -> Self {
        Self::new(Level::Error, code, locate(file, key), message)
    }

    /// An error about `file` as a whole.
    pub(crate) fn whole(code: FindingCode, file: &Path, message: impl fmt::Display) -> Self {
        Self::new(Level::Error, code, file.display().to_string(), message)
    }

    /// A warning at `key`.
    pub(crate) fn warning(
        code: FindingCode,
        file: &Path,
        key: &str,
        message: impl fmt::Display,
    ) -> Self {
        Self::new(Level::Warning, code, locate(file, key), message)
    }

    fn new(level: Level, code: FindingCode, path: String, message: impl fmt::Display) -> Self {
        Self {
            level,
            code,
            path,
            message: message.to_string(),
        }
    }

    /// Whether it keeps its file from being used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.level == Level::Error
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let code = self.code.as_str();
        write!(f, "{level}[{code}] {}: {}", self.path, self.message)
    }
}

/// `file#key`; the key `$` is the document itself.
fn locate(file: &Path, key: &str) -> String {
    match key {
        "$" => file.display().to_string(),
        key => format!("{}#{key}", file.display()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_finding_is_printed_for_scripts_and_for_people() {
        let file = Path::new("workers/a/.puruto-ipc.json");
        let violation = Violation::new("max_hops", "an integer of at least 0", -1);
        let finding = Finding::error(FindingCode::InvalidIpcConfig, file, &violation);
        assert_eq!(
            serde_json::to_value(&finding).expect("strings only"),
            json!({
                "level": "error",
                "code": "invalid-ipc-config",
                "path": "workers/a/.puruto-ipc.json#max_hops",
                "message": "expected an integer of at least 0, got -1",
            })
        );
        assert_eq!(
            finding.to_string(),
            "error[invalid-ipc-config] workers/a/.puruto-ipc.json#max_hops: \
             expected an integer of at least 0, got -1"
        );
    }

    #[test]
    fn a_code_reads_the_same_in_json_and_in_text() {
        use FindingCode as C;
        for code in [
            C::InvalidIpcConfig,
            C::IpcConfigInvalidType,
            C::IpcConfigMissingKey,
            C::InvalidWorkerConfig,
            C::WorkerConfigMissingKey,
            C::InvalidPurutoFolder,
            C::InvalidSkill,
            C::SkillMissingKey,
        ] {
            assert_eq!(serde_json::to_value(code).expect("a string"), code.as_str());
        }
    }
}

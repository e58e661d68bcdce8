//! What the fleet offers as skills: a descriptor each, in `config/skills/*.json`.
//!
//! A descriptor says what callers may know, and under `puruto` which target is asked for which
//! action with which prompt. Never: a request; or what is under `puruto` in what is published.

mod descriptor;
mod endpoint;
mod fields;
mod fit;
mod id;
mod output;
mod prompt;
mod published;
mod reload;
mod set;
#[cfg(test)]
mod tests;

use std::{path::PathBuf, time::Duration};

use serde_json::Value;

pub(super) use self::output::answer_of;
use self::{endpoint::Endpoints, prompt::PromptTemplate, published::Described};
pub use self::{
    endpoint::{EndpointUrls, filled},
    fit::misfits,
    id::SkillId,
    prompt::PromptError,
    reload::{LiveSkills, SkillsReloader, watch},
    set::{Skills, check},
};
use super::auth::AuthScheme;
use crate::{
    config::HttpUrl,
    contract::{ActionName, Lane, PurutoName, TimeoutSec, Violation},
    runtime::contract::AnswerSchema,
};

/// One skill: what its descriptor says.
#[derive(Debug)]
pub struct Skill {
    /// Where it says so.
    file: PathBuf,
    id: SkillId,
    described: Described,
    endpoints: Endpoints,
    inputs: AnswerSchema,
    output: AnswerSchema,
    auth: AuthScheme,
    target: PurutoName,
    action: ActionName,
    prompt: PromptTemplate,
    timeout: Option<TimeoutSec>,
    lane: Lane,
    retry: Retry,
    /// The digest of its file, which tells it from another.
    written: [u8; 32],
}

impl PartialEq for Skill {
    fn eq(&self, other: &Self) -> bool {
        (&self.written, &self.file) == (&other.written, &other.file)
    }
}

/// What a caller is advised whose execution took too long: the n-th attempt after
/// `suggested_delay` times two to the n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How long to wait before the first one.
    pub suggested_delay: Duration,
    /// How many to make.
    pub max_attempts: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            suggested_delay: Duration::from_secs(5),
            max_attempts: 3,
        }
    }
}

impl Skill {
    /// What it is called.
    #[must_use]
    pub const fn id(&self) -> &SkillId {
        &self.id
    }

    /// Its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.described.name
    }

    /// Who is asked.
    #[must_use]
    pub const fn target(&self) -> &PurutoName {
        &self.target
    }

    /// What the target is asked to do.
    #[must_use]
    pub const fn action(&self) -> &ActionName {
        &self.action
    }

    /// How a caller shows who it is.
    #[must_use]
    pub const fn auth(&self) -> &AuthScheme {
        &self.auth
    }

    /// How long an execution may take where the caller does not say; the gateway's policy decides
    /// where the descriptor does not either.
    #[must_use]
    pub const fn timeout(&self) -> Option<TimeoutSec> {
        self.timeout
    }

    /// How urgent it is where the caller does not say.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        self.lane
    }

    /// What a caller is advised whose execution took too long.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        self.retry
    }

    /// Where callers who reach the gateway at `gateway` find it and its executions.
    #[must_use]
    pub fn endpoints(&self, gateway: &HttpUrl) -> EndpointUrls {
        self.endpoints.urls(gateway)
    }

    /// Whether `inputs` are what the skill takes.
    ///
    /// # Errors
    /// In which ways they are not: the first twenty, each below `inputs`.
    pub fn check_inputs(&self, inputs: &Value) -> Result<(), Vec<Violation>> {
        let violations = self.inputs.violations_in("inputs", inputs);
        if violations.is_empty() {
            Ok(())
        } else {
            Err(violations)
        }
    }

    /// The prompt that `inputs`, once checked, make.
    ///
    /// # Errors
    /// Why they make none.
    pub fn prompt(&self, inputs: &Value) -> Result<String, PromptError> {
        self.prompt.render(inputs)
    }

    /// The output of the skill, out of the `result` of an execution that ended well; see the
    /// module [`output`] for what becomes of a result of another form.
    #[must_use]
    pub fn output(&self, result: &Value) -> Value {
        output::shaped(&self.output, result)
    }
}

/// `millis`, the time-out of a caller, in the whole seconds that a request counts in, rounded up;
/// none where that is no time-out that a request may have.
#[must_use]
pub fn timeout_of_millis(millis: u64) -> Option<TimeoutSec> {
    TimeoutSec::new(millis.div_ceil(1_000))
}

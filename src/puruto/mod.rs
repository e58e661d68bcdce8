//! The fleet's Purutos as their folders describe them.
//!
//! Owns how a folder under `workers/` is read and what each mistake in it is called. Never: runs
//! anything; a Puruto here is a value.

mod actions;
mod agent;
mod fleet;
mod folder;
mod spec;
mod worker_toml;

use std::{fmt, path::PathBuf, sync::Arc};

use self::folder::DOCS_FOLDER;
pub use self::{
    actions::{Actions, Approval, ServedAction},
    agent::{AgentSpec, Decider, InvalidTools, OwnTool, OwnTools},
    fleet::{Fleet, check},
    spec::{ChatSpec, Concurrency, InvalidConcurrency, Work, WorkerSpec},
    worker_toml::{WORKER_FILE, WORKER_KEYS},
};
use crate::{
    contract::{ActionName, PurutoName},
    policy::{Denial, Policy},
};

/// One Puruto: what its folder says.
#[derive(Clone, Debug, PartialEq)]
pub struct Puruto {
    /// Its name as caller and as target: that of its folder.
    pub name: PurutoName,
    /// Where its folder is.
    pub folder: PathBuf,
    /// How it is served; one without only calls others.
    pub worker: Option<WorkerSpec>,
    /// Whom it may call; one without may call nobody.
    pub policy: Option<Policy>,
    /// What its model is told before each request.
    pub prompt: Option<SystemPrompt>,
    /// The files in its `docs/`, sorted.
    pub docs: Vec<PathBuf>,
}

impl Puruto {
    /// Where its documents are, if it has some.
    #[must_use]
    pub fn docs_folder(&self) -> PathBuf {
        self.folder.join(DOCS_FOLDER)
    }

    /// Whether it serves `action` at all, whoever asks.
    ///
    /// # Errors
    /// The denial that names its `worker.toml`. One without a `worker.toml` is no target, and
    /// refuses nothing.
    pub fn serves(&self, action: &ActionName) -> Result<(), Denial> {
        match &self.worker {
            Some(worker) if !worker.actions.contain(action) => Err(Denial::NotServed {
                target: self.name.clone(),
                action: action.clone(),
            }),
            Some(_) | None => Ok(()),
        }
    }
}

/// What a model is told before each request: the text of `prompt.md`, shared by all requests.
#[derive(Clone, PartialEq, Eq)]
pub struct SystemPrompt(Arc<str>);

impl SystemPrompt {
    /// The text.
    #[must_use]
    pub fn text(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl fmt::Debug for SystemPrompt {
    /// Its length: a prompt never reaches a log by way of `{:?}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemPrompt({} bytes)", self.0.len())
    }
}

#[cfg(test)]
#[path = "readme_tests.rs"]
mod readme;

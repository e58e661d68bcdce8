//! How an agent is served, as values that cannot be wrong.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::{
    handler::agent::{Decisions, Simulated, StepLimits, mcp::McpConfig, tools::ToolBounds},
    runtime::config::ProviderConfig,
};

/// What `kind = "agent"` says.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSpec {
    /// Who decides.
    pub decider: Decider,
    /// How a model says what it decides.
    pub decisions: Decisions,
    /// Which of an agent's own tools it has.
    pub tools: OwnTools,
    /// Whose tools it may use beyond those.
    pub servers: Vec<McpConfig>,
    /// How far one run may go.
    pub limits: StepLimits,
    /// What each use of a tool is held to.
    pub bounds: ToolBounds,
}

/// Who decides for an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Decider {
    /// No model but a policy, for tests and for whoever wants to see the machinery alone.
    Policy(Simulated),
    /// A model.
    Models {
        /// The one that is asked first.
        model: Box<ProviderConfig>,
        /// Those that are asked where it fails, in their order.
        fallbacks: Vec<ProviderConfig>,
    },
}

/// A tool that is an agent's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnTool {
    /// Finds documents of the Puruto.
    Search,
    /// Reads one of them.
    Read,
    /// Ends the run with an answer.
    Report,
    /// Asks other Purutos.
    Delegate,
}

/// Which of its own tools an agent has: it always reports, and searches only what it can read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeSet<OwnTool>")]
pub struct OwnTools(BTreeSet<OwnTool>);

/// Tools that are of no use as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTools {
    /// A run could not end.
    #[error("expected report among them: without it no run has a result")]
    NoReport,
    /// What is found cannot be read, or what can be read not found.
    #[error("expected search and read together, or neither of them")]
    Apart,
}

impl OwnTools {
    /// Whether `tool` is one of them.
    #[must_use]
    pub fn contain(&self, tool: OwnTool) -> bool {
        self.0.contains(&tool)
    }
}

impl Default for OwnTools {
    /// All but [`OwnTool::Delegate`].
    fn default() -> Self {
        Self([OwnTool::Search, OwnTool::Read, OwnTool::Report].into())
    }
}

impl TryFrom<BTreeSet<OwnTool>> for OwnTools {
    type Error = InvalidTools;

    fn try_from(tools: BTreeSet<OwnTool>) -> Result<Self, InvalidTools> {
        if !tools.contains(&OwnTool::Report) {
            Err(InvalidTools::NoReport)
        } else if tools.contains(&OwnTool::Search) != tools.contains(&OwnTool::Read) {
            Err(InvalidTools::Apart)
        } else {
            Ok(Self(tools))
        }
    }
}

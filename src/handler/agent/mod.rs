//! An agent: a model decides step by step what is done, until it reports.
//!
//! Each step is written in the run's journal before anything relies on it, so that whoever goes on
//! with the run goes on where it was. Never: a step that is not in the journal, or an effect that
//! one step has twice.

mod carry_out;
mod decision;
mod documents;
mod ending;
/// Tools of servers that speak the Model Context Protocol.
pub mod mcp;
mod observation;
mod offer;
mod past;
mod prompt;
mod proposer;
mod script;
mod simulated;
#[cfg(test)]
mod tests;
/// What an agent can use beyond its own documents.
pub mod tools;
mod turn;

use std::{fmt, sync::Arc};

use futures_util::future::{BoxFuture, join_all};
use tokio::time::timeout;

pub use self::{
    documents::{
        DOCUMENTS_MAX, DocumentId, Documents, DocumentsFault, FILE_BYTES_MAX, HITS_MAX,
        TOTAL_BYTES_MAX,
    },
    proposer::{Decisions, Model, Proposer},
    script::{InvalidScript, Script},
    simulated::Simulated,
};
use self::{
    offer::Offer,
    past::Past,
    tools::{ToolBounds, ToolServer},
    turn::Turn,
};
use super::{Context, Ended, Handler, crash::CrashAt};
use crate::contract::{ActionName, PurutoName, ResultError};

/// How far one run may go by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepLimits {
    /// How many decisions may be carried out.
    pub steps: u32,
    /// How often its model may be asked.
    pub requests: u32,
}

impl Default for StepLimits {
    /// 8 steps and 12 requests.
    fn default() -> Self {
        Self {
            steps: 8,
            requests: 12,
        }
    }
}

/// Somebody whom an agent may ask, as its model is told. Whether it really may, the policy says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Who.
    pub target: PurutoName,
    /// For what; for anything where there is none.
    pub actions: Vec<ActionName>,
    /// What it is for.
    pub description: Option<String>,
}

/// What an agent is made of.
#[derive(Debug)]
pub struct AgentParts {
    /// Who decides.
    pub proposer: Proposer,
    /// What it may search and read.
    pub documents: Documents,
    /// Whom it may ask.
    pub peers: Vec<Peer>,
    /// Whose tools it may use, each server under its own name.
    pub servers: Vec<Arc<dyn ToolServer>>,
    /// How far one run may go.
    pub limits: StepLimits,
    /// What each use of a tool is held to.
    pub bounds: ToolBounds,
    /// Where the process is to die, if anywhere.
    pub crash_at: CrashAt,
}

/// Works on each request in a run of its own.
pub struct Agent {
    proposer: Proposer,
    documents: Documents,
    peers: Vec<Peer>,
    servers: Vec<Arc<dyn ToolServer>>,
    limits: StepLimits,
    bounds: ToolBounds,
    crash_at: CrashAt,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Agent({:?}, {:?})", self.proposer, self.documents)
    }
}

impl Agent {
    /// An agent of these parts.
    #[must_use]
    pub fn new(parts: AgentParts) -> Self {
        Self {
            proposer: parts.proposer,
            documents: parts.documents,
            peers: parts.peers,
            servers: parts.servers,
            limits: parts.limits,
            bounds: parts.bounds,
            crash_at: parts.crash_at,
        }
    }

    /// What can be decided on after `past`. A server that is away, or does not answer in the time
    /// that a use of a tool has, offers nothing for now.
    async fn offer(&self, past: &Past) -> Offer {
        let mut offer = Offer::own(&self.documents, &self.peers, past);
        let listed = self
            .servers
            .iter()
            .map(|server| timeout(self.bounds.timeout, server.tools()));
        for (server, listed) in self.servers.iter().zip(join_all(listed).await) {
            match listed {
                Ok(Ok(tools)) => tools
                    .iter()
                    .for_each(|tool| offer.add(server.name(), &**tool)),
                Ok(Err(away)) => tracing::warn!(server = %server.name(), %away, "tools_away"),
                Err(_) => tracing::warn!(server = %server.name(), "tools_away"),
            }
        }
        offer
    }
}

impl Handler for Agent {
    fn handle(&self, context: Context) -> BoxFuture<'_, Result<Ended, ResultError>> {
        Box::pin(async move { Turn::new(self, &context).take().await })
    }

    fn route(&self) -> Option<String> {
        Some(self.proposer.route())
    }
}

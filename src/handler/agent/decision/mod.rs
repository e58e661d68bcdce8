//! What an agent can decide, as values that cannot be wrong: `{"action", "args"}`.
//!
//! Never: whether the agent has the tool, or the document exists; that is observed when the
//! decision is carried out.

mod children;
mod read;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

pub(super) use self::read::{call, read, text};
use super::{documents::DocumentId, tools::ServerName};
use crate::contract::{ChildRequest, Join};

/// Longest query of a search, in characters.
pub(super) const QUERY_CHARS_MAX: usize = 1_000;
/// Longest report, in bytes; it travels in a result.
pub(super) const ANSWER_BYTES_MAX: usize = 100_000;
/// Most sources of a report.
pub(super) const SOURCES_MAX: usize = 100;
/// Longest name of a tool, in characters.
pub(super) const TOOL_CHARS_MAX: usize = 200;

/// What is done next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    /// Search the documents.
    Search { query: String },
    /// Read one of them.
    Read { id: DocumentId },
    /// Ask others, and wait for them.
    Delegate {
        children: Vec<ChildRequest>,
        join: Join,
    },
    /// Have somebody else's tool do something.
    Tool {
        server: ServerName,
        name: String,
        args: Map<String, Value>,
    },
    /// End with this answer.
    Report {
        answer: String,
        sources: Vec<DocumentId>,
    },
}

/// The actions, by the names that decisions have for them.
pub(super) const SEARCH: &str = "search";
pub(super) const READ: &str = "read";
pub(super) const DELEGATE: &str = "delegate";
pub(super) const TOOL: &str = "tool";
pub(super) const REPORT: &str = "report";

impl Decision {
    /// The name of its action.
    pub(super) const fn action(&self) -> &'static str {
        match self {
            Self::Search { .. } => SEARCH,
            Self::Read { .. } => READ,
            Self::Delegate { .. } => DELEGATE,
            Self::Tool { .. } => TOOL,
            Self::Report { .. } => REPORT,
        }
    }

    /// The decision as it is kept; [`read()`] reads it.
    pub(super) fn to_json(&self) -> Value {
        let args = match self {
            Self::Search { query } => json!({ "query": query }),
            Self::Read { id } => json!({ "id": id.as_str() }),
            Self::Delegate { children, join } => children::to_json(children, *join),
            Self::Tool { server, name, args } => {
                json!({"server": server, "name": name, "args": args})
            }
            Self::Report { answer, sources } => {
                let sources: Vec<_> = sources.iter().map(DocumentId::as_str).collect();
                json!({"answer": answer, "sources": sources})
            }
        };
        json!({"action": self.action(), "args": args})
    }
}

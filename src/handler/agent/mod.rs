//! An agent: a model decides step by step what is done, until it reports.
//!
//! Never: a step that is not in the journal before it is relied on.

/// Tools of servers that speak the Model Context Protocol.
pub mod mcp;
/// What an agent can use beyond its own documents.
pub mod tools;

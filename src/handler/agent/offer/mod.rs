//! What an agent is offered to decide on: as words, as a schema, as functions to call.
//!
//! Never: what is allowed. Whoever carries a decision out sees to that.

mod now;
mod own;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use serde_json::{Value, json};

use self::now::Now;
use super::{
    Peer,
    decision::{self, Decision, TOOL},
    documents::Documents,
    past::Past,
    tools::{ServerName, Tool},
};
use crate::{
    contract::{Parsed, Violation},
    runtime::{
        ToolDefinition,
        contract::{AnswerSchema, AnswerShape},
    },
};

/// Longest name of a function, in bytes.
const FUNCTION_BYTES_MAX: usize = 64;
/// Longest description of somebody else's tool, in characters.
const DESCRIPTION_CHARS_MAX: usize = 500;
/// Longest schema of somebody else's tool that is passed on, in bytes.
const SCHEMA_BYTES_MAX: usize = 8 << 10;

/// What can be decided on.
#[derive(Clone, Debug, Default)]
pub(super) struct Offer(Vec<Offered>);

#[derive(Clone, Debug)]
struct Offered {
    what: What,
    description: String,
    /// The JSON Schema of the arguments.
    args: Value,
}

#[derive(Clone, Debug)]
enum What {
    Own(&'static str),
    Theirs { server: ServerName, name: String },
}

impl Offer {
    /// What of an agent's own tools is of use after `past`; never nothing.
    pub(super) fn own(documents: &Documents, peers: &[Peer], past: &Past) -> Self {
        let now = Now::of(documents, past);
        let mut offered = Vec::new();
        if now.search {
            offered.push(own::search());
        }
        if !now.readable.is_empty() {
            offered.push(own::read(&now.readable));
        }
        if !peers.is_empty() {
            offered.push(own::delegate(peers));
        }
        if now.report {
            offered.push(own::report(&now.sources));
        }
        Self(offered)
    }

    /// The same, and a tool of `server`.
    pub(super) fn add(&mut self, server: &ServerName, tool: &dyn Tool) {
        let description = tool.description().chars().take(DESCRIPTION_CHARS_MAX);
        self.0.push(Offered {
            what: What::Theirs {
                server: server.clone(),
                name: tool.name().to_owned(),
            },
            description: description.collect(),
            args: foreign_schema(tool.schema()),
        });
    }

    /// Each with what it is for, a line each, as JSON is asked for.
    pub(super) fn described(&self) -> String {
        let mut text = String::new();
        for offered in &self.0 {
            let args = match &offered.what {
                What::Own(_) => offered.args.clone(),
                What::Theirs { server, name } => {
                    json!({"server": server, "name": name, "args": offered.args})
                }
            };
            let (action, description) = (offered.what.action(), &offered.description);
            writeln!(text, "- {action}: {description} args: {args}")
                .expect("a string takes any text");
        }
        text
    }

    /// The form of a decision.
    pub(super) fn shape(&self) -> AnswerShape {
        let alternatives: Vec<_> = self.0.iter().map(Offered::schema).collect();
        let schema = json!({"type": "object", "anyOf": alternatives});
        // Each part of it was compiled alone; should they not fit together, any JSON is read.
        AnswerSchema::compile(schema).map_or(AnswerShape::Json, AnswerShape::Schema)
    }

    /// The same as functions that a model can call.
    pub(super) fn functions(&self) -> Vec<ToolDefinition> {
        let functions = self.0.iter().map(|offered| ToolDefinition {
            name: offered.what.function(),
            description: offered.description.clone(),
            parameters: offered.args.clone(),
        });
        functions.collect()
    }

    /// The decision that the call of a function is.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(super) fn called(&self, function: &str, args: &str) -> Result<Decision, Vec<Violation>> {
        let theirs = self.0.iter().find_map(|it| match &it.what {
            What::Theirs { server, name } if it.what.function() == function => Some((server, name)),
            What::Theirs { .. } | What::Own(_) => None,
        });
        let Some((server, name)) = theirs else {
            return decision::call(function, args);
        };
        let args = Parsed::from_slice(args.as_bytes()).map_err(|violation| vec![violation])?;
        if !args.violations.is_empty() {
            return Err(args.violations);
        }
        let args = json!({"server": server, "name": name, "args": args.value});
        decision::read(json!({"action": TOOL, "args": args}))
    }
}

impl What {
    const fn action(&self) -> &'static str {
        match self {
            Self::Own(action) => action,
            Self::Theirs { .. } => TOOL,
        }
    }

    /// What it is called as a function: what the name of one cannot hold becomes `_`.
    fn function(&self) -> String {
        match self {
            Self::Own(action) => (*action).to_owned(),
            Self::Theirs { server, name } => {
                let clean = |c: char| {
                    let fits = c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                    if fits { c } else { '_' }
                };
                let name = server
                    .as_str()
                    .chars()
                    .chain("__".chars())
                    .chain(name.chars().map(clean));
                name.take(FUNCTION_BYTES_MAX).collect()
            }
        }
    }
}

impl Offered {
    fn schema(&self) -> Value {
        let args = match &self.what {
            What::Own(_) => self.args.clone(),
            What::Theirs { server, name } => object(json!({
                "server": {"const": server},
                "name": {"const": name},
                "args": self.args,
            })),
        };
        object(json!({"action": {"const": self.what.action()}, "args": args}))
    }
}

/// The schema of an object with exactly these properties.
fn object(properties: Value) -> Value {
    let keys = properties.as_object().into_iter().flat_map(|it| it.keys());
    let required: Vec<_> = keys.cloned().collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The schema of somebody else's tool, where it can stand inside of ours.
fn foreign_schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(schema) = &mut schema {
        schema.remove("$schema");
    }
    let text = schema.to_string();
    let elsewhere = ["\"$ref\"", "\"$dynamicRef\"", "\"$id\"", "\"$schema\""];
    let alone = text.len() <= SCHEMA_BYTES_MAX && !elsewhere.iter().any(|it| text.contains(it));
    if alone && schema.is_object() && AnswerSchema::compile(schema.clone()).is_ok() {
        schema
    } else {
        json!({"type": "object"})
    }
}

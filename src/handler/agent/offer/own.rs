//! An agent's own tools, as its model is told of them.
//!
//! Never: more than the agent has use for. Ids and names are listed where they are few, so that a model
//! whose answer a schema constrains cannot make one up.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Offered, What, object};
use crate::handler::agent::{
    Peer,
    decision::{DELEGATE, READ, REPORT, SEARCH},
};

/// Most ids that a schema lists: beyond it any text may be one.
pub(super) const IDS_LISTED_MAX: usize = 64;
/// Longest query and longest report that are asked for, in characters: far fewer than are taken. A
/// small model that finds no end is stopped here, before its answer is cut where it is no JSON.
const QUERY_CHARS_ASKED: usize = 200;
const ANSWER_CHARS_ASKED: usize = 2_000;

fn own(action: &'static str, description: &str, args: Value) -> Offered {
    Offered {
        what: What::Own(action),
        description: description.to_owned(),
        args,
    }
}

pub(super) fn search() -> Offered {
    let query = json!({"type": "string", "minLength": 1, "maxLength": QUERY_CHARS_ASKED});
    let description = "finds the documents that fit the words of the query best.";
    own(SEARCH, description, object(json!({ "query": query })))
}

pub(super) fn read(readable: &[&str]) -> Offered {
    let description = "gives the text of one document, by its id.";
    own(READ, description, object(json!({"id": id(readable)})))
}

pub(super) fn report(sources: &[&str]) -> Offered {
    let items = if sources.is_empty() {
        json!({"type": "string"})
    } else {
        id(sources)
    };
    let sources = json!({"type": "array", "items": items, "maxItems": sources.len()});
    let description = "ends the work with your answer; sources are the ids of the documents that \
                       you read and rely on.";
    let answer = json!({"type": "string", "minLength": 1, "maxLength": ANSWER_CHARS_ASKED});
    let args = object(json!({"answer": answer, "sources": sources}));
    own(REPORT, description, args)
}

/// One of these, where they are few enough to be listed.
fn id(ids: &[&str]) -> Value {
    if ids.len() > IDS_LISTED_MAX {
        return json!({"type": "string"});
    }
    json!({"type": "string", "enum": ids})
}

pub(super) fn delegate(peers: &[Peer]) -> Offered {
    let mut description = "asks other agents and waits for their answers.".to_owned();
    for peer in peers {
        let about = peer.description.as_deref().unwrap_or("another agent");
        write!(description, " {}: {about}.", peer.target).expect("a string takes any text");
    }
    let children: Vec<_> = peers.iter().map(child).collect();
    let items = match children.as_slice() {
        [only] => only.clone(),
        _ => json!({ "anyOf": children }),
    };
    let children = json!({"type": "array", "items": items, "minItems": 1});
    let args = object(json!({"children": children, "join": {"enum": ["all", "any"]}}));
    own(DELEGATE, &description, args)
}

fn child(peer: &Peer) -> Value {
    let action = if peer.actions.is_empty() {
        json!({"type": "string"})
    } else {
        json!({"enum": peer.actions})
    };
    object(json!({
        "target": {"const": peer.target},
        "action": action,
        "prompt": {"type": "string", "minLength": 1},
    }))
}

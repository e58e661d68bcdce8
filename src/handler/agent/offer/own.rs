//! An agent's own tools, as its model is told of them.
//!
//! Never: more than the agent has. Ids and names are listed where they are few, so that a model
//! whose answer a schema constrains cannot make one up.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Offered, What, object};
use crate::handler::agent::{
    Peer,
    decision::{DELEGATE, QUERY_CHARS_MAX, READ, REPORT, SEARCH},
    documents::Documents,
};

/// Most ids that a schema lists: beyond it any text may be one.
const IDS_LISTED_MAX: usize = 64;

fn own(action: &'static str, description: &str, args: Value) -> Offered {
    Offered {
        what: What::Own(action),
        description: description.to_owned(),
        args,
    }
}

pub(super) fn search() -> Offered {
    let query = json!({"type": "string", "minLength": 1, "maxLength": QUERY_CHARS_MAX});
    let description = "finds the documents that fit the words of the query best.";
    own(SEARCH, description, object(json!({ "query": query })))
}

pub(super) fn read(documents: &Documents) -> Offered {
    let description = "gives the text of one document, by its id.";
    own(READ, description, object(json!({"id": id(documents)})))
}

pub(super) fn report(documents: &Documents) -> Offered {
    let sources = if documents.is_empty() {
        json!({"type": "array", "items": {"type": "string"}, "maxItems": 0})
    } else {
        json!({"type": "array", "items": id(documents)})
    };
    let description = "ends the work with your answer; sources are the ids of the documents that \
                       you read and rely on.";
    let answer = json!({"type": "string", "minLength": 1});
    let args = object(json!({"answer": answer, "sources": sources}));
    own(REPORT, description, args)
}

/// One of the ids, where they are few enough to be listed.
fn id(documents: &Documents) -> Value {
    let ids: Vec<_> = documents.ids().map(|id| id.as_str()).collect();
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

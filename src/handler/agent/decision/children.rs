//! A delegation as a decision: one child, or several with a join.

use serde_json::{Map, Value, json};

use super::Decision;
use crate::{
    contract::{ChildRequest, Join},
    handler::{
        asked::{self, Asked, Beyond},
        fields::Fields,
    },
};

/// `{"children": [{...}], "join"}`, or the fields of an only child.
pub(super) fn read(args: &mut Fields<'_>) -> Option<Decision> {
    let Asked { children, join } = if args.has("children") || args.has("join") {
        asked::read(args, Beyond::Refused)?
    } else {
        Asked {
            children: vec![asked::child(args)?],
            join: Join::All,
        }
    };
    Some(Decision::Delegate { children, join })
}

/// What [`read`] reads, in its long form.
pub(super) fn to_json(children: &[ChildRequest], join: Join) -> Value {
    let children: Vec<_> = children.iter().map(child_to_json).collect();
    let join = match join {
        Join::All => json!("all"),
        Join::Any => json!("any"),
        Join::Count(count) => json!(count),
    };
    json!({"children": children, "join": join})
}

fn child_to_json(child: &ChildRequest) -> Value {
    let mut written = Map::new();
    let mut put = |key: &str, value: Value| written.insert(key.to_owned(), value);
    put("target", json!(child.target));
    put("action", json!(child.action));
    put("prompt", json!(child.prompt));
    if let Some(timeout) = child.timeout_sec {
        put("timeout_sec", json!(timeout));
    }
    if let Some(budget) = &child.budget {
        put("budget", json!(budget));
    }
    written.into()
}

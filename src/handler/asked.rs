//! What a model or a program asks of others, in JSON: `{"children": [{"target", "action", "prompt",
//! "timeout_sec"?, "budget"?}], "join"?}`.
//!
//! Never: a decision whether anything may be delegated.

use std::num::NonZeroU16;

use serde_json::Value;

use super::fields::Fields;
use crate::contract::{ActionName, ChildRequest, Join, Limits, Micros, PurutoName, TimeoutSec};

const JOIN: &str = "\"all\", \"any\" or how many, from 1";
const NUMBER: &str = "a whole number that is not negative";

/// Most mistakes that are looked for: one may stand in each of many children.
pub(super) const MISTAKES_MAX: usize = 100;

/// What is asked of others.
#[derive(Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) children: Vec<ChildRequest>,
    pub(super) join: Join,
}

/// What becomes of a field of a child that nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beyond {
    /// It is a mistake.
    Refused,
    /// It is passed over.
    Ignored,
}

/// Reads `children` and `join`; none where something is wrong with them.
pub(super) fn read(fields: &mut Fields<'_>, beyond: Beyond) -> Option<Asked> {
    let children = children(fields, beyond);
    let join = join(fields);
    Some(Asked {
        children: children?,
        join: join?,
    })
}

fn children(fields: &mut Fields<'_>, beyond: Beyond) -> Option<Vec<ChildRequest>> {
    let listed = match fields.take("children") {
        Value::Array(children) if !children.is_empty() => children,
        other => {
            fields.violated("children", "an array with at least one child", &other);
            return None;
        }
    };
    let mut children = Vec::with_capacity(listed.len());
    for (index, value) in listed.into_iter().enumerate() {
        // All of them are read, so that all their mistakes are told, within reason.
        let before = fields.mistakes();
        if before >= MISTAKES_MAX {
            return None;
        }
        let mut within = fields.inside(&format!("children[{index}]"), value);
        if within.mistakes() > before {
            // It is no object; that nothing is in it goes without saying.
            children.push(None);
            continue;
        }
        children.push(child(&mut within));
        match beyond {
            Beyond::Refused => within.end(),
            Beyond::Ignored => {}
        }
    }
    children.into_iter().collect()
}

fn join(fields: &mut Fields<'_>) -> Option<Join> {
    let value = fields.take("join");
    let number = value.as_u64().and_then(|it| u16::try_from(it).ok());
    match (&value, value.as_str(), number.and_then(NonZeroU16::new)) {
        (Value::Null, ..) | (_, Some("all"), _) => Some(Join::All),
        (_, Some("any"), _) => Some(Join::Any),
        (.., Some(count)) => Some(Join::Count(count)),
        _ => {
            fields.violated("join", JOIN, &value);
            None
        }
    }
}

/// Reads the fields of one child.
pub(super) fn child(fields: &mut Fields<'_>) -> Option<ChildRequest> {
    let target = fields.parsed("target", PurutoName::EXPECTED, |text| text.parse().ok());
    let action = fields.parsed("action", ActionName::EXPECTED, |text| text.parse().ok());
    let prompt = fields.text("prompt", "a string");
    let timeout_sec = timeout(fields);
    let budget = budget(fields);
    Some(ChildRequest {
        target: target?,
        action: action?,
        prompt: prompt?,
        timeout_sec,
        budget,
    })
}

fn timeout(fields: &mut Fields<'_>) -> Option<TimeoutSec> {
    let value = fields.take("timeout_sec");
    let seconds = value.as_u64().and_then(TimeoutSec::new);
    if seconds.is_none() && !value.is_null() {
        fields.violated("timeout_sec", TimeoutSec::EXPECTED, &value);
    }
    seconds
}

/// A limit that nobody knows is a mistake whoever wrote it: it would limit nothing.
fn budget(fields: &mut Fields<'_>) -> Option<Limits> {
    let value = fields.take("budget");
    if value.is_null() {
        return None;
    }
    let mut limits = fields.inside("budget", value);
    let read = Limits {
        requests: number(&mut limits, "requests"),
        tokens: number(&mut limits, "tokens"),
        cost: number(&mut limits, "cost").map(Micros),
        descendants: number(&mut limits, "descendants"),
    };
    limits.end();
    Some(read)
}

fn number(fields: &mut Fields<'_>, key: &str) -> Option<u64> {
    let value = fields.take(key);
    if value.as_u64().is_none() && !value.is_null() {
        fields.violated(key, NUMBER, &value);
    }
    value.as_u64()
}

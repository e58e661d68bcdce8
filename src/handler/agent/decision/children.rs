//! A delegation as a decision: one child, or several with a join.

use serde_json::{Map, Value, json};

use super::{Decision, fields::Fields};
use crate::{
    contract::{ActionName, ChildRequest, Join, Limits, Micros, PurutoName, TimeoutSec},
    handler::delegating::read_join,
};

const SECONDS: &str = "an integer from 1 to 86400";
const NUMBER: &str = "a whole number that is not negative";

/// `{"children": [{...}], "join"}`, or the fields of an only child.
pub(super) fn read(args: &mut Fields<'_>) -> Option<Decision> {
    if !args.has("children") && !args.has("join") {
        return Some(Decision::Delegate {
            children: vec![child(args)?],
            join: Join::All,
        });
    }
    let children = listed(args);
    let join = match args.take("join") {
        Value::Null => Some(Join::All),
        join => {
            let read = read_join(&join);
            let read = read.map_err(|expected| args.violated("join", expected, &join));
            read.ok()
        }
    };
    Some(Decision::Delegate {
        children: children?,
        join: join?,
    })
}

fn listed(args: &mut Fields<'_>) -> Option<Vec<ChildRequest>> {
    let children = match args.take("children") {
        Value::Array(children) if !children.is_empty() => children,
        other => {
            args.violated("children", "an array with at least one child", &other);
            return None;
        }
    };
    let numbered = children.into_iter().enumerate().map(|(index, value)| {
        let at = args.path(&format!("children[{index}]"));
        let mut fields = Fields::of(&at, value, args.violations());
        let child = child(&mut fields);
        fields.end();
        child
    });
    // All of them are read, so that all their mistakes are told.
    let children: Vec<_> = numbered.collect();
    children.into_iter().collect()
}

fn child(fields: &mut Fields<'_>) -> Option<ChildRequest> {
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
        fields.violated("timeout_sec", SECONDS, &value);
    }
    seconds
}

fn budget(fields: &mut Fields<'_>) -> Option<Limits> {
    let value = fields.take("budget");
    if value.is_null() {
        return None;
    }
    let at = fields.path("budget");
    let mut limits = Fields::of(&at, value, fields.violations());
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

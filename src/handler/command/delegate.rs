//! A program that asks others instead of answering: `{"delegate": {"children": [{"target",
//! "action", "prompt", "timeout_sec"?, "budget"?}], "join"?}}`, as values.
//!
//! Never repeats the text of a value, or decides whether anything may be delegated.

use std::str::FromStr;

use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::answer::kind_of;
use crate::{
    contract::{ActionName, ChildRequest, Join, Limits, PurutoName, TimeoutSec, Violation},
    handler::delegating::read_join,
};

/// Most violations that are told: one mistake may stand in each of many children.
const VIOLATIONS_MAX: usize = 100;

/// What a program asks of others.
#[derive(Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) children: Vec<ChildRequest>,
    pub(super) join: Join,
}

/// Reads the value of `delegate`.
pub(super) fn read(delegate: Value) -> Result<Asked, Vec<Violation>> {
    let mut reader = Reader::default();
    let asked = reader.asked(delegate);
    match asked {
        Some(asked) if reader.violations.is_empty() => Ok(asked),
        Some(_) | None => Err(reader.violations),
    }
}

/// Reads what it is given and notes what is wrong with each part of it.
#[derive(Default)]
struct Reader {
    violations: Vec<Violation>,
}

impl Reader {
    fn asked(&mut self, delegate: Value) -> Option<Asked> {
        let Value::Object(mut object) = delegate else {
            self.note("delegate", "an object", &delegate);
            return None;
        };
        let join = self.join(object.get("join"));
        let children = match object.remove("children") {
            Some(Value::Array(children)) if !children.is_empty() => self.children(children),
            found => {
                let violation = Violation::new(
                    "delegate.children",
                    "a list of at least one",
                    kind_of(found.as_ref()),
                );
                self.violations.push(violation);
                return None;
            }
        };
        Some(Asked {
            children,
            join: join?,
        })
    }

    fn join(&mut self, join: Option<&Value>) -> Option<Join> {
        let Some(join) = present(join) else {
            return Some(Join::default());
        };
        let read = read_join(join);
        read.map_err(|expected| self.note("delegate.join", expected, join))
            .ok()
    }

    /// Those without a mistake.
    fn children(&mut self, children: Vec<Value>) -> Vec<ChildRequest> {
        let mut read = Vec::with_capacity(children.len());
        for (index, child) in children.into_iter().enumerate() {
            if self.violations.len() >= VIOLATIONS_MAX {
                self.violations.truncate(VIOLATIONS_MAX);
                break;
            }
            read.extend(self.child(&format!("delegate.children[{index}]"), child));
        }
        read
    }

    fn child(&mut self, at: &str, child: Value) -> Option<ChildRequest> {
        let Value::Object(child) = child else {
            self.note(at, "an object", &child);
            return None;
        };
        let mut fields = Fields {
            at,
            child: &child,
            reader: self,
        };
        let target = fields.name("target", PurutoName::EXPECTED);
        let action = fields.name("action", ActionName::EXPECTED);
        let prompt = fields.prompt();
        let timeout_sec = fields.timeout();
        let budget = fields.budget();
        Some(ChildRequest {
            target: target?,
            action: action?,
            prompt: prompt?,
            timeout_sec,
            budget,
        })
    }

    fn note(&mut self, field: &str, expected: &str, found: &Value) {
        let violation = Violation::new(field, expected, kind_of(Some(found)));
        self.violations.push(violation);
    }
}

/// The fields of one child.
struct Fields<'f> {
    at: &'f str,
    child: &'f Map<String, Value>,
    reader: &'f mut Reader,
}

impl Fields<'_> {
    fn name<T: FromStr>(&mut self, field: &str, expected: &str) -> Option<T> {
        let value = self.child.get(field);
        let name = value.and_then(Value::as_str).and_then(|it| it.parse().ok());
        if name.is_none() {
            self.note(field, expected, value);
        }
        name
    }

    fn prompt(&mut self) -> Option<String> {
        let value = self.child.get("prompt");
        let prompt = value.and_then(Value::as_str).map(ToOwned::to_owned);
        if prompt.is_none() {
            self.note("prompt", "a string", value);
        }
        prompt
    }

    fn timeout(&mut self) -> Option<TimeoutSec> {
        let value = present(self.child.get("timeout_sec"))?;
        let timeout = value.as_u64().and_then(TimeoutSec::new);
        if timeout.is_none() {
            self.note("timeout_sec", TimeoutSec::EXPECTED, Some(value));
        }
        timeout
    }

    fn budget(&mut self) -> Option<Limits> {
        let value = present(self.child.get("budget"))?;
        let budget = Limits::deserialize(value).ok();
        if budget.is_none() {
            let expected = "an object of whole numbers: requests, tokens, cost, descendants";
            self.note("budget", expected, Some(value));
        }
        budget
    }

    fn note(&mut self, field: &str, expected: &str, found: Option<&Value>) {
        let at = format!("{}.{field}", self.at);
        let violation = Violation::new(at, expected, kind_of(found));
        self.reader.violations.push(violation);
    }
}

/// The value of an optional field; `null` is no value.
fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|it| !it.is_null())
}

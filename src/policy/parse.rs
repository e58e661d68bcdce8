//! `.puruto-ipc.json` as a policy, or everything that is wrong with it.
//!
//! Never: a file system; a decision about a request.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    str::FromStr,
};

use serde_json::{Map, Value};

use super::{
    decide::Policy,
    finding::{Finding, FindingCode},
};
use crate::contract::{
    ActionName, DEFAULT_TIMEOUT, InvalidId, Parsed, PurutoName, TimeoutSec, Violation,
};

/// Every key of `.puruto-ipc.json`.
pub const POLICY_KEYS: [&str; 6] = [
    "enabled",
    "owner",
    "max_hops",
    "default_timeout_sec",
    "allowed_targets",
    "allowed_actions",
];

const MAX_HOPS_DEFAULT: u64 = 2;
/// A request's hop ends here, so that a larger `max_hops` limits nothing.
const MAX_HOPS_USEFUL: u64 = 64;

const TIMEOUT_EXPECTED: &str = "an integer from 1 to 86400";

/// A usable policy and what its author should look at nevertheless.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The policy.
    pub policy: Policy,
    /// Findings of level warning.
    pub warnings: Vec<Finding>,
}

impl Checked {
    /// Reads the policy of `caller`; `file` is only named in findings.
    ///
    /// # Errors
    /// Every finding, warnings among them, when at least one is an error.
    pub fn parse(caller: &PurutoName, file: &Path, bytes: &[u8]) -> Result<Self, Vec<Finding>> {
        let refused = |violation: &Violation| {
            vec![Finding::error(
                FindingCode::InvalidIpcConfig,
                file,
                violation,
            )]
        };
        let Parsed { value, violations } = Parsed::from_slice(bytes).map_err(|it| refused(&it))?;
        let Value::Object(object) = value else {
            return Err(refused(&Violation::new("$", "a JSON object", value)));
        };
        let mut keys = Keys {
            file,
            object,
            findings: violations.iter().flat_map(refused).collect(),
        };
        let policy = keys.policy(caller);
        keys.unknown();
        if keys.findings.iter().any(Finding::is_error) {
            return Err(keys.findings);
        }
        let warnings = keys.findings;
        Ok(Self { policy, warnings })
    }
}

/// Takes the known keys out of an object and notes what is wrong with each.
struct Keys<'f> {
    file: &'f Path,
    object: Map<String, Value>,
    findings: Vec<Finding>,
}

impl Keys<'_> {
    /// The policy as far as it can be read; worth nothing when an error was noted.
    fn policy(&mut self, caller: &PurutoName) -> Policy {
        let enabled = self.enabled();
        self.owner(caller);
        let policy = Policy {
            caller: caller.clone(),
            enabled,
            max_hops: self.max_hops(),
            default_timeout: self.default_timeout(),
            allowed_targets: self.allowed_targets(enabled),
            allowed_actions: self.allowed_actions(),
        };
        for target in policy.allowed_actions.keys() {
            if !policy.allowed_targets.contains(target) {
                self.warn(
                    &format!("allowed_actions.{target}"),
                    format!("has no effect: allowed_targets does not list {target}"),
                );
            }
        }
        policy
    }

    fn enabled(&mut self) -> bool {
        match self.object.shift_remove("enabled") {
            None => true,
            Some(Value::Bool(flag)) => flag,
            Some(other) => {
                self.wrong_type("enabled", "true or false", &other);
                false
            }
        }
    }

    fn owner(&mut self, caller: &PurutoName) {
        let Some(value) = self.object.shift_remove("owner") else {
            self.missing("owner", format!("taken to be the folder's name, {caller}"));
            return;
        };
        match self.name::<PurutoName>("owner", &value) {
            Some(owner) if owner != *caller => self.warn(
                "owner",
                format!("is {owner}, yet the policy is that of its folder, {caller}"),
            ),
            Some(_) | None => {}
        }
    }

    fn max_hops(&mut self) -> u64 {
        let Some(value) = self.object.shift_remove("max_hops") else {
            return MAX_HOPS_DEFAULT;
        };
        let Some(hops) = value.as_u64() else {
            self.no_such_integer("max_hops", "an integer of at least 0", &value);
            return MAX_HOPS_DEFAULT;
        };
        if hops > MAX_HOPS_USEFUL {
            self.warn(
                "max_hops",
                format!("{hops} limits nothing: no request has a hop above {MAX_HOPS_USEFUL}"),
            );
        }
        hops
    }

    fn default_timeout(&mut self) -> TimeoutSec {
        let default = TimeoutSec::new(DEFAULT_TIMEOUT.as_secs())
            .expect("the contract's own default is in its range");
        let Some(value) = self.object.shift_remove("default_timeout_sec") else {
            return default;
        };
        let made = value.as_u64().and_then(TimeoutSec::new);
        if made.is_none() {
            self.no_such_integer("default_timeout_sec", TIMEOUT_EXPECTED, &value);
        }
        made.unwrap_or(default)
    }

    fn allowed_targets(&mut self, enabled: bool) -> BTreeSet<PurutoName> {
        match self.object.shift_remove("allowed_targets") {
            Some(value) => self.names("allowed_targets", &value),
            None => {
                if enabled {
                    self.missing("allowed_targets", "every target is denied".to_owned());
                }
                BTreeSet::new()
            }
        }
    }

    fn allowed_actions(&mut self) -> BTreeMap<PurutoName, BTreeSet<ActionName>> {
        let mut allowed = BTreeMap::new();
        match self.object.shift_remove("allowed_actions") {
            None => {}
            Some(Value::Object(lists)) => {
                for (raw, list) in &lists {
                    let at = format!("allowed_actions.{raw}");
                    let actions = self.names(&at, list);
                    if let Some(target) = self.parsed::<PurutoName>(&at, raw) {
                        allowed.insert(target, actions);
                    }
                }
            }
            Some(other) => {
                let expected = "an object of target names, each with a list of actions";
                self.wrong_type("allowed_actions", expected, &other);
            }
        }
        allowed
    }

    fn unknown(&mut self) {
        let known = POLICY_KEYS.join(", ");
        for key in std::mem::take(&mut self.object).keys() {
            self.warn(key, format!("is no key of a policy; those are {known}"));
        }
    }

    fn names<T: Ord + FromStr<Err = InvalidId>>(&mut self, at: &str, value: &Value) -> BTreeSet<T> {
        let Value::Array(items) = value else {
            self.wrong_type(at, "a list of names", value);
            return BTreeSet::new();
        };
        let named = items.iter().enumerate();
        named
            .filter_map(|(index, item)| self.name(&format!("{at}[{index}]"), item))
            .collect()
    }

    fn name<T: FromStr<Err = InvalidId>>(&mut self, at: &str, value: &Value) -> Option<T> {
        match value {
            Value::String(raw) => self.parsed(at, raw),
            other => {
                self.wrong_type(at, "a string", other);
                None
            }
        }
    }

    fn parsed<T: FromStr<Err = InvalidId>>(&mut self, at: &str, raw: &str) -> Option<T> {
        let invalid = |error: InvalidId| Violation::new(at, error.expected, error.actual);
        match raw.parse().map_err(invalid) {
            Ok(name) => Some(name),
            Err(violation) => {
                self.error(FindingCode::InvalidIpcConfig, &violation);
                None
            }
        }
    }

    /// An integer out of range is a value that makes no sense, anything else another type.
    fn no_such_integer(&mut self, at: &str, expected: &str, value: &Value) {
        if value.is_i64() || value.is_u64() {
            let violation = Violation::new(at, expected, value);
            self.error(FindingCode::InvalidIpcConfig, &violation);
        } else {
            self.wrong_type(at, expected, value);
        }
    }

    fn wrong_type(&mut self, at: &str, expected: &str, value: &Value) {
        let violation = Violation::new(at, expected, value);
        self.error(FindingCode::IpcConfigInvalidType, &violation);
    }

    fn error(&mut self, code: FindingCode, violation: &Violation) {
        self.findings
            .push(Finding::error(code, self.file, violation));
    }

    fn warn(&mut self, key: &str, message: String) {
        let code = FindingCode::InvalidIpcConfig;
        self.findings
            .push(Finding::warning(code, self.file, key, message));
    }

    fn missing(&mut self, key: &str, consequence: String) {
        let code = FindingCode::IpcConfigMissingKey;
        let message = format!("missing: {consequence}");
        self.findings
            .push(Finding::warning(code, self.file, key, message));
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;

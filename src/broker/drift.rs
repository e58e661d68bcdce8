//! What differs between a stream or consumer that is wanted and the one that is there.
//!
//! Never: a decision about it. What a server reports back is compared, not what it was sent,
//! because a server ignores settings that it does not know.

use std::fmt;

use serde_json::Value;

use super::topology::Settings;

/// One setting that is not as wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// The setting, named as the server names it.
    pub setting: String,
    /// What the fleet needs.
    pub wanted: Value,
    /// What is there; null when the server reports no such setting.
    pub found: Value,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            setting,
            wanted,
            found,
        } = self;
        write!(f, "{setting} is {found}, wanted {wanted}")
    }
}

/// Every wanted setting that `found` does not have; settings that nobody asked for are the
/// operator's business.
pub(super) fn drift(wanted: &Settings, found: &Settings) -> Vec<Drift> {
    let differing = |(setting, wanted): (&String, &Value)| {
        let found = found.get(setting).cloned().unwrap_or_default();
        (!same(wanted, &found)).then(|| Drift {
            setting: setting.clone(),
            wanted: wanted.clone(),
            found,
        })
    };
    wanted.iter().filter_map(differing).collect()
}

/// A server leaves out what has its zero value.
fn same(wanted: &Value, found: &Value) -> bool {
    let zero = match wanted {
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_i64() == Some(0),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => false,
    };
    wanted == found || (zero && found.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(value: Value) -> Settings {
        value.as_object().unwrap().clone()
    }

    fn lines(wanted: Value, found: Value) -> Vec<String> {
        let found = drift(&settings(wanted), &settings(found));
        found.iter().map(Drift::to_string).collect()
    }

    #[test]
    fn each_setting_that_differs_is_named_with_both_values() {
        let wanted = json!({"retention": "workqueue", "max_age": 5, "subjects": ["a.>"]});
        let found = json!({"retention": "limits", "max_age": 5, "subjects": ["a.>", "b"]});
        assert_eq!(
            lines(wanted, found),
            [
                r#"retention is "limits", wanted "workqueue""#,
                r#"subjects is ["a.>","b"], wanted ["a.>"]"#,
            ]
        );
    }

    #[test]
    fn a_setting_that_the_server_ignored_is_drift() {
        assert_eq!(
            lines(json!({"allow_direct": true}), json!({})),
            ["allow_direct is null, wanted true"]
        );
    }

    #[test]
    fn what_nobody_asked_for_is_no_drift() {
        let found = json!({"max_age": 1, "placement": {"cluster": "c1"}});
        assert!(lines(json!({"max_age": 1}), found).is_empty());
        assert!(lines(json!({"deny_delete": false, "max_age": 0}), json!({})).is_empty());
    }
}

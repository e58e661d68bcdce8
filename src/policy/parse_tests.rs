//! Any bytes give a policy or every finding at once.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{contract::Hop, policy::Level};

const FILE: &str = "workers/puruto-reservations/.puruto-ipc.json";

fn caller() -> PurutoName {
    "puruto-reservations".parse().expect("a name")
}

fn read(bytes: impl AsRef<[u8]>) -> Result<Checked, Vec<Finding>> {
    Checked::parse(&caller(), Path::new(FILE), bytes.as_ref())
}

fn passes(policy: &Policy, target: &str, action: &str, hop: u64) -> bool {
    let target = target.parse().expect("a name");
    let action = action.parse().expect("an action");
    policy
        .decide(&target, &action, Hop::new(hop).expect("a hop"))
        .is_ok()
}

/// Level, code and key of each finding: what a script reads.
fn marks(findings: &[Finding]) -> Vec<(Level, &'static str, &str)> {
    findings
        .iter()
        .map(|it| {
            let key = it.path.strip_prefix(FILE).expect("names the file");
            (it.level, it.code.as_str(), key)
        })
        .collect()
}

fn warnings(document: Value) -> Vec<Finding> {
    read(document.to_string()).expect("usable").warnings
}

fn errors(document: Value) -> Vec<Finding> {
    read(document.to_string()).expect_err("not usable")
}

#[test]
fn the_example_of_the_specification_is_read_as_it_is_meant() {
    let document = json!({
        "enabled": true, "owner": "puruto-reservations", "max_hops": 2, "default_timeout_sec": 90,
        "allowed_targets": ["puruto-financial"],
        "allowed_actions": {"puruto-financial": ["pay_invoice"]},
    });
    let checked = read(document.to_string()).expect("valid");
    assert_eq!(checked.warnings, []);
    let policy = checked.policy;
    assert_eq!(policy.default_timeout(), Duration::from_secs(90));
    assert!(passes(&policy, "puruto-financial", "pay_invoice", 1));
    assert!(!passes(&policy, "puruto-financial", "pay_invoice", 2));
    assert!(!passes(&policy, "puruto-financial", "read_invoice", 0));
    assert!(!passes(&policy, "puruto-data", "pay_invoice", 0));
}

#[test]
fn missing_keys_take_their_defaults() {
    let policy = read("{}").expect("usable").policy;
    assert!(policy.enabled);
    assert_eq!(policy.max_hops, 2);
    assert_eq!(policy.default_timeout(), Duration::from_secs(120));
    assert!(!passes(&policy, "puruto-financial", "pay_invoice", 0));
}

#[test]
fn absent_and_empty_lists_of_actions_differ() {
    let open = read(r#"{"allowed_targets":["a"]}"#).expect("usable").policy;
    assert!(passes(&open, "a", "anything", 0));
    let shut = read(r#"{"allowed_targets":["a"],"allowed_actions":{"a":[]}}"#);
    assert!(!passes(&shut.expect("usable").policy, "a", "anything", 0));
}

#[test]
fn what_is_missing_and_probably_meant_is_a_warning() {
    let missing = "ipc-config-missing-key";
    assert_eq!(
        marks(&warnings(json!({}))),
        [
            (Level::Warning, missing, "#owner"),
            (Level::Warning, missing, "#allowed_targets"),
        ]
    );
    let off = json!({"owner": "puruto-reservations", "enabled": false});
    assert_eq!(warnings(off), []);
}

#[test]
fn what_has_no_effect_is_a_warning() {
    let document = json!({
        "owner": "someone-else", "max_hops": 65, "allowed_targets": [],
        "allowed_actions": {"a": ["x"]}, "allow_targets": ["a"],
    });
    let invalid = "invalid-ipc-config";
    assert_eq!(
        marks(&warnings(document)),
        [
            (Level::Warning, invalid, "#owner"),
            (Level::Warning, invalid, "#max_hops"),
            (Level::Warning, invalid, "#allowed_actions.a"),
            (Level::Warning, invalid, "#allow_targets"),
        ]
    );
}

#[test]
fn every_wrong_type_is_found_at_once() {
    let document = json!({
        "enabled": "yes", "owner": 7, "max_hops": 2.5, "default_timeout_sec": "120",
        "allowed_targets": "a", "allowed_actions": ["a"],
    });
    let wrong = "ipc-config-invalid-type";
    let keys = POLICY_KEYS.map(|key| format!("#{key}"));
    let expected: Vec<_> = keys
        .iter()
        .map(|key| (Level::Error, wrong, key.as_str()))
        .collect();
    assert_eq!(marks(&errors(document)), expected);
}

#[test]
fn wrong_items_are_found_where_they_stand() {
    let document = json!({
        "owner": "puruto-reservations", "allowed_targets": ["a", 1, "*"],
        "allowed_actions": {"a": ["ok", null], "b c": {}},
    });
    let (wrong, invalid) = ("ipc-config-invalid-type", "invalid-ipc-config");
    assert_eq!(
        marks(&errors(document)),
        [
            (Level::Error, wrong, "#allowed_targets[1]"),
            (Level::Error, invalid, "#allowed_targets[2]"),
            (Level::Error, wrong, "#allowed_actions.a[1]"),
            (Level::Error, wrong, "#allowed_actions.b c"),
            (Level::Error, invalid, "#allowed_actions.b c"),
        ]
    );
}

#[test]
fn integers_out_of_range_are_invalid() {
    for (max_hops, timeout) in [(-1, 0), (-1, 86_401), (i64::MIN, -5)] {
        let document = json!({
            "owner": "puruto-reservations", "allowed_targets": [],
            "max_hops": max_hops, "default_timeout_sec": timeout,
        });
        let invalid = "invalid-ipc-config";
        assert_eq!(
            marks(&errors(document)),
            [
                (Level::Error, invalid, "#max_hops"),
                (Level::Error, invalid, "#default_timeout_sec"),
            ]
        );
    }
}

#[test]
fn a_duplicate_key_is_an_error_and_comes_with_the_other_findings() {
    let text = r#"{"enabled":true,"enabled":false,"owner":"puruto-reservations","extra":1,
        "allowed_targets":[]}"#;
    let invalid = "invalid-ipc-config";
    assert_eq!(
        marks(&read(text).expect_err("not usable")),
        [
            (Level::Error, invalid, "#enabled"),
            (Level::Warning, invalid, "#extra"),
        ]
    );
}

#[test]
fn what_is_no_json_object_is_one_error_about_the_file() {
    for bytes in [&b""[..], b"\xff", b"[]", b"null", b"{} {}", b"{\"a\":}"] {
        let findings = read(bytes).expect_err("not usable");
        assert_eq!(
            marks(&findings),
            [(Level::Error, "invalid-ipc-config", "")],
            "{bytes:?}"
        );
    }
}

fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![
        Just(json!(true)),
        any::<i64>().prop_map(|it| json!(it)),
        "[a-z*]{0,3}".prop_map(|it| json!(it)),
        proptest::collection::vec("[a-z*]{0,3}", 0..3).prop_map(|it| json!(it)),
        Just(json!({"a": ["x"], "*": 1})),
    ];
    let key = proptest::sample::select([&POLICY_KEYS[..], &["other"]].concat());
    proptest::collection::btree_map(key, value, 0..7)
        .prop_map(|entries| json!(entries).to_string().into_bytes())
}

proptest! {
    #[test]
    fn any_bytes_give_a_policy_with_warnings_or_findings_with_an_error(
        bytes in prop_oneof![proptest::collection::vec(any::<u8>(), 0..64), plausible()]
    ) {
        match read(&bytes) {
            Ok(checked) => prop_assert!(!checked.warnings.iter().any(Finding::is_error)),
            Err(findings) => prop_assert!(findings.iter().any(Finding::is_error)),
        }
    }
}

//! What of a fleet is a tool to whom.

use std::{collections::HashSet, fs};

use super::*;

/// The tool `bank__pay`, of another target.
pub(in crate::gateway::mcp) fn pay_of(target: &str) -> Offer {
    let action = "pay".parse().expect("an action");
    Offer::new(&name(target), Some(action), None)
}

/// The tool by which every action of a target is asked.
pub(in crate::gateway::mcp) fn any_of(target: &str) -> Offer {
    Offer::new(&name(target), None, None)
}

fn name(raw: &str) -> PurutoName {
    raw.parse().expect("a name")
}

const BANK: &str = "description = 'Keeps money.'\n\
    actions = ['read', {name = 'pay', approval = true}]\n[model]\nprovider = 'simulated'\n";
const ECHO: &str = "[model]\nprovider = 'simulated'\n";

/// The names of the tools that the gateway has with this policy, or what is said instead.
fn offered_by(policy: &str) -> Vec<Offer> {
    let dir = tempfile::tempdir().expect("a folder");
    for (puruto, file, text) in [
        ("bank", "worker.toml", BANK),
        ("echo", "worker.toml", ECHO),
        (
            "asks",
            ".puruto-ipc.json",
            r#"{"owner":"asks","allowed_targets":["bank"]}"#,
        ),
        ("gateway", ".puruto-ipc.json", policy),
    ] {
        let folder = dir.path().join(puruto);
        fs::create_dir(&folder).expect("made");
        fs::write(folder.join(file), text).expect("written");
    }
    let fleet = Fleet::load(dir.path()).expect("a fleet");
    offered(&fleet, &fleet.policies(), &name("gateway"))
}

fn names(policy: &str) -> Vec<String> {
    offered_by(policy).iter().map(Offer::name).collect()
}

#[test]
fn a_tool_is_what_the_policy_allows_and_the_target_serves() {
    let all = r#"{"owner":"gateway","allowed_targets":["bank","echo","asks","far"]}"#;
    assert_eq!(names(all), ["bank__pay", "bank__read", "echo", "far"]);
    let some = r#"{"owner":"gateway","allowed_targets":["bank","echo"],
        "allowed_actions":{"bank":["read","refund"],"echo":["say"]}}"#;
    assert_eq!(names(some), ["bank__read", "echo__say"]);
    let none = r#"{"owner":"gateway","allowed_targets":["bank"],"allowed_actions":{"bank":[]}}"#;
    let off = r#"{"owner":"gateway","enabled":false,"allowed_targets":["bank","echo"]}"#;
    let shallow = r#"{"owner":"gateway","max_hops":0,"allowed_targets":["bank","echo"]}"#;
    for policy in [none, off, shallow] {
        assert_eq!(names(policy), [""; 0], "{policy}");
    }
}

#[test]
fn a_gateway_without_a_policy_offers_nothing() {
    let offered = offered(&Fleet::default(), &PolicySet::default(), &name("gateway"));
    assert_eq!(offered, []);
}

#[test]
fn a_tool_says_whom_it_asks_for_what_and_whether_a_person_has_a_say() {
    let offers = offered_by(r#"{"owner":"gateway","allowed_targets":["bank","echo"]}"#);
    let told: Vec<_> = offers.iter().map(Offer::tool).collect();
    let said = |index: usize| {
        let tool: &Tool = &told[index];
        (
            tool.title.clone().unwrap_or_default(),
            tool.description.clone().unwrap_or_default(),
        )
    };
    let (title, description) = said(0);
    assert_eq!(title, "bank: pay");
    assert_eq!(
        description,
        "Keeps money. Asks bank for `pay`. A person has to approve each call before it is carried \
         out."
    );
    assert_eq!(said(1).1, "Keeps money. Asks bank for `read`.");
    assert_eq!(said(2).1, "Asks echo for the action that is named.");
}

#[test]
fn no_two_offers_share_a_name_and_none_is_too_long() {
    let offer = |target: &str, action: &str| {
        let action = (!action.is_empty()).then(|| action.parse().expect("an action"));
        Offer::new(&name(target), action, None).name()
    };
    let all = [
        ("a", "b__c"),
        ("a__b", "c"),
        ("a", "b"),
        ("a__b", ""),
        ("a_", "b"),
        ("a", "b_"),
        ("a__b", "any2"),
        ("a", ""),
    ];
    let names: HashSet<_> = all
        .iter()
        .map(|(target, action)| offer(target, action))
        .collect();
    assert_eq!(names.len(), all.len(), "{names:?}");
    let legal = |it: &String| {
        it.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
    };
    assert!(names.iter().all(legal));
    let (long, longer) = ("x".repeat(63), "x".repeat(64));
    let policy = format!(
        r#"{{"owner":"gateway","allowed_targets":["{longer}"],
            "allowed_actions":{{"{longer}":["{long}","{longer}","y"]}}}}"#
    );
    assert_eq!(self::names(&policy), [format!("{longer}__y")]);
}

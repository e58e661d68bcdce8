//! Who can be asked for what, and how that is told.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use serde_json::json;
use tempfile::TempDir;

use crate::{
    contract::ActionName,
    gateway::a2a::{
        agents::{Agents, NoAction},
        card::{self, Tokens},
    },
    policy::{LivePolicies, PolicySet},
    puruto::Fleet,
};

fn action(name: &str) -> ActionName {
    name.parse().expect("a name")
}

/// A workers folder in which the gateway may ask some of several Purutos.
fn agents() -> (TempDir, Agents) {
    let folder = TempDir::new().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    };
    let model = "[model]\nprovider = 'simulated'\n";
    write(
        "any/worker.toml",
        &format!("description = 'Anything'\n{model}"),
    );
    write("one/worker.toml", &format!("actions = ['pay']\n{model}"));
    write(
        "two/worker.toml",
        &format!("actions = ['pay', 'read', 'refund']\n{model}"),
    );
    write("none/worker.toml", &format!("actions = ['pay']\n{model}"));
    write("away/worker.toml", model);
    let policy = json!({
        "owner": "gate", "allowed_targets": ["any", "one", "two", "none", "gate"],
        "allowed_actions": {"two": ["read", "pay"], "none": ["read"]},
    });
    write("gate/.puruto-ipc.json", &policy.to_string());
    let agents = of(folder.path());
    (folder, agents)
}

fn of(workers: &Path) -> Agents {
    let fleet = Fleet::load(workers).expect("no mistake");
    let policies = LivePolicies::fixed(PolicySet::load(workers).0);
    Agents::new(Arc::new(fleet), policies, "gate".parse().expect("a name"))
}

#[test]
fn an_agent_offers_what_it_serves_and_the_gateway_may_ask() {
    let (_folder, agents) = agents();
    let agent = |name: &str| agents.get(&name.parse().expect("a name"));
    for name in ["none", "away", "gate", "nowhere"] {
        assert!(agent(name).is_none(), "{name}");
    }
    let any = agent("any").expect("an agent");
    assert_eq!(any.action(None), Ok(action("ask")));
    assert_eq!(any.action(Some(&action("sing"))), Ok(action("sing")));
    let one = agent("one").expect("an agent");
    assert_eq!(one.action(None), Ok(action("pay")));
    let two = agent("two").expect("an agent");
    let both = vec![action("pay"), action("read")];
    assert_eq!(two.action(None), Err(NoAction::Unsaid(both.clone())));
    let refund = action("refund");
    assert_eq!(two.action(Some(&refund)), Err(NoAction::Unknown(both)));
    assert_eq!(two.action(Some(&action("read"))), Ok(action("read")));
}

#[test]
fn a_card_is_read_by_clients_of_both_versions() {
    let (_folder, agents) = agents();
    let gateway = "https://fleet.example".parse().expect("an address");
    let agent = agents
        .get(&"two".parse().expect("a name"))
        .expect("an agent");
    let card = card::of(&agent, &gateway, Tokens::NotTaken);
    assert_eq!(card["url"], "https://fleet.example/a2a/two");
    let versions: Vec<_> = (0..2)
        .map(|at| &card["supportedInterfaces"][at]["protocolVersion"])
        .collect();
    assert_eq!(versions, ["1.0", "0.3"]);
    assert_eq!(card["skills"][1]["id"], "read");
    assert_eq!(card["security"], json!([{"apiKey": []}]));
    let card = card::of(&agent, &gateway, Tokens::Taken);
    let schemes = card["securitySchemes"].as_object().expect("an object");
    let names: BTreeSet<_> = schemes.keys().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(["apiKey", "bearer"]));
    assert_eq!(
        card["securityRequirements"][1]["schemes"]["bearer"]["list"],
        json!([])
    );
}

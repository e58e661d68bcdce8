//! `workers/README.md` lists the keys that the code reads, no more and no fewer.

use serde::Deserialize as _;

use super::{
    WORKER_KEYS,
    worker_toml::{agent::PolicyTable, budget::BudgetTable},
};
use crate::{
    handler::{CommandConfig, agent::mcp::McpTable},
    policy::POLICY_KEYS,
    runtime::config::ProviderConfig,
};

const README: &str = include_str!("../../workers/README.md");

/// The first column of the table under `heading`.
fn keys_under(heading: &str) -> Vec<&'static str> {
    let (_, below) = README
        .split_once(&format!("# {heading}\n"))
        .expect("the heading is there");
    below
        .lines()
        .take_while(|line| !line.starts_with('#'))
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect()
}

/// The keys of a provider, as its table names them to whoever writes an unknown one.
fn keys_of_provider(provider: &str, required: &str) -> Vec<String> {
    let text = format!("provider = '{provider}'\n{required}\nunknown = 1");
    let table: toml::Table = text.parse().expect("well formed");
    let error = ProviderConfig::deserialize(table).expect_err("an unknown key");
    keys_named_in(&error)
}

fn keys_named_in(error: &toml::de::Error) -> Vec<String> {
    let (_, known) = error
        .message()
        .split_once("expected one of")
        .expect("lists the keys");
    known
        .split(',')
        .map(|key| key.trim().trim_matches('`').to_owned())
        .collect()
}

#[test]
fn the_readme_has_every_key_of_worker_toml() {
    assert_eq!(keys_under("worker.toml"), WORKER_KEYS);
}

#[test]
fn the_readme_has_every_key_of_each_provider() {
    let simulated = keys_of_provider("simulated", "");
    assert_eq!(keys_under("provider = \"simulated\""), simulated);
    let openai = keys_of_provider("openai", "base_url = 'http://localhost'\nmodel = 'm'");
    assert_eq!(keys_under("provider = \"openai\""), openai);
    let minimax = keys_of_provider("minimax", "model = 'm'");
    assert_eq!(keys_under("provider = \"minimax\""), minimax);
    let ollama = keys_of_provider("ollama", "model = 'm'");
    assert_eq!(keys_under("provider = \"ollama\""), ollama);
}

#[test]
fn the_readme_has_every_key_of_a_command() {
    let text = "argv = ['a']\nunknown = 1";
    let error = toml::from_str::<CommandConfig>(text).expect_err("an unknown key");
    assert_eq!(keys_under("kind = \"command\""), keys_named_in(&error));
}

#[test]
fn the_readme_has_every_key_of_a_server_of_tools() {
    let error = toml::from_str::<McpTable>("unknown = 1").expect_err("an unknown key");
    assert_eq!(keys_under("Tools of servers"), keys_named_in(&error));
}

#[test]
fn the_readme_has_every_key_of_the_policy_that_is_no_model() {
    let error = toml::from_str::<PolicyTable>("unknown = 1").expect_err("an unknown key");
    let expected = "expected `latency` or `script`";
    assert!(error.message().ends_with(expected), "{error}");
    assert_eq!(keys_under("provider = \"policy\""), ["latency", "script"]);
}

#[test]
fn the_readme_has_every_key_of_a_budget() {
    let error = toml::from_str::<BudgetTable>("unknown = 1").expect_err("an unknown key");
    assert_eq!(keys_under("Budget"), keys_named_in(&error));
}

#[test]
fn the_readme_has_every_key_of_a_policy() {
    assert_eq!(keys_under(".puruto-ipc.json"), POLICY_KEYS);
}

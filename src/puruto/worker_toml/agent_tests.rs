//! What a `worker.toml` of an agent gives, and what it may not say.

use std::time::Duration;

use super::*;
use crate::puruto::{
    OwnTool, Work,
    worker_toml::tests::{errors, read},
};

const POLICY_MODEL: &str = "[model]\nprovider = 'policy'\n";

fn agent(text: &str) -> AgentSpec {
    let spec = read(format!("kind = 'agent'\n{text}")).expect("usable");
    let Work::Agent(agent) = spec.work else {
        panic!("{spec:?}")
    };
    *agent
}

fn wrong(text: &str) -> Vec<String> {
    let found = errors(format!("kind = 'agent'\n{text}"));
    found.into_iter().map(|(_, key)| key).collect()
}

#[test]
fn a_policy_or_a_model_is_enough() {
    let policy = agent(POLICY_MODEL);
    assert_eq!(policy.decider, Decider::Policy(Simulated::default()));
    assert_eq!(policy.decisions, Decisions::Json);
    assert_eq!((policy.limits.steps, policy.limits.requests), (8, 12));
    assert_eq!(policy.bounds, ToolBounds::default());
    assert_eq!(policy.tools, OwnTools::default());
    assert!(!policy.tools.contain(OwnTool::Delegate) && policy.servers.is_empty());

    let two = "[model]\nprovider = 'simulated'\n[[fallback]]\nprovider = 'simulated'\n";
    let Decider::Models { fallbacks, .. } = agent(two).decider else {
        panic!("a model")
    };
    assert_eq!(fallbacks.len(), 1);
}

#[test]
fn every_key_of_an_agent_is_read() {
    let agent = agent(
        "decisions = 'tool_calls'\ntools = ['report', 'delegate']\ntool_timeout = '5s'\n\
         output_max = '1 KiB'\n[model]\nprovider = 'policy'\nlatency = '10ms'\n\
         [budget]\nsteps = 3\nrequests = 4\ntokens = 5\n\
         [[mcp]]\nname = 'git'\nargv = ['git-mcp']\n[[mcp]]\nname = 'wiki'\nurl = 'http://h/mcp'\n",
    );
    let latency = Duration::from_millis(10);
    let script = None;
    assert_eq!(
        agent.decider,
        Decider::Policy(Simulated { latency, script })
    );
    assert_eq!(agent.decisions, Decisions::ToolCalls);
    assert!(agent.tools.contain(OwnTool::Delegate) && !agent.tools.contain(OwnTool::Search));
    assert_eq!((agent.limits.steps, agent.limits.requests), (3, 4));
    let bounds = (agent.bounds.timeout, agent.bounds.output_max);
    assert_eq!(bounds, (Duration::from_secs(5), 1024));
    let names: Vec<_> = agent.servers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["git", "wiki"]);
}

#[test]
fn a_policy_plays_the_script_of_its_table_if_every_decision_in_it_is_one() {
    let script = |decision: &str| format!("{POLICY_MODEL}script = [{decision}]\n");
    let asks = "{action = 'delegate', args = {target = 'a', action = 'b', prompt = '{prompt}'}}";
    let Decider::Policy(policy) = agent(&script(asks)).decider else {
        panic!("a policy")
    };
    assert!(policy.script.is_some());
    let wrong = wrong(&script("{action = 'delegate', args = {target = 'a'}}"));
    assert_eq!(wrong, ["#model.script"]);
}

#[test]
fn tools_that_are_of_no_use_as_they_are_are_refused() {
    for tools in [
        "[]",
        "['search', 'read']",
        "['search', 'report']",
        "['report', 'shell']",
    ] {
        let found = wrong(&format!("tools = {tools}\n{POLICY_MODEL}"));
        assert!(
            found.len() == 1 && found[0].starts_with("#tools"),
            "{found:?}"
        );
    }
    let twice = "[[mcp]]\nname = 'a'\nargv = ['a']\n";
    assert_eq!(
        wrong(&format!(
            "{POLICY_MODEL}{twice}{twice}[[mcp]]\nname = 'b'\n"
        )),
        ["#mcp[1].name", "#mcp[2]"]
    );
    let many: String = (0..17)
        .map(|it| format!("[[mcp]]\nname = 's{it}'\nargv = ['a']\n"))
        .collect();
    assert_eq!(wrong(&format!("{POLICY_MODEL}{many}")), ["#mcp"]);
}

#[test]
fn what_says_nothing_to_a_kind_is_refused() {
    assert_eq!(wrong(""), ["#model"]);
    assert_eq!(
        wrong(&format!(
            "stream = true\nrepair_attempts = 0\n{POLICY_MODEL}[command]\nargv = ['a']"
        )),
        ["#stream", "#command", "#repair_attempts"]
    );
    assert_eq!(
        wrong("[model]\nprovider = 'policy'\nanswer = 'x'\n[[fallback]]\nprovider = 'simulated'"),
        ["#fallback", "#model.answer"]
    );
    let chat = errors("tools = ['report']\n[model]\nprovider = 'simulated'\n[budget]\nsteps = 1");
    let keys: Vec<_> = chat.iter().map(|(_, key)| key.as_str()).collect();
    assert_eq!(keys, ["#budget.steps", "#tools"]);
    let policy = errors(POLICY_MODEL);
    assert_eq!(policy[0].1, "#model.provider");
}

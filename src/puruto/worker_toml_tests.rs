//! Any `worker.toml` gives a Puruto or every mistake in it at once.

use proptest::prelude::*;

use super::*;
use crate::{
    contract::{ActionName, Limits, Micros},
    handler::OnCircuitOpen,
    puruto::{Actions, Concurrency},
    runtime::{config::ProviderConfig, contract::AnswerShape, repair::Repair},
};

const FILE: &str = "workers/a/worker.toml";
const MODEL: &str = "[model]\nprovider = \"simulated\"\n";

/// What stands beside it.
const FILES: [(&str, &str); 4] = [
    ("good.json", r#"{"required": ["cents"]}"#),
    ("bad.json", r#"{"properties": {"a": {"type": "text"}}}"#),
    (
        "out.json",
        r#"{"items": {"$ref": "https://example.com/a.json"}}"#,
    ),
    ("no.json", "{"),
];

pub(super) fn read(text: impl AsRef<[u8]>) -> Result<WorkerSpec, Vec<Finding>> {
    parse(Path::new(FILE), text.as_ref(), &|name| {
        let file = FILES.iter().find(|(there, _)| Path::new(there) == name);
        Ok(file.map(|(_, text)| text.as_bytes().to_vec()))
    })
}

fn spec(keys: &str) -> WorkerSpec {
    read(format!("{keys}\n{MODEL}")).expect("usable")
}

/// Code and key of each finding.
pub(super) fn errors(text: impl AsRef<[u8]>) -> Vec<(&'static str, String)> {
    let findings = read(text).expect_err("not usable");
    assert!(findings.iter().all(Finding::is_error));
    findings
        .iter()
        .map(|it| {
            let key = it.path.strip_prefix(FILE).expect("names the file");
            (it.code.as_str(), key.to_owned())
        })
        .collect()
}

fn action(raw: &str) -> ActionName {
    raw.parse().expect("an action")
}

#[test]
fn a_model_is_enough() {
    let spec = spec("");
    assert!(matches!(spec.work, Work::Chat(_)));
    assert_eq!(spec.description, None);
    assert_eq!(spec.concurrency, Concurrency::default());
    assert_eq!(spec.concurrency.get().get(), 8);
    assert!(spec.actions.contain(&action("whatever")));
}

#[test]
fn every_key_is_read() {
    let spec = spec("kind='chat'\ndescription='d'\nconcurrency=3\nactions=['pay','read']");
    assert_eq!(spec.description.as_deref(), Some("d"));
    assert_eq!(spec.concurrency.get().get(), 3);
    assert!(spec.actions.contain(&action("pay")) && spec.actions.contain(&action("read")));
    assert!(!spec.actions.contain(&action("refund")));
}

#[test]
fn a_request_whose_circuit_is_open_fails_unless_told_to_wait() {
    assert_eq!(spec("").on_circuit_open, OnCircuitOpen::Fail);
    assert_eq!(
        spec("on_circuit_open='park'").on_circuit_open,
        OnCircuitOpen::Park
    );
    let odd = format!("on_circuit_open='wait'\n{MODEL}");
    let key = "#on_circuit_open".to_owned();
    assert_eq!(errors(odd), [("invalid-worker-config", key)]);
}

#[test]
fn an_empty_list_of_actions_means_every_action() {
    assert_eq!(spec("actions=[]").actions, Actions::Every);
}

#[test]
fn an_action_may_need_approval() {
    let spec = spec("actions=['read', {name='pay', approval=true}, {name='list'}, 'pay']");
    let pays = |name: &str| {
        (
            spec.actions.contain(&action(name)),
            spec.actions.needs_approval(&action(name)),
        )
    };
    assert_eq!(pays("read"), (true, false));
    // Named twice: the stricter counts.
    assert_eq!(pays("pay"), (true, true));
    assert_eq!(pays("list"), (true, false));
    assert_eq!(pays("refund"), (false, false));
    assert!(!Actions::Every.needs_approval(&action("pay")));

    let wrong = "actions=[{approval=true}, {name='a', aproval=true}, {name='a', approval='yes'}, \
                 {name='a b'}, ['a']]";
    let found = errors(format!("{wrong}\n{MODEL}"));
    let keys: Vec<_> = found.iter().map(|(_, key)| key.as_str()).collect();
    let expected = [
        "#actions[0]",
        "#actions[1].aproval",
        "#actions[2].approval",
        "#actions[3].name",
        "#actions[4]",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn a_budget_is_what_one_request_may_use_with_all_below_it() {
    assert_eq!(spec("").budget, Limits::default());
    let table = "[budget]\nmodel_requests=40\ntokens=200_000\ncost=0.25\ndescendants=0\n";
    let with = |table: &str| read(format!("{MODEL}{table}")).expect("usable").budget;
    let limits = Limits {
        requests: Some(40),
        tokens: Some(200_000),
        cost: Some(Micros(250_000)),
        descendants: Some(0),
    };
    assert_eq!(with(table), limits);
    for (written, micros) in [("'1.5'", 1_500_000), ("2", 2_000_000), ("0.000001", 1)] {
        let cost = with(&format!("[budget]\ncost={written}\n")).cost;
        assert_eq!(cost, Some(Micros(micros)), "{written}");
    }
    for (wrong, key) in [
        ("tokens=-1", "#budget.tokens"),
        ("cost=-0.5", "#budget.cost"),
        ("cost=nan", "#budget.cost"),
        ("cost=0.0000001", "#budget.cost"),
        ("cost=true", "#budget.cost"),
        ("token=1", "#budget.token"),
    ] {
        let found = errors(format!("{MODEL}[budget]\n{wrong}\n"));
        assert_eq!(found, [("invalid-worker-config", key.to_owned())]);
    }
}

#[test]
fn every_mistake_of_a_file_is_found_at_once_where_it_stands() {
    let text = "kind='chatt'\ndescription=1\nconcurrency=0\nactions=['ok',7,'no way']\n\
                concurency=4\n[model]\nprovider='simulated'\nanswr='x'\n[models]";
    let invalid = "invalid-worker-config";
    let keys = [
        "#kind",
        "#description",
        "#actions[1]",
        "#actions[2]",
        "#concurrency",
        "#model.answr",
        "#concurency",
        "#models",
    ];
    assert_eq!(errors(text), keys.map(|key| (invalid, key.to_owned())));
}

#[test]
fn a_message_says_what_is_wrong_and_what_is_allowed() {
    let said = |text: &str| {
        let findings = read(text).expect_err("not usable");
        findings
            .into_iter()
            .map(|it| it.message)
            .collect::<Vec<_>>()
    };
    let with_model = |keys: &str| said(&format!("{keys}\n{MODEL}"));
    assert_eq!(
        with_model("concurrency = 100001"),
        ["expected an integer from 1 to 100000, got 100001"]
    );
    assert_eq!(
        with_model("slots = 1"),
        [
            "expected one of the keys kind, description, actions, concurrency, \
             on_circuit_open, stream, model, fallback, response_schema, repair_attempts, \
             command, decisions, tools, mcp, tool_timeout, output_max, budget, got an unknown \
             key"
        ]
    );
    let model = said("[model]\nprovider = 'simulated'\nanswr = 'x'");
    assert!(
        model[0].contains("answr") && model[0].contains("answer"),
        "{model:?}"
    );
}

#[test]
fn a_missing_model_is_a_missing_key() {
    let missing = ("worker-config-missing-key", "#model".to_owned());
    assert_eq!(errors(""), [missing]);
}

#[test]
fn fallbacks_are_routes_in_their_order_and_their_mistakes_are_told_where_they_stand() {
    let fallbacks = "[[fallback]]\nprovider = 'ollama'\nmodel = 'm'\n\
                     [[fallback]]\nprovider = 'simulated'\n";
    let spec = read(format!("{MODEL}{fallbacks}")).expect("usable");
    let Work::Chat(chat) = spec.work else {
        panic!("{spec:?}")
    };
    assert!(matches!(chat.model, ProviderConfig::Simulated(_)));
    assert!(matches!(chat.fallbacks[0], ProviderConfig::Ollama(_)));
    assert_eq!(chat.fallbacks.len(), 2);

    let wrong = |key: &str| ("invalid-worker-config", key.to_owned());
    let mistakes = "[[fallback]]\nprovider = 'simulated'\nlatency = 'x'\n\
                    [[fallback]]\nprovider = 'openai'\nbase_url = 'ftp://h'\nmodel = 'm'\n\
                    [[fallback]]\nprovider = 'simulated'\nmodle = 'm'\n[[fallback]]\n";
    assert_eq!(
        errors(format!("{MODEL}{mistakes}")),
        [
            wrong("#fallback[0].latency"),
            wrong("#fallback[1].base_url"),
            wrong("#fallback[2].modle"),
            wrong("#fallback[3].provider"),
        ]
    );
    assert_eq!(
        errors(format!("fallback = 1\n{MODEL}")),
        [wrong("#fallback")]
    );
    let eight = "[[fallback]]\nprovider = 'simulated'\n".repeat(8);
    assert_eq!(errors(format!("{MODEL}{eight}")), [wrong("#fallback")]);
    let command = "kind = 'command'\n[command]\nargv = ['a']\n";
    assert_eq!(
        errors(format!("{command}{fallbacks}")),
        [wrong("#fallback")]
    );
}

/// Where each finding stands: the file, and the key in it.
fn places(text: &str) -> Vec<String> {
    let findings = read(text).expect_err("not usable");
    let folder = FILE.strip_suffix("worker.toml").expect("a folder");
    let place = |it: &Finding| it.path.strip_prefix(folder).map(ToOwned::to_owned);
    let places = findings.iter().map(place);
    places.collect::<Option<_>>().expect("in the folder")
}

#[test]
fn a_schema_of_the_answer_stands_in_a_file_or_in_the_table() {
    let chat = |keys: &str| match spec(keys).work {
        Work::Chat(chat) => *chat,
        Work::Command(_) | Work::Agent(_) => panic!("{keys}"),
    };
    assert_eq!(chat("").answer, AnswerShape::Text);
    assert_eq!(chat("").repair, Repair::Never);
    let in_file = chat("repair_attempts = 1\nresponse_schema = 'good.json'");
    assert_eq!(in_file.repair, Repair::Once);
    let in_file = in_file.answer;
    assert!(matches!(in_file, AnswerShape::Schema(_)));
    let in_table = chat("response_schema = { required = ['cents'] }").answer;
    assert_eq!(in_file, in_table);
}

#[test]
fn a_schema_that_is_none_is_told_where_it_stands() {
    for (keys, place) in [
        (
            "response_schema = 'bad.json'",
            "bad.json#/properties/a/type",
        ),
        ("response_schema = 'out.json'", "out.json#/items/$ref"),
        ("response_schema = 'no.json'", "no.json"),
        (
            "response_schema = 'gone.json'",
            "worker.toml#response_schema",
        ),
        (
            "response_schema = '../other/good.json'",
            "worker.toml#response_schema",
        ),
        (
            "response_schema = '/etc/passwd'",
            "worker.toml#response_schema",
        ),
        ("response_schema = ''", "worker.toml#response_schema"),
        ("response_schema = 1", "worker.toml#response_schema"),
        (
            "response_schema = { required = 'a' }",
            "worker.toml#response_schema.required",
        ),
        ("repair_attempts = 1", "worker.toml#repair_attempts"),
        ("repair_attempts = 2", "worker.toml#repair_attempts"),
        ("repair_attempts = '1'", "worker.toml#repair_attempts"),
    ] {
        assert_eq!(places(&format!("{keys}\n{MODEL}")), [place], "{keys}");
    }
    let command = "kind = 'command'\nresponse_schema = 'good.json'\nrepair_attempts = 0\n\
                   [command]\nargv = ['a']";
    let needless = ["worker.toml#response_schema", "worker.toml#repair_attempts"];
    assert_eq!(places(command), needless);
}

#[test]
fn a_command_needs_its_table_and_no_model() {
    let command = "[command]\nargv = ['python3', 'invoker.py']\n";
    let spec = read(format!("kind = 'command'\n{command}")).expect("usable");
    let Work::Command(command_config) = spec.work else {
        panic!("{spec:?}")
    };
    assert_eq!(command_config.argv.program(), "python3");

    let wrong = |key: &str| ("invalid-worker-config", key.to_owned());
    let missing = || ("worker-config-missing-key", "#command".to_owned());
    assert_eq!(errors("kind = 'command'"), [missing()]);
    assert_eq!(
        errors(format!("kind = 'command'\n{MODEL}")),
        [missing(), wrong("#model")]
    );
    assert_eq!(
        errors(format!("kind = 'command'\n{MODEL}{command}")),
        [wrong("#model")]
    );
    assert_eq!(errors(format!("{MODEL}{command}")), [wrong("#command")]);
    let inside = "kind = 'command'\n[command]\nargv = []\nenv = ['PATH', '']";
    assert_eq!(errors(inside), [wrong("#command.argv")]);
}

#[test]
fn what_is_no_toml_is_one_error_that_names_the_line() {
    for text in ["kind = \n", "a = 1\na = 2\n", "[model\n"] {
        assert_eq!(
            errors(text),
            [("invalid-worker-config", String::new())],
            "{text}"
        );
    }
    let findings = read("kind = 'chat'\nconcurrency = = 1\n").expect_err("not usable");
    assert!(findings[0].message.starts_with("is no TOML: line 2: "));
    assert!(!findings[0].message.contains('\n'));
    let findings = read(b"a\xff").expect_err("not usable");
    assert_eq!(
        findings[0].message,
        "is no UTF-8 text: invalid byte at offset 1"
    );
}

fn plausible() -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![
        any::<i64>().prop_map(|it| it.to_string()),
        "'[a-z ]{0,4}'",
        Just("['pay', 1]".to_owned()),
        Just("{ provider = 'simulated', latency = 'x' }".to_owned()),
        Just("{ provider = 'simulated' }".to_owned()),
        Just("[{ provider = 'simulated' }, { provider = 'x' }, 1]".to_owned()),
        Just("'command'".to_owned()),
        Just("{ argv = ['a'] }".to_owned()),
        Just("[{ name = 'pay', approval = true }]".to_owned()),
        Just("{ tokens = 1, cost = 0.5 }".to_owned()),
        Just("'agent'".to_owned()),
        Just("{ provider = 'policy' }".to_owned()),
        Just("['search', 'read', 'report']".to_owned()),
        Just("[{ name = 'a', argv = ['a'] }, { name = 'a', url = 'http://h' }]".to_owned()),
        proptest::sample::select(FILES.map(|(name, _)| format!("'{name}'")).to_vec()),
    ];
    let key = proptest::sample::select([&WORKER_KEYS[..], &["other"]].concat());
    proptest::collection::btree_map(key, value, 0..6).prop_map(|entries| {
        let lines = entries
            .iter()
            .map(|(key, value)| format!("{key} = {value}\n"));
        lines.collect::<String>().into_bytes()
    })
}

proptest! {
    #[test]
    fn any_bytes_give_a_spec_or_errors(
        bytes in prop_oneof![proptest::collection::vec(any::<u8>(), 0..64), plausible()]
    ) {
        if let Err(findings) = read(&bytes) {
            prop_assert!(!findings.is_empty() && findings.iter().all(Finding::is_error));
        }
    }
}

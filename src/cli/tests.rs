//! What a person types, and what a command answers without any server.

use std::{
    fs,
    io::{self, Cursor, Write},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::{
    clock::{Chance, Clock, WallTime},
    contract::{ErrorCode, InvocationResult, IpcKind, Outcome, ResultError},
    gateway::auth::keys::KeySet,
};

/// What was written, readable while the command still has it.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A reader that has gone away.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal with a folder, an environment and standard input.
struct Desk {
    folder: TempDir,
    variables: Vec<(String, String)>,
    stdin: Vec<u8>,
}

/// How a command ended and what it wrote.
struct Said {
    exit: Exit,
    stdout: String,
    stderr: String,
}

impl Desk {
    fn new() -> Self {
        let desk = Self {
            folder: TempDir::new().unwrap(),
            variables: Vec::new(),
            stdin: Vec::new(),
        };
        // Nothing listens there.
        let desk = desk.variable("NATS_URL", "nats://127.0.0.1:1");
        let [workers, skills] =
            ["workers", "skills"].map(|name| desk.folder.path().join(name).display().to_string());
        desk.variable("PURUTO_WORKER__WORKERS_DIR", &workers)
            .variable("PURUTO_GATEWAY__SKILLS_DIR", &skills)
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn file(self, path: &str, text: &str) -> Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn world(&self, output: Output) -> World {
        World {
            environment: self.variables.iter().cloned().collect(),
            folder: self.folder.path().to_owned(),
            stdin: Box::new(Cursor::new(self.stdin.clone())),
            output,
            clock: Clock::manual(WallTime::from_unix_millis(1_700_000_000_000)),
            chance: Chance::seeded(3),
        }
    }

    fn types(&self, words: &[&str]) -> Said {
        let (stdout, stderr) = (Paper::default(), Paper::default());
        let output = Output::new(
            Box::new(stdout.clone()),
            Box::new(stderr.clone()),
            Reader::Program,
        );
        let exit = run(command(words), &mut self.world(output));
        Said {
            exit,
            stdout: stdout.text(),
            stderr: stderr.text(),
        }
    }
}

fn command(words: &[&str]) -> Vec<std::ffi::OsString> {
    let words = ["puruto"].iter().chain(words);
    words.map(|word| (*word).into()).collect()
}

fn policy(owner: &str) -> String {
    json!({"owner": owner, "allowed_targets": ["puruto-financial"]}).to_string()
}

#[test]
fn an_answer_has_the_exit_code_of_its_result() {
    let ended = |outcome| {
        let result = InvocationResult {
            request_id: "r".parse().unwrap(),
            correlation_id: "c".parse().unwrap(),
            duration: std::time::Duration::ZERO,
            outcome,
        };
        Exit::of(&result).code()
    };
    let error = |code| ended(Outcome::Error(ResultError::new(code, "m")));
    assert_eq!(ended(Outcome::Ok(json!({}))), 0);
    assert_eq!(error(ErrorCode::TargetNotFound), 1);
    assert_eq!(error(ErrorCode::Cancelled), 1);
    let conflict = ResultError::ipc(IpcKind::RequestIdConflict, "m");
    assert_eq!(ended(Outcome::Error(conflict)), 1);
    assert_eq!(error(ErrorCode::Denied), 3);
    assert_eq!(error(ErrorCode::Timeout), 4);
    assert_eq!(Exit::Usage.code(), 2);
    assert_eq!(Exit::NoConnection.code(), 5);
}

#[test]
fn help_is_an_answer_that_shows_the_exit_codes_and_a_wrong_verb_an_error() {
    let said = Desk::new().types(&["invoke", "--help"]);
    assert_eq!(said.exit, Exit::Ok);
    assert!(
        said.stdout.contains("3  denied by the policy"),
        "{}",
        said.stdout
    );
    let said = Desk::new().types(&["invok"]);
    assert_eq!((said.exit, said.stdout.as_str()), (Exit::Usage, ""));
    assert!(said.stderr.contains("invok"), "{}", said.stderr);
}

#[test]
fn without_a_broker_it_is_said_where_the_address_came_from_and_what_to_do() {
    let desk = Desk::new().file(".puruto-ipc.json", &policy("puruto-me"));
    let said = desk.types(&["invoke", "puruto-financial", "pay", "now"]);
    assert_eq!((said.exit, said.stdout.as_str()), (Exit::NoConnection, ""));
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    for part in ["127.0.0.1:1", "NATS_URL", "puruto dev"] {
        assert!(said.stderr.contains(part), "{}", said.stderr);
    }
}

#[test]
fn every_mistake_of_the_configuration_is_said_before_anything_is_tried() {
    let desk = Desk::new().variable("PURUTO_CLIENT__GRACE", "soon");
    let said = desk.types(&["--set", "nats.nope=1", "status", "r-1"]);
    assert_eq!(said.exit, Exit::Usage);
    assert_eq!(said.stderr.lines().count(), 2, "{}", said.stderr);
}

#[test]
fn target_action_and_prompt_are_words_or_flags_in_any_mix() {
    let desk = Desk::new().file(".puruto-ipc.json", &policy("puruto-me"));
    for words in [
        &["invoke", "puruto-financial", "pay", "now"][..],
        &[
            "invoke",
            "--target",
            "puruto-financial",
            "--action",
            "pay",
            "--prompt",
            "now",
        ],
        &["invoke", "--action", "pay", "puruto-financial", "now"],
        &["invoke", "puruto-financial", "pay", "--prompt", "-v"],
    ] {
        // As far as the broker, which is not there.
        assert_eq!(desk.types(words).exit, Exit::NoConnection, "{words:?}");
    }
    for (words, why) in [
        (
            &["invoke", "puruto-financial", "pay"][..],
            "the prompt is missing",
        ),
        (&["invoke"], "the target is missing"),
        (
            &["invoke", "--target", "t", "a", "p", "q"],
            "one word too many",
        ),
        (&["invoke", "a.b", "pay", "now"], "the target is no name"),
        (&["invoke", "t", "a", "p", "--timeout", "25h"], "1s to 24h"),
        (
            &["invoke", "t", "a", "p", "--timeout", "soon"],
            "such as 90s",
        ),
        (&["invoke", "t", "a", "p", "--hop", "65"], "0 to 64"),
        (
            &["invoke", "t", "a", "p", "--priority", "urgent"],
            "high, normal or low",
        ),
        (&["invoke", "t", "a", "p", "--deadline", "noon"], "RFC 3339"),
    ] {
        let said = desk.types(words);
        assert_eq!(said.exit, Exit::Usage, "{words:?}");
        assert!(said.stderr.contains(why), "{words:?}: {}", said.stderr);
    }
}

#[test]
fn a_prompt_is_read_from_standard_input_up_to_its_limit() {
    let mut desk = Desk::new().file(".puruto-ipc.json", &policy("puruto-me"));
    let words = ["invoke", "puruto-financial", "pay", "-"];
    desk.stdin = b"pay #123\n".to_vec();
    assert_eq!(desk.types(&words).exit, Exit::NoConnection);
    desk.stdin = b"\xff".to_vec();
    assert!(desk.types(&words).stderr.contains("no UTF-8"));
    desk.stdin = vec![b'x'; 262_145];
    let said = desk.types(&words);
    assert_eq!(said.exit, Exit::Usage);
    assert!(
        said.stderr.contains("more than 262144 bytes"),
        "{}",
        said.stderr
    );
}

#[test]
fn the_policy_file_here_names_the_caller_and_a_broken_one_is_said() {
    let desk = Desk::new().file(".puruto-ipc.json", r#"{"owner": "me", "max_hops": -1}"#);
    let said = desk.types(&["invoke", "puruto-financial", "pay", "now"]);
    assert_eq!(said.exit, Exit::Usage);
    assert!(
        said.stderr.contains(".puruto-ipc.json#max_hops"),
        "{}",
        said.stderr
    );
}

#[test]
fn check_fails_on_errors_alone_and_prints_for_scripts() {
    let desk = Desk::new().file("workers/puruto-a/.puruto-ipc.json", &policy("puruto-a"));
    let said = desk.types(&["check"]);
    assert_eq!(said.exit, Exit::Ok, "{}", said.stdout);
    let desk = desk.file("workers/puruto-b/.puruto-ipc.json", "{\"enabled\": 1}");
    let said = desk.types(&["check", "--json"]);
    assert_eq!(said.exit, Exit::Error);
    let findings: Value = serde_json::from_str(&said.stdout).unwrap();
    let codes: Vec<_> = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"ipc-config-invalid-type"), "{codes:?}");
}

#[test]
fn check_reads_the_skills_too_unless_another_folder_is_named() {
    let desk = Desk::new().file("workers/puruto-a/.puruto-ipc.json", &policy("puruto-a"));
    let desk = desk.file("skills/a.json", "{\"id\": \"a\"}");
    let said = desk.types(&["check"]);
    assert_eq!(said.exit, Exit::Error);
    for place in ["skills/a.json#/id", "skills/a.json#/puruto"] {
        assert!(said.stdout.contains(place), "{}", said.stdout);
    }
    let path = |name| desk.folder.path().join(name).display().to_string();
    let [workers, skills] = ["workers", "skills"].map(path);
    assert_eq!(desk.types(&["check", &workers]).exit, Exit::Ok);
    let both = desk.types(&["check", &workers, "--skills", &skills]);
    assert_eq!(both.exit, Exit::Error);
}

#[test]
fn config_shows_values_with_their_source_and_no_secret() {
    let desk = Desk::new().variable("PURUTO_NATS__TOKEN", "t0ps3cret");
    let said = desk.types(&["config", "--json", "--redis", "redis://:t0ps3cret@h:1"]);
    assert_eq!(said.exit, Exit::Ok);
    assert!(!said.stdout.contains("s3cret"), "{}", said.stdout);
    let entries: Value = serde_json::from_str(&said.stdout).unwrap();
    let source = |key: &str| {
        let mut all = entries.as_array().unwrap().iter();
        let entry = all.find(|it| it["key"] == key).unwrap();
        entry["source"].as_str().unwrap().to_owned()
    };
    assert_eq!(source("redis.url"), "--redis");
    assert_eq!(source("nats.url"), "NATS_URL");
    assert_eq!(source("log.filter"), "default");
    assert!(desk.types(&["config"]).stdout.contains("nats.token"));
}

#[test]
fn a_gateway_key_is_shown_beside_its_entry_and_is_the_key_of_that_entry() {
    let desk = Desk::new();
    let file = desk.folder.path().join("keys.toml");
    let said = desk.types(&["gateway-key", "ci", "--target", "puruto-*"]);
    assert_eq!(said.exit, Exit::Ok);
    let key = said.stderr.lines().last().unwrap();
    assert!(key.starts_with("pk_") && !said.stdout.contains(key));
    fs::write(&file, &said.stdout).unwrap();
    let keys = KeySet::load(&file).unwrap();
    let found = keys.find(key, WallTime::from_unix_millis(0)).unwrap();
    assert_eq!(found.name().as_str(), "ci");
    assert!(found.skills().cover("any") && found.targets().cover("puruto-echo"));
    let said = desk.types(&["gateway-key", "ci", "--skill", "a*b"]);
    assert_eq!((said.exit, &*said.stdout), (Exit::Usage, ""));
}

#[test]
fn an_option_of_every_verb_that_a_verb_cannot_heed_is_refused_by_name() {
    let desk = Desk::new();
    let secret = ["--set", "redis.url=redis://:t0ps3cret@h:1"];
    for verb in [
        ["demo"].as_slice(),
        &["bench"],
        &["chaos"],
        &["dev"],
        &["schema", "request"],
        &["completions", "bash"],
        &["gateway-key", "ci"],
    ] {
        let said = desk.types(&[verb, &["--nats", "nats://h:1"], &secret].concat());
        let refusal = format!("`puruto {}` cannot heed --nats, --set redis.url: ", verb[0]);
        assert_eq!((said.exit, &*said.stdout), (Exit::Usage, ""));
        assert!(said.stderr.contains(&refusal), "{}", said.stderr);
        assert!(!said.stderr.contains("t0ps3cret"), "{}", said.stderr);
    }
    let said = desk.types(&["demo", "--config", "fleet.toml"]);
    assert!(said.stderr.contains("heed --config: "), "{}", said.stderr);
}

#[test]
fn schemas_and_completions_are_printed() {
    let said = Desk::new().types(&["schema", "request"]);
    let schema: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(schema["title"], "InvocationRequest");
    let said = Desk::new().types(&["completions", "bash"]);
    assert!(said.stdout.contains("_puruto"), "{}", said.stdout);
}

#[test]
fn a_reader_that_has_gone_away_is_no_failure() {
    let desk = Desk::new();
    let errors = Paper::default();
    let output = Output::new(Box::new(Closed), Box::new(errors.clone()), Reader::Program);
    let exit = run(command(&["completions", "zsh"]), &mut desk.world(output));
    assert_eq!((exit, errors.text().as_str()), (Exit::Ok, ""));
}

#[test]
fn a_terminal_is_for_a_person_unless_json_is_asked_for_and_a_pipe_never_is() {
    let read_by = |reader| Output::new(Box::new(Closed), Box::new(Closed), reader);
    assert_eq!(read_by(Reader::Person).reader(false), Reader::Person);
    assert_eq!(read_by(Reader::Person).reader(true), Reader::Program);
    assert_eq!(read_by(Reader::Program).reader(false), Reader::Program);
}

//! Small shell scripts as programs: what they answer, how they end, and what is left of them.

use std::{fs, io, sync::Arc};

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::*;
use crate::contract::{Draft, MintedIds};

/// The longest wait for what must happen; it ends with the event.
const WITHIN: Duration = Duration::from_secs(30);

/// A result of the request of [`context`].
pub(super) const OK: &str = r#"{"request_id":"r-1","correlation_id":"c-1","status":"ok","duration_ms":1,"result":{"summary":"done"}}"#;

pub(super) fn context(prompt: &str) -> Context {
    let body = json!({
        "request_id": "r-1", "correlation_id": "c-1", "target": "t", "action": "a", "prompt": prompt,
    });
    let draft = Draft::parse(body.to_string().as_bytes()).expect("valid");
    let request = draft.complete(MintedIds::of_message("S", 1, 1));
    Context::bare(Arc::new(request), Instant::now() + WITHIN)
}

/// What a Puruto whose program is a shell script answers.
pub(super) struct Scripted {
    pub(super) folder: TempDir,
    pub(super) command: Command,
}

impl Scripted {
    pub(super) fn new(script: &str) -> Self {
        Self::with(script, "")
    }

    fn with(script: &str, keys: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        fs::write(folder.path().join("script"), script).expect("written");
        let config = config(&format!("argv = ['sh', 'script']\n{keys}"));
        let environment = |name: &str| match name {
            "PATH" => Some(std::env::var_os("PATH")?.into_string().expect("text")),
            "SHOWN" | "SECRET" => Some(name.to_lowercase()),
            _ => None,
        };
        let command = Command::new(config, folder.path(), environment);
        Self { folder, command }
    }

    async fn asked(&self, prompt: &str) -> Result<Value, ResultError> {
        let answer = self.command.handle(context(prompt));
        let ended = timeout(WITHIN, answer).await.expect("an end in time")?;
        match ended {
            Ended::Answer(result) => Ok(result),
            Ended::Delegate(_) => panic!("it asked others"),
        }
    }

    async fn error(&self) -> ResultError {
        self.asked("x").await.expect_err("no result")
    }

    /// The process ids that the script wrote to the file `pids`, once there are so many.
    async fn pids(&self, count: usize) -> Vec<Pid> {
        let file = self.folder.path().join("pids");
        let read = || {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let whole = text.split_inclusive('\n').filter(|it| it.ends_with('\n'));
            let pids: Vec<_> = whole
                .map(|it| Pid::from_raw(it.trim().parse().expect("a number")).expect("an id"))
                .collect();
            (pids.len() == count).then_some(pids)
        };
        until("the script wrote its process ids", read).await
    }
}

fn config(table: &str) -> CommandConfig {
    toml::from_str(table).expect("a table [command]")
}

async fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + WITHIN;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < end, "it never came to this: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// Not even a zombie is left of it.
fn is_reaped(pid: Pid) -> bool {
    test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

/// It does not run; whoever inherited it may not have reaped it yet.
fn is_dead(pid: Pid) -> bool {
    let state = std::process::Command::new("ps")
        .args(["-o", "stat=", "-p", &pid.to_string()])
        .output()
        .expect("ps");
    let state = String::from_utf8_lossy(&state.stdout);
    state.trim().is_empty() || state.starts_with('Z')
}

fn details(error: &ResultError) -> Value {
    json!(error.details)
}

#[tokio::test]
async fn a_result_on_stdout_is_passed_on_and_the_request_came_on_stdin() {
    let script = format!("cat > request; echo '{OK}'");
    let scripted = Scripted::new(&script);
    let result = scripted.asked("Ñandú").await.expect("a result");
    assert_eq!(result, json!({"summary": "done"}));
    let request = fs::read(scripted.folder.path().join("request")).expect("in its folder");
    assert_eq!(request, context("Ñandú").request.to_json());
}

#[tokio::test]
async fn an_error_of_the_program_is_passed_on() {
    let error = json!({"code": "DENIED", "message": "no", "details": {"why": 1}});
    let answer = json!({
        "request_id": "r-1", "correlation_id": "c-1", "status": "error", "duration_ms": 1,
        "result": null, "error": error,
    });
    let scripted = Scripted::new(&format!("echo '{answer}'"));
    assert_eq!(json!(scripted.error().await), error);
}

#[tokio::test]
async fn an_exit_code_and_a_signal_are_told_without_the_output() {
    let failed = Scripted::new(&format!("echo '{OK}'; echo sorry >&2; exit 3"));
    let error = failed.error().await;
    assert_eq!(error.code.as_str(), "INVALID_RESPONSE");
    assert_eq!(
        details(&error),
        json!({"reason": "exit_code", "exit_code": 3})
    );
    assert!(!json!(error).to_string().contains("sorry"));

    let killed = Scripted::new("kill -9 $$");
    let error = killed.error().await;
    assert_eq!(details(&error), json!({"reason": "signal", "signal": 9}));
}

#[tokio::test]
async fn what_is_no_result_of_the_request_is_told_field_by_field() {
    let fields = async |output: &str| {
        let error = Scripted::new(&format!("echo '{output}'")).error().await;
        assert_eq!(error.code.as_str(), "INVALID_RESPONSE");
        assert!(!json!(error).to_string().contains("secret"), "{error:?}");
        let details = details(&error);
        assert_eq!(details["code"], "CONTRACT_VIOLATION");
        let violations = details["violations"].as_array().expect("a list").clone();
        let fields = violations.iter().map(|it| it["field"].as_str());
        fields
            .map(|it| it.expect("a text").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(fields("").await, ["$"]);
    assert_eq!(fields("the secret is 7").await, ["$"]);
    assert_eq!(fields("[]").await, ["$"]);
    assert_eq!(
        fields(&OK.replace("r-1", "secret").replace("c-1", "secret")).await,
        ["request_id", "correlation_id"]
    );
    assert_eq!(
        fields(r#"{"summary": "secret"}"#).await,
        ["request_id", "correlation_id", "duration_ms", "status"]
    );
    assert_eq!(
        fields(&OK.replace("\"ok\"", "\"error\"")).await,
        ["error", "result"]
    );
    assert_eq!(
        fields(&OK.replace("{\"summary\"", "{\"secret\":1,\"secret\":2,\"summary\"")).await,
        ["$"]
    );
    let error = r#""error":{"code":"SECRET","message":7,"details":[]}"#;
    let bad_error = OK
        .replace("\"ok\"", "\"error\"")
        .replace(r#""result":{"summary":"done"}"#, error);
    assert_eq!(
        fields(&bad_error).await,
        ["error.code", "error.message", "error.details"]
    );
}

#[tokio::test]
async fn a_program_that_writes_too_much_is_ended() {
    let endless = Scripted::with("echo $$ > pids; yes", "output_max = 1000");
    let error = endless.error().await;
    assert_eq!(
        details(&error),
        json!({"reason": "output_too_large", "output_max": 1000})
    );
    let [pid] = endless.pids(1).await[..] else {
        panic!("one process")
    };
    until("it is gone", || is_reaped(pid).then_some(())).await;
}

#[tokio::test]
async fn output_of_just_the_allowed_length_is_read() {
    let allowed = format!("output_max = {}", OK.len());
    let script = format!("printf %s '{OK}'");
    assert!(Scripted::with(&script, &allowed).asked("x").await.is_ok());
    let less = format!("output_max = {}", OK.len() - 1);
    assert!(Scripted::with(&script, &less).asked("x").await.is_err());
}

#[tokio::test]
async fn a_program_that_never_reads_its_long_request_still_answers() {
    let scripted = Scripted::new(&format!("echo '{OK}'"));
    let longer_than_a_pipe = "x".repeat(200 * 1024);
    assert!(scripted.asked(&longer_than_a_pipe).await.is_ok());
}

#[tokio::test]
async fn a_flood_on_stderr_does_not_block_the_answer() {
    let flood = "i=0; while [ $i -lt 3000 ]; do echo \"line $i of the flood, padded to some length\"; i=$((i+1)); done >&2";
    let scripted = Scripted::new(&format!(
        "{flood}; head -c 300000 /dev/zero >&2; echo '{OK}'"
    ));
    assert!(scripted.asked("x").await.is_ok());
}

#[tokio::test]
async fn a_program_sees_the_named_variables_and_no_other() {
    let script = format!("env > seen; echo '{OK}'");
    let scripted = Scripted::with(&script, "env = ['PATH', 'SHOWN', 'UNSET']");
    scripted.asked("x").await.expect("a result");
    let seen = fs::read_to_string(scripted.folder.path().join("seen")).expect("written");
    let names: Vec<_> = seen.lines().filter_map(|it| it.split('=').next()).collect();
    assert!(
        names.contains(&"PATH") && seen.contains("SHOWN=shown"),
        "{seen}"
    );
    // What a shell sets by itself.
    let by_itself = ["PATH", "SHOWN", "PWD", "OLDPWD", "SHLVL", "_"];
    assert!(names.iter().all(|it| by_itself.contains(it)), "{names:?}");
    assert!(!format!("{:?}", scripted.command).contains("shown\""));
}

#[tokio::test]
async fn a_dropped_request_ends_the_whole_group_even_if_it_ignores_sigterm() {
    let script = "trap '' TERM; sh -c \"trap '' TERM; sleep 600\" & echo $! > incoming; \
                  echo $$ >> incoming; mv incoming pids; wait";
    let scripted = Scripted::new(script);
    let request = scripted.command.handle(context("x"));
    let pids = tokio::select! {
        answer = request => panic!("an answer: {answer:?}"),
        pids = scripted.pids(2) => pids,
    };
    let [child, leader] = pids[..] else {
        panic!("two processes")
    };
    until("the leader is reaped", || is_reaped(leader).then_some(())).await;
    until("its child is dead", || is_dead(child).then_some(())).await;
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it() {
    let script = format!("cat > request; sleep 600 > log 2>&1 & echo $! > pids; echo '{OK}'");
    let scripted = Scripted::new(&script);
    assert!(scripted.asked("x").await.is_ok());
    let [left] = scripted.pids(1).await[..] else {
        panic!("one process")
    };
    until("it is dead", || is_dead(left).then_some(())).await;
}

#[tokio::test]
async fn an_output_that_a_process_outside_the_group_holds_open_is_not_waited_for() {
    let script = format!(
        "setsid sh -c 'echo > left; sleep 20' & while [ ! -e left ]; do :; done; echo '{OK}'"
    );
    let error = Scripted::new(&script).error().await;
    assert_eq!(details(&error), json!({"reason": "output_left_open"}));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named_with_what_to_do() {
    let folder = TempDir::new().expect("a folder");
    let missing = config("argv = ['no-such-program']");
    let command = Command::new(missing, folder.path(), |_| None);
    let error = command.handle(context("x")).await.expect_err("no result");
    assert_eq!(error.kind(), Some("internal"));
    assert!(error.message.contains("no-such-program") && error.message.contains("install"));
}

#[tokio::test]
async fn a_program_of_the_folder_is_started_by_its_path_from_there() -> io::Result<()> {
    let folder = TempDir::new()?;
    std::os::unix::fs::symlink("/bin/sh", folder.path().join("mine"))?;
    fs::write(folder.path().join("script"), format!("echo '{OK}'"))?;
    let own = config("argv = ['./mine', 'script']");
    let command = Command::new(own, folder.path(), |_| None);
    assert!(command.handle(context("x")).await.is_ok());
    Ok(())
}

#[test]
fn a_table_that_cannot_be_a_command_is_refused() {
    for table in [
        "",
        "argv = []",
        "argv = ['']",
        "argv = 'sh'",
        "argv = ['a', \"b\\u0000\"]",
        "argv = ['a']\nenv = ['A=B']",
        "argv = ['a']\nenv = ['']",
        "argv = ['a']\noutput_max = 0",
        "argv = ['a']\noutput_max = 67108865",
        "argv = ['a']\nshell = true",
    ] {
        assert!(toml::from_str::<CommandConfig>(table).is_err(), "{table}");
    }
    assert_eq!(config("argv = ['a']").output_max.bytes(), 1024 * 1024);
}

//! A small shell script as a server of tools: what is offered and called, how it is started again,
//! and what is left of it.

use std::fs;

use rustix::process::{Pid, test_kill_process};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use super::*;
use crate::{contract::Step, handler::agent::tools::IdempotencyKey};

/// The longest wait for what must happen; it ends with the event.
const WITHIN: Duration = Duration::from_secs(30);

/// Speaks the protocol line by line, and notes its process id and what it is called with.
const SERVER: &str = r#"
echo $$ >> pids
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
tool() { printf '{"name":"%s","description":"It is %s.","inputSchema":{"type":"object"}}' "$1" "$1"; }
say() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*)
      answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
    *'"tools/list"'*)
      echo list >> lists
      answer "{\"tools\":[$(tool say),$(tool die),$(tool hang),$(tool flood)]}";;
    *'"name":"say"'*) printf '%s\n' "$line" >> calls; say $$;;
    *'"name":"die"'*) exit 3;;
    *'"name":"flood"'*) say "$(head -c 100000 /dev/zero | tr '\0' a)";;
    *notifications/cancelled*) echo cancelled >> cancelled;;
  esac
done
"#;

struct Scripted {
    folder: TempDir,
    server: McpServer,
}

impl Scripted {
    fn new(keys: &str) -> Self {
        Self::running(SERVER, keys)
    }

    fn running(script: &str, keys: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        fs::write(folder.path().join("script"), script).expect("written");
        let table = format!("name = 'bank'\nargv = ['sh', 'script']\n{keys}");
        let config = toml::from_str(&table).expect("a table [[mcp]]");
        let path = |name: &str| match name {
            "PATH" => Some(std::env::var_os(name)?.into_string().expect("text")),
            _ => None,
        };
        let server = McpServer::new(config, folder.path(), path).expect("no key");
        Self { folder, server }
    }

    async fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.server.tools().await.expect("it is there")
    }

    async fn call(&self, name: &str) -> Result<Value, ToolFailed> {
        let tools = self.tools().await;
        let tool = tools.iter().find(|it| it.name() == name).expect("offered");
        let args = Map::from_iter([("cents".to_owned(), 7.into())]);
        tool.call(args, key()).await
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join(file)).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }
}

fn key() -> IdempotencyKey {
    let target = "puruto-a".parse().expect("a name");
    IdempotencyKey::of(&target, &"r-1".parse().expect("an id"), Step::new(3))
}

async fn until(what: &str, look: impl Fn() -> bool) {
    let end = Instant::now() + WITHIN;
    while !look() {
        assert!(Instant::now() < end, "it never came to this: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

fn is_gone(pid: &str) -> bool {
    let pid = Pid::from_raw(pid.parse().expect("a number")).expect("an id");
    test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
}

#[tokio::test]
async fn a_server_is_started_once_when_it_is_first_needed_and_says_what_it_offers() {
    let scripted = Scripted::new("");
    assert!(scripted.lines("pids").is_empty());
    let tools = scripted.tools().await;
    let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["die", "flood", "hang", "say"]);
    assert_eq!(tools[3].description(), "It is say.");
    assert_eq!(*tools[3].schema(), json!({"type": "object"}));
    scripted.tools().await;
    assert_eq!(scripted.lines("pids").len(), 1);
    assert_eq!(scripted.lines("lists").len(), 1);
}

#[tokio::test]
async fn only_tools_that_are_allowed_are_offered() {
    let scripted = Scripted::new("tools = ['say', 'pay']");
    let tools = scripted.tools().await;
    let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["say"]);
}

#[tokio::test]
async fn a_call_carries_its_arguments_and_the_key_of_its_step() {
    let scripted = Scripted::new("");
    let said = scripted.call("say").await.expect("an answer");
    assert_eq!(said, json!(scripted.lines("pids")[0]));
    let call: Value = serde_json::from_str(&scripted.lines("calls")[0]).expect("JSON");
    assert_eq!(call["params"]["arguments"], json!({"cents": 7}));
    let meta = &call["params"]["_meta"];
    assert_eq!(meta["puruto/idempotency-key"], "puruto-a/r-1/3");
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_said_to_and_the_next_call_starts_it_again() {
    let scripted = Scripted::new("");
    let died = scripted.call("die").await.expect_err("it died");
    assert!(died.0.contains("bank went away"), "{died}");
    let said = scripted.call("say").await.expect("an answer");
    let pids = scripted.lines("pids");
    assert_eq!(pids.len(), 2);
    assert_eq!(said, json!(pids[1]));
    assert_eq!(scripted.lines("calls").len(), 1);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_abandoned_and_the_server_is_told() {
    let scripted = Scripted::new("timeout = '2s'");
    let late = scripted.call("hang").await.expect_err("no answer");
    assert!(late.0.contains("in time"), "{late}");
    until("it is told", || !scripted.lines("cancelled").is_empty()).await;
    assert!(scripted.call("say").await.is_ok());
    assert_eq!(scripted.lines("pids").len(), 1);
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_not_read() {
    let scripted = Scripted::new("timeout = '2s'\noutput_max = '64 KiB'");
    assert!(scripted.call("flood").await.is_err());
    assert!(scripted.call("say").await.is_ok());
}

#[tokio::test]
async fn a_server_ends_with_whoever_uses_it() {
    let script = format!("sleep 600 & echo $! >> pids\n{SERVER}");
    let scripted = Scripted::running(&script, "");
    scripted.tools().await;
    let pids = scripted.lines("pids");
    assert_eq!(pids.len(), 2);
    drop(scripted.server);
    until("the server is reaped", || is_gone(&pids[1])).await;
}

#[tokio::test]
async fn a_server_that_cannot_be_had_is_not_asked_again_at_once() {
    let scripted = Scripted::running("echo started >> pids; exit 1", "");
    let away = scripted.server.tools().await.expect_err("it is away");
    assert!(away.0.starts_with("bank cannot be had: "), "{away}");
    assert_eq!(scripted.server.tools().await.expect_err("it is away"), away);
    assert_eq!(scripted.lines("pids").len(), 1);

    let silent = Scripted::running("sleep 600", "timeout = '200ms'");
    let away = silent.server.tools().await.expect_err("it is silent");
    assert!(away.0.contains("in time"), "{away}");
}

#[test]
fn a_key_that_is_not_there_is_named() {
    let table = "name = 'wiki'\nurl = 'https://h/mcp'\napi_key_env = 'WIKI_KEY'";
    let config: McpConfig = toml::from_str(table).expect("a table [[mcp]]");
    let nowhere = Path::new("/nowhere");
    let missing = McpServer::new(config.clone(), nowhere, |_| None).expect_err("no key");
    assert!(missing.to_string().contains("WIKI_KEY"), "{missing}");
    let server = McpServer::new(config, nowhere, |_| Some("s3cret".to_owned()));
    assert!(!format!("{:?}", server.expect("a key")).contains("s3cret"));
}

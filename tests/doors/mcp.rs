//! The fleet as a server of the Model Context Protocol, used by the official Python SDK.

use std::process::{Output, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::{
    fleet::Fleet,
    gateway::{CALLER, Gateway, KEY, KEY_OF_CLERK},
    patience::{WITHIN, until},
    support::foreign::{
        need,
        python::{MCP, Python},
        python_with,
    },
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doors/mcp_client.py");

/// The version in which there are no sessions, and the last in which there were.
pub(crate) const MODES: [(&str, &str); 2] = [("auto", "2026-07-28"), ("legacy", "2025-11-25")];

const CLERK: (&str, &str) = (
    "clerk",
    r#"
        description = "Writes letters"
        actions = ["write", { name = "sign", approval = true }]
        [model]
        provider = "simulated"
        answer = "Written: {prompt}"
        latency = "50ms"
        [[model.rules]]
        when = "fail"
        errors = ["400"]
        [[model.rules]]
        when = "at length"
        latency = "5m"
    "#,
);
const TELLER: (&str, &str) = (
    "teller",
    r#"
        stream = true
        [model]
        provider = "simulated"
        answer = "one two three four"
        latency = "2s"
        word_latency = "300ms"
    "#,
);

/// Servers with both targets and a worker, and a Python that can ask.
pub(crate) struct Doors {
    pub(crate) fleet: Fleet,
    python: Python,
    _worker: crate::worker::Worker,
}

impl Doors {
    /// None on a machine that has no such Python.
    pub(crate) async fn open() -> Option<Self> {
        let python = need(python_with(&MCP).await)?;
        let fleet = Fleet::of(&[CLERK, TELLER]).await;
        fleet.allow(CALLER, &["clerk", "teller"]);
        let worker = fleet.worker("w1").await;
        Some(Self {
            fleet,
            python,
            _worker: worker,
        })
    }

    async fn gateway(&self, name: &str) -> Gateway {
        Gateway::start(name, &self.fleet, &[]).await
    }

    /// A client that does as it is told at these gateways.
    fn client(&self, gateways: &[&Gateway], key: &str, mode: &str, told: &Value) -> Command {
        let urls: Vec<_> = gateways.iter().map(|it| it.url("/mcp")).collect();
        let mut asked = json!({"urls": urls, "headers": {"X-API-Key": key}, "mode": mode});
        let told = told.as_object().expect("an object").clone();
        asked.as_object_mut().expect("an object").extend(told);
        let mut command = Command::from(self.python.command());
        command
            .arg(SCRIPT)
            .arg(asked.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// How such a client ends.
    pub(crate) async fn ended(
        &self,
        gateways: &[&Gateway],
        key: &str,
        mode: &str,
        told: &Value,
    ) -> Output {
        let ended = self.client(gateways, key, mode, told).output();
        // A Python on a busy machine takes its time to begin.
        let ended = timeout(WITHIN * 4, ended).await;
        ended.expect("the client ends").expect("a client")
    }

    /// What such a client prints.
    pub(crate) async fn told(
        &self,
        gateways: &[&Gateway],
        key: &str,
        mode: &str,
        told: Value,
    ) -> Value {
        let ended = self.ended(gateways, key, mode, &told).await;
        let (output, errors) = (
            String::from_utf8_lossy(&ended.stdout),
            String::from_utf8_lossy(&ended.stderr),
        );
        assert!(ended.status.success(), "{told}: {output}{errors}");
        serde_json::from_str(&output).expect("JSON")
    }

    async fn call(&self, at: &[&Gateway], mode: &str, tool: &str, arguments: Value) -> Value {
        let call = json!({"do": "call", "tool": tool, "arguments": arguments});
        self.told(at, KEY, mode, call).await
    }

    /// A client that goes on, and the execution of which it was told first.
    async fn begun(&self, at: &[&Gateway], mode: &str, told: &Value) -> (Child, String) {
        let client = self.client(at, KEY, mode, told).spawn();
        let mut client = client.expect("a client");
        let mut lines = BufReader::new(client.stdout.take().expect("its output")).lines();
        let first = timeout(WITHIN * 4, lines.next_line()).await;
        let first = first.expect("progress").expect("text").expect("a line");
        let progress: Value = serde_json::from_str(&first).expect("JSON");
        let execution = execution_in(&json!([progress])).to_owned();
        (client, execution)
    }

    /// Waits until `puruto status` says that the request ended so; the code of its error.
    async fn ended_with(&self, request: &str) -> String {
        let what = format!("{request} has ended");
        until(&what, async || {
            let status = self.fleet.puruto(&["status", request]).await.json();
            let code = status.pointer("/result/error/code")?.as_str()?;
            Some(code.to_owned())
        })
        .await
    }
}

/// The id in the first notification of progress.
pub(crate) fn execution_in(progress: &Value) -> &str {
    let first = progress[0].as_str().or_else(|| progress[0][1].as_str());
    let id = first.and_then(|it| it.strip_prefix("accepted as execution "));
    id.unwrap_or_else(|| panic!("no execution is named first: {progress}"))
}

#[tokio::test]
async fn what_a_caller_may_ask_is_a_tool_to_it_and_a_call_is_an_execution() {
    let Some(doors) = Doors::open().await else {
        return;
    };
    let gateway = doors.gateway("g1").await;
    for (mode, version) in MODES {
        let listed = doors
            .told(&[&gateway], KEY, mode, json!({"do": "list"}))
            .await;
        assert_eq!(listed["version"], version);
        let tools = listed["tools"].as_array().expect("tools");
        let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["clerk__sign", "clerk__write", "teller"]);
        assert_eq!(tools[1]["title"], "clerk: write");
        assert_eq!(tools[1]["inputSchema"]["required"], json!(["prompt"]));

        let told = doors
            .call(
                &[&gateway],
                mode,
                "clerk__write",
                json!({"prompt": "Dear all"}),
            )
            .await;
        let result = &told["result"];
        assert_eq!(result["content"][0]["text"], "Written: Dear all", "{told}");
        assert_eq!(result["structuredContent"]["summary"], "Written: Dear all");
        assert_eq!(result["isError"], false);
        let progress = told["progress"].as_array().expect("progress");
        let numbers: Vec<_> = progress.iter().map(|it| it[0].as_f64()).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{told}");
        let execution = execution_in(&told["progress"]);
        assert_eq!(result["_meta"]["execution_id"], execution);
        let status = doors.fleet.puruto(&["status", execution]).await.json();
        assert_eq!(status["result"]["result"]["summary"], "Written: Dear all");
    }
}

#[tokio::test]
async fn an_answer_is_told_piece_by_piece_as_progress() {
    let Some(doors) = Doors::open().await else {
        return;
    };
    let gateway = doors.gateway("g1").await;
    for (mode, _) in MODES {
        let asked = json!({"action": "tell", "prompt": "Count"});
        let told = doors.call(&[&gateway], mode, "teller", asked).await;
        let progress = told["progress"].as_array().expect("progress");
        let pieces = progress.iter().filter_map(|it| it[1].as_str());
        let pieces: Vec<_> = pieces.skip_while(|it| !it.starts_with("one")).collect();
        assert!(pieces.len() > 1, "not all at once: {told}");
        assert!("one two three four".starts_with(&pieces.concat()), "{told}");
        assert_eq!(told["result"]["content"][0]["text"], "one two three four");
    }
}

#[tokio::test]
async fn a_call_that_fails_is_told_with_its_code_and_a_wrong_one_as_what_it_is() {
    let Some(doors) = Doors::open().await else {
        return;
    };
    let gateway = doors.gateway("g1").await;
    for (mode, _) in MODES {
        let call = async |tool, arguments| doors.call(&[&gateway], mode, tool, arguments).await;
        let failed = call("clerk__write", json!({"prompt": "fail"})).await;
        let error = &failed["result"]["structuredContent"]["error"];
        assert_eq!(failed["result"]["isError"], true, "{failed}");
        assert_eq!(error["code"], "IPC_ERROR");
        assert!(failed["result"]["_meta"]["execution_id"].is_string());

        let late = json!({"prompt": "at length", "timeout_sec": 1});
        let late = call("clerk__write", late).await;
        let text = late["result"]["content"][0]["text"].as_str().expect("text");
        assert!(text.starts_with("TIMEOUT: "), "{late}");

        let wrong = call("clerk__write", json!({"promt": "Dear all"})).await;
        let error = &wrong["result"]["structuredContent"]["error"];
        assert_eq!(error["code"], "VALIDATION_ERROR", "{wrong}");
        assert_eq!(error["details"]["violations"][0]["field"], "prompt");

        let unknown = call("clerk__burn", json!({"prompt": "it"})).await;
        assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
        assert_eq!(unknown["error"]["message"], "Unknown tool: clerk__burn");
    }
}

#[tokio::test]
async fn a_client_that_gives_up_cancels_its_call_whichever_gateway_hears_of_it() {
    let Some(doors) = Doors::open().await else {
        return;
    };
    let (first, second) = (doors.gateway("g1").await, doors.gateway("g2").await);
    for (mode, _) in MODES {
        let gives_up = json!({
            "do": "cancel", "tool": "clerk__write", "arguments": {"prompt": "at length"},
        });
        let (_client, execution) = doors.begun(&[&first, &second], mode, &gives_up).await;
        let code = doors.ended_with(&execution).await;
        assert_eq!(code, "CANCELLED", "{mode}");
    }
}

#[tokio::test]
async fn any_of_two_gateways_answers_the_next_request() {
    let Some(doors) = Doors::open().await else {
        return;
    };
    let (first, second) = (doors.gateway("g1").await, doors.gateway("g2").await);
    for (mode, _) in MODES {
        let both = [&first, &second];
        let told = doors
            .call(&both, mode, "clerk__write", json!({"prompt": "A"}))
            .await;
        assert_eq!(told["result"]["content"][0]["text"], "Written: A", "{told}");
    }
}

#[tokio::test]
async fn a_call_survives_its_gateway_however_that_ends() {
    let Some(doors) = Doors::open().await else {
        return;
    };
    for signal in [Signal::KILL, Signal::TERM] {
        let gateway = doors.gateway("g1").await;
        let begin = json!({
            "do": "begin", "tool": "teller", "arguments": {"action": "tell", "prompt": "Count"},
        });
        let (_client, execution) = doors.begun(&[&gateway], "auto", &begin).await;

        gateway.end(signal).await;

        let what = format!("{execution} has its result");
        let result = until(&what, async || {
            let status = doors.fleet.puruto(&["status", &execution]).await.json();
            let result = status.pointer("/result")?.clone();
            (!result.is_null()).then_some(result)
        });
        assert_eq!(result.await["result"]["summary"], "one two three four");
    }
}

#[tokio::test]
async fn nobody_gets_in_without_a_key_and_a_key_opens_what_it_is_for() {
    let Some(doors) = Doors::open().await else {
        return;
    };
    let issuer = ("PURUTO_GATEWAY__OAUTH_ISSUER", "http://127.0.0.1:1/realm");
    let audience = ("PURUTO_GATEWAY__OAUTH_AUDIENCE", "fleet");
    let gateway = Gateway::start("g1", &doors.fleet, &[issuer, audience]).await;
    let listed = doors
        .told(&[&gateway], KEY_OF_CLERK, "auto", json!({"do": "list"}))
        .await;
    let tools = listed["tools"].as_array().expect("tools");
    assert!(tools.iter().all(|it| {
        it["title"]
            .as_str()
            .is_some_and(|it| it.starts_with("clerk"))
    }));

    let head = "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let post = async |more: &str| {
        gateway
            .ask("POST", "/mcp", &format!("{head}{more}"), &ping)
            .await
    };
    let place = gateway.url("/.well-known/oauth-protected-resource/mcp");
    for wrong in [
        "",
        "X-API-Key: guess\r\n",
        "Authorization: Bearer x.y.z\r\n",
    ] {
        let refused = post(wrong).await;
        assert_eq!(refused.status, 401, "{wrong} {refused:?}");
        let challenge = refused.header("WWW-Authenticate").expect("a challenge");
        assert!(
            challenge.contains(&format!("resource_metadata=\"{place}\"")),
            "{challenge}"
        );
    }
    let good = format!("X-API-Key: {KEY}\r\n");
    assert_eq!(post(&good).await.status, 200);
    for elsewhere in ["Origin: http://evil.example\r\n", "Host: evil.example\r\n"] {
        assert_eq!(
            post(&format!("{good}{elsewhere}")).await.status,
            403,
            "{elsewhere}"
        );
    }
    let strange = post(&format!("{good}Mcp-Session-Id: 17\r\n")).await;
    assert_eq!(strange.status, 404);

    let metadata = gateway
        .ask("GET", "/.well-known/oauth-protected-resource/mcp", "", "")
        .await;
    let metadata: Value = serde_json::from_str(&metadata.body).expect("JSON");
    assert_eq!(metadata["resource"], gateway.url("/mcp"));
    assert_eq!(metadata["authorization_servers"], json!([issuer.1]));
}

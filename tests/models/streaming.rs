//! Answers that are being written: what comes of the bytes, and of what breaks them.

use std::time::Duration;

use puruto_fleet::runtime::{
    AgentRuntime, CallFailed, ModelAnswer,
    stream::{self, Delta},
};
use serde_json::{Value, json};

use crate::{
    asking::{PLENTY, call, good, runtime, table},
    fault_server::{Deed, FaultServer},
};

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const SAID: &str = "¡Hola, señor! 🦀";

/// What is said while a call runs, and what it ends in.
pub(crate) async fn streamed(
    runtime: &AgentRuntime,
    prompt: &str,
) -> (Vec<Delta>, Result<ModelAnswer, CallFailed>) {
    let (sink, mut tokens) = stream::channel();
    let mut asked = call(prompt, PLENTY);
    asked.model = runtime.model().clone();
    asked.tokens = Some(sink);
    let outcome = runtime.call(&asked).await;
    drop(asked);
    let mut said = Vec::new();
    while let Some(token) = tokens.next().await {
        said.push(token.delta);
    }
    (said, outcome)
}

/// What the reader has in the end: what came since the last restart.
pub(crate) fn shown(said: &[Delta]) -> String {
    let last = said.iter().rposition(|delta| *delta == Delta::Restart);
    let since = said.iter().skip(last.map_or(0, |at| at + 1));
    let content = since.filter_map(|delta| match delta {
        Delta::Content(text) => Some(text.as_str()),
        Delta::Reasoning(_) | Delta::Restart => None,
    });
    content.collect()
}

fn restarts(said: &[Delta]) -> usize {
    said.iter()
        .filter(|delta| **delta == Delta::Restart)
        .count()
}

fn chunk(delta: &Value, finish_reason: &Value) -> Value {
    json!({
        "id": "c-1", "object": "chat.completion.chunk", "model": "m-1-0815",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    })
}

/// An answer in pieces, as its server sends them.
fn events() -> Vec<String> {
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 4, "total_tokens": 9});
    let data = |chunk: Value| format!("data: {chunk}\n\n");
    vec![
        data(chunk(
            &json!({"role": "assistant", "content": ""}),
            &json!(null),
        )),
        data(chunk(
            &json!({"role": "", "content": "¡Hola, "}),
            &json!(""),
        )),
        data(chunk(&json!({"content": "señor! 🦀"}), &json!(null))),
        data(chunk(&json!({}), &json!("stop"))),
        data(json!({"model": "m-1-0815", "choices": [], "usage": usage})),
        "data: [DONE]\n\n".to_owned(),
    ]
}

/// These bytes, in pieces of this size, to the end of the body.
fn stream(text: &str, size: usize) -> Deed {
    let pieces = text.as_bytes().chunks(size);
    let deed = pieces.fold(Deed::send(HEAD), |deed, piece| {
        let head = format!("{:x}\r\n", piece.len());
        deed.and_send([head.as_bytes(), piece, b"\r\n"].concat())
    });
    deed.and_send("0\r\n\r\n")
}

fn cut(text: &str) -> Deed {
    let head = format!("{:x}\r\n", text.len());
    Deed::send(HEAD).and_send(head + text + "\r\n")
}

async fn ask(
    first: Vec<Deed>,
    later: Deed,
) -> (Vec<Delta>, Result<ModelAnswer, CallFailed>, usize) {
    // What falls silent, or only pings, is given up then.
    let limit = if first.is_empty() {
        ""
    } else {
        "request_timeout = \"3s\""
    };
    let server = FaultServer::start(first, later).await;
    let runtime = runtime(&table("openai", &server.base_url(), limit));
    let (said, outcome) = streamed(&runtime, "hello").await;
    (said, outcome, server.requests())
}

#[tokio::test]
async fn an_answer_is_the_same_however_its_events_are_written_and_cut() {
    let plain = events().concat();
    let spelled = [
        plain.clone(),
        plain.replace('\n', "\r\n"),
        plain.replace("data: ", "data:"),
        format!("\u{feff}{plain}"),
        plain.replace("data: {", ": ping\n\nevent: message\nid: 7\ndata: {"),
        plain.replace("\"model\":\"m-1-0815\",", "\ndata: \"model\":\"m-1-0815\","),
        plain.trim_end().to_owned(),
        plain.replace("data: [DONE]\n\n", ""),
    ];
    for text in spelled {
        for size in [1, 7, 4_096] {
            let (said, outcome, requests) = ask(vec![], stream(&text, size)).await;
            let answer = outcome.unwrap_or_else(|failed| panic!("{failed}: {text}"));
            assert_eq!((answer.content.as_str(), requests), (SAID, 1), "{text}");
            assert_eq!(answer.usage.total_tokens, 9, "{text}");
            assert_eq!((shown(&said).as_str(), restarts(&said)), (SAID, 0));
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_starts_again_behind_a_mark() {
    let begun = events()[..3].concat();
    let spoilt = format!(
        "{begun}data: {{\"choices\": [{{\"del\n\n{}",
        events()[3..].concat()
    );
    let failed = format!(
        "{begun}data: {}\n\n",
        json!({"error": {"code": 503, "message": "x"}})
    );
    let pings = cut(&begun).and_repeat("8\r\n: ping\n\n\r\n", Duration::from_millis(50));
    // Of words that come in one piece with what breaks them none is said: nothing is taken back.
    for (broken, marks) in [
        (cut(&begun).then_close(), 1..=1),
        (cut(&begun).then_hang(), 1..=1),
        (pings, 1..=1),
        (stream(&begun, 4_096), 1..=1),
        (cut(&begun).then_reset(), 0..=1),
        (stream(&spoilt, 4_096), 0..=0),
        (stream(&failed, 4_096), 0..=0),
    ] {
        let whole = stream(&events().concat(), 4_096);
        let (said, outcome, requests) = ask(vec![broken], whole).await;
        let answer = outcome.expect("an answer in the end");
        assert_eq!((answer.content.as_str(), requests), (SAID, 2), "{marks:?}");
        assert_eq!(shown(&said), SAID, "{marks:?}");
        assert!(marks.contains(&restarts(&said)), "{said:?}");
    }
}

#[tokio::test]
async fn half_a_stream_is_never_an_answer() {
    let (_, outcome, requests) = ask(vec![], stream(&events()[..3].concat(), 4_096)).await;
    let failed = outcome.expect_err("half an answer");
    assert_eq!(
        (failed.fault.error_type(), failed.attempts),
        ("connection", 4)
    );
    assert_eq!(requests, 4);
}

#[tokio::test]
async fn an_error_instead_of_a_stream_is_the_error_that_it_is() {
    let error = json!({"error": {"code": 429, "message": "later"}}).to_string();
    let limited = Deed::respond(200, "Retry-After: 3600\r\n", &error);
    let (said, outcome, requests) = ask(vec![], limited).await;
    let failed = outcome.expect_err("no time for that");
    assert_eq!((failed.fault.error_type(), requests), ("rate_limited", 1));
    assert_eq!(said, []);

    let (said, outcome, _) = ask(vec![], Deed::json(&good())).await;
    assert_eq!(outcome.expect("a whole answer").content, "hi");
    assert_eq!(shown(&said), "hi");
}

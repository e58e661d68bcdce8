//! What a body can hold under HTTP 200, and what it counts as.

use std::time::Duration;

use puruto_fleet::{contract::ErrorCode, runtime::ModelAnswer};
use serde_json::{Value, json};

use crate::{
    asking::{ask, chat, good, table},
    fault_server::{Deed, FaultServer},
};

/// What a call to this server ends in; it is asked once.
async fn asked_once(provider: &str, deed: Deed) -> Result<ModelAnswer, ErrorCode> {
    let server = FaultServer::start([], deed).await;
    let asked = ask(&table(provider, &server.base_url(), "")).await;
    assert_eq!(server.requests(), 1, "{asked:?}");
    asked.map_err(|failed| failed.fault.code())
}

async fn answered(deed: Deed) -> ModelAnswer {
    asked_once("openai", deed).await.expect("an answer")
}

fn body(text: &str) -> Deed {
    Deed::respond(200, "Content-Type: application/json\r\n", text)
}

#[tokio::test]
async fn json_is_read_whatever_it_is_called() {
    let text = good().to_string();
    for kind in [
        "",
        "text/html",
        "text/event-stream",
        "text/plain; charset=latin-1",
        "🦀/json",
    ] {
        let header = format!("Content-Type: {kind}\r\n");
        let answer = answered(Deed::respond(200, &header, &text)).await;
        assert_eq!(answer.content, "hi", "{kind:?}");
    }
    assert_eq!(answered(Deed::respond(200, "", &text)).await.content, "hi");
    let marked = format!("\u{feff}{text}\r\n");
    assert_eq!(
        answered(body(&marked)).await.content,
        "hi",
        "byte order mark"
    );
}

#[tokio::test]
async fn a_character_split_over_chunks_is_whole_again() {
    let text = chat(&json!({"content": "señor 🦀"})).to_string();
    let mut deed = Deed::send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for byte in text.as_bytes() {
        let mut chunk = b"1\r\n".to_vec();
        chunk.push(*byte);
        chunk.extend(b"\r\n");
        deed = deed.and_send(chunk);
    }
    let answer = answered(
        deed.and_wait(Duration::from_millis(1))
            .and_send("0\r\n\r\n"),
    )
    .await;
    assert_eq!(answer.content, "señor 🦀");
}

#[tokio::test]
async fn what_is_no_json_under_success_is_final() {
    let good = good().to_string();
    let deep = format!("{{\"choices\":{}", "[".repeat(200_000));
    let twice = good.replace(
        "\"content\":\"hi\"",
        "\"content\":\"hi\",\"content\":\"ho\"",
    );
    assert_ne!(twice, good);
    let no_number = good.replace("\"total_tokens\":6", "\"total_tokens\":NaN");
    assert_ne!(no_number, good);
    let beyond = good.replace("\"total_tokens\":6", "\"total_tokens\":1e999");
    for text in [
        "",
        "  \r\n",
        "<html><h1>Welcome to nginx</h1></html>",
        "null",
        "\"hi\"",
        &good[..good.len() - 1],
        &format!("{good}{good}"),
        &deep,
        &twice,
        &no_number,
        &beyond,
    ] {
        let shown = text.get(..80).unwrap_or(text);
        for provider in ["openai", "minimax", "ollama"] {
            let ended = asked_once(provider, body(text)).await;
            assert_eq!(ended, Err(ErrorCode::InvalidResponse), "{provider} {shown}");
        }
    }
    let nothing = Deed::send("HTTP/1.1 204 No Content\r\n\r\n");
    let ended = asked_once("openai", nothing).await;
    assert_eq!(ended, Err(ErrorCode::InvalidResponse));
}

#[tokio::test]
async fn bytes_that_are_no_text_are_final() {
    let text = good().to_string();
    let (before, after) = text.split_once("hi").expect("the content");
    let bytes = [before.as_bytes(), b"\xff\xfe", after.as_bytes()].concat();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len());
    let ended = asked_once("openai", Deed::send([head.as_bytes(), &bytes].concat())).await;
    assert_eq!(ended, Err(ErrorCode::InvalidResponse));
}

#[tokio::test]
async fn a_message_may_say_much_that_nobody_asked_for() {
    for (message, content) in [
        (json!({"role": "", "content": "hi"}), "hi"),
        (
            json!({"content": "hi", "tool_calls": null, "refusal": null}),
            "hi",
        ),
        (json!({"content": "", "reasoning_content": "hm, hm"}), ""),
        (
            json!({"content": [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]}),
            "hi",
        ),
        (
            json!({"content": "hi", "annotations": [], "audio": null, "🦀": [{}]}),
            "hi",
        ),
    ] {
        let answer = answered(Deed::json(&chat(&message))).await;
        assert_eq!(answer.content, content, "{message}");
    }
    let mut echoed = good();
    echoed["choices"][0]["stop_reason"] = 128_009.into();
    echoed["timings"] = json!({"prompt_ms": 1.5});
    assert_eq!(answered(Deed::json(&echoed)).await.content, "hi");
}

#[tokio::test]
async fn a_tool_is_called_with_arguments_as_text_or_as_an_object() {
    for (arguments, text) in [
        (json!("{\"q\": 1}"), "{\"q\": 1}"),
        (json!("{\"q\": "), "{\"q\": "),
        (json!({"q": 1}), "{\"q\":1}"),
    ] {
        let function = json!({"name": "search", "arguments": arguments});
        let calls = json!([{"id": "t-1", "type": "function", "function": function}]);
        let message = json!({"content": null, "tool_calls": calls});
        let mut body: Value = chat(&message);
        body["choices"][0]["finish_reason"] = "tool_calls".into();
        let answer = answered(Deed::json(&body)).await;
        assert_eq!(answer.tool_calls[0].arguments, text);
        assert_eq!(answer.content, "");
    }
}

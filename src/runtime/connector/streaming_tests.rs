//! Streamed answers over real sockets: from servers that stream, that do not, and that break off.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use wiremock::ResponseTemplate;

use super::test_server::{PLENTY, call, runtime, server};
use crate::runtime::{
    CallFailed, ModelAnswer, ModelCall,
    stream::{self, Delta},
};

const SSE: &str = "text/event-stream";
const USAGE: &str = r#"{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}"#;

fn openai(base_url: &str) -> String {
    format!("provider = 'openai'\nbase_url = '{base_url}'\nmodel = 'm-1'\n")
}

fn minimax(base_url: &str) -> String {
    format!("provider = 'minimax'\nbase_url = '{base_url}'\nmodel = 'm-1'\napi_key_env = 'KEY'\n")
}

fn ollama(base_url: &str) -> String {
    format!("provider = 'ollama'\nbase_url = '{base_url}'\nmodel = 'm-1'\n")
}

/// Asks for a streamed answer: what was told of it, and how it ended.
async fn streamed(table: &str) -> (Vec<Delta>, Result<ModelAnswer, CallFailed>) {
    let (sink, mut tokens) = stream::channel();
    let asked = ModelCall {
        tokens: Some(sink),
        ..call(PLENTY)
    };
    let runtime = runtime(table);
    let asking = async move { runtime.call(&asked).await };
    let hearing = async {
        let mut told = Vec::new();
        while let Some(token) = tokens.next().await {
            told.push(token.delta);
        }
        told
    };
    let (answer, told) = tokio::join!(asking, hearing);
    (told, answer)
}

/// What was said since the answer last started.
fn content(told: &[Delta]) -> String {
    let last = told.rsplit(|delta| *delta == Delta::Restart).next();
    let texts = last.into_iter().flatten().map(|delta| match delta {
        Delta::Content(text) => text.as_str(),
        Delta::Reasoning(_) | Delta::Restart => "",
    });
    texts.collect()
}

fn said(text: &str) -> String {
    let chunk = json!({"model": "m-1", "choices": [{"delta": {"content": text}}]});
    format!("data: {chunk}\n\n")
}

fn stopped() -> String {
    format!(
        "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}],\"usage\":{USAGE}}}\n\n"
    )
}

fn sse(body: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body.to_owned(), SSE)
}

/// A server that writes each of these answers to one connection after the other and closes it.
async fn raw(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut question = Vec::new();
            // The question is one line of JSON, which ends with the object.
            while !question.ends_with(b"}") {
                let read = stream.read_buf(&mut question).await;
                assert_ne!(read.expect("a question"), 0);
            }
            stream.write_all(answer.as_bytes()).await.expect("written");
        }
    });
    format!("http://{address}")
}

/// The head of a chunked answer, and one chunk for each part.
fn chunked(parts: &[String]) -> String {
    let chunks = parts
        .iter()
        .map(|part| format!("{:x}\r\n{part}\r\n", part.len()));
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {SSE}\r\nTransfer-Encoding: chunked\r\n\r\n");
    head + &chunks.collect::<String>()
}

fn whole(parts: &[String]) -> String {
    chunked(parts) + "0\r\n\r\n"
}

#[tokio::test]
async fn a_provider_is_asked_to_stream_and_to_count_only_when_someone_listens() {
    let body = [said("Hello"), stopped()].concat();
    let server = server([], sse(&body)).await;
    for (table, options) in [
        (openai(&server.uri()), json!({"include_usage": true})),
        (openai(&server.uri()) + "stream_usage = false", Value::Null),
        (minimax(&server.uri()), Value::Null),
        (
            minimax(&server.uri()) + "route = 'openai'",
            json!({"include_usage": true}),
        ),
    ] {
        let (told, answer) = streamed(&table).await;
        assert_eq!(content(&told), "Hello", "{table}");
        assert_eq!(answer.expect("an answer").content, "Hello");
        let asked = server.received_requests().await.expect("recorded");
        let asked: Value = asked.last().expect("one").body_json().expect("JSON");
        assert_eq!(
            (&asked["stream"], &asked["stream_options"]),
            (&json!(true), &options)
        );
    }
    drop(runtime(&openai(&server.uri())).call(&call(PLENTY)).await);
    let asked = server.received_requests().await.expect("recorded");
    let asked: Value = asked.last().expect("one").body_json().expect("JSON");
    assert_eq!(
        (&asked["stream"], &asked["stream_options"]),
        (&json!(false), &Value::Null)
    );
}

#[tokio::test]
async fn ollama_streams_lines_longer_in_all_than_a_whole_answer_may_be() {
    let word = json!({"model": "m-1", "message": {"content": "word "}, "done": false});
    let last = json!({"model": "m-1", "done": true, "done_reason": "stop",
        "prompt_eval_count": 1, "eval_count": 2_000});
    let body = format!("{word}\n").repeat(2_000) + &format!("{last}\n");
    assert!(body.len() > 100_000);
    let lines = ResponseTemplate::new(200).set_body_raw(body, "application/x-ndjson");
    let server = server([], lines).await;
    let (told, answer) = streamed(&ollama(&server.uri())).await;
    assert_eq!(content(&told), "word ".repeat(2_000));
    assert_eq!(answer.expect("an answer").usage.completion_tokens, 2_000);
}

#[tokio::test]
async fn a_server_that_answers_whole_is_understood_whatever_it_calls_that() {
    let whole = format!(
        r#"{{"model":"m-1","choices":[{{"message":{{"content":"Hello"}},"finish_reason":"stop"}}],"usage":{USAGE}}}"#
    );
    for called in [SSE, "application/json", "text/plain"] {
        let answered = ResponseTemplate::new(200).set_body_raw(whole.clone(), called);
        let server = server([], answered).await;
        for table in [openai(&server.uri()), minimax(&server.uri())] {
            let (told, answer) = streamed(&table).await;
            assert_eq!(content(&told), "Hello", "{called}");
            assert_eq!(answer.expect("an answer").content, "Hello");
        }
    }
}

#[tokio::test]
async fn a_refusal_is_what_it_is_when_nothing_is_streamed() {
    let refused = ResponseTemplate::new(401).set_body_string("<html>");
    let server = server([], refused).await;
    for table in [
        openai(&server.uri()),
        minimax(&server.uri()),
        ollama(&server.uri()),
    ] {
        let (told, answer) = streamed(&table).await;
        assert_eq!(
            (told, answer.expect_err("refused").fault.error_type()),
            (vec![], "auth")
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_is_asked_for_again_behind_a_mark() {
    let cuts = [
        // In the middle of the chunks.
        chunked(&[said("Hel")]),
        // In the middle of one.
        chunked(&[said("Hel"), stopped()]).replace("finish_reason", ""),
        // Where the body says that it ends.
        whole(&[said("Hel")]),
        // In the middle of an event.
        whole(&[said("Hel"), "data: {\"choi".to_owned()]),
        // With an error.
        whole(&[
            said("Hel"),
            "data: {\"error\":{\"code\":503}}\n\n".to_owned(),
        ]),
        whole(&[said("Hel"), stopped().replace("stop", "abort")]),
    ];
    for cut in cuts {
        let then = whole(&[said("Hello"), stopped(), "data: [DONE]\n\n".to_owned()]);
        let address = raw(vec![cut.clone(), then]).await;
        let (told, answer) = streamed(&openai(&address)).await;
        let answer = answer.unwrap_or_else(|failed| panic!("{failed}: {cut}"));
        assert_eq!(answer.content, "Hello");
        assert!(told.contains(&Delta::Restart), "{told:?} {cut}");
        assert_eq!(content(&told), "Hello");
    }
}

#[tokio::test]
async fn an_answer_that_is_whole_needs_no_end() {
    let address = raw(vec![chunked(&[said("Hello"), stopped()])]).await;
    let (_, answer) = streamed(&openai(&address)).await;
    assert_eq!(answer.expect("an answer").content, "Hello");
}

#[tokio::test]
async fn a_server_that_was_not_asked_to_count_is_counted_for() {
    let stopped = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let body = [said("Hello you"), stopped.to_owned()].concat();
    let server = server([], sse(&body)).await;
    let table = openai(&server.uri());
    let (_, answer) = streamed(&table).await;
    assert_eq!(
        answer.expect_err("no usage").fault.error_type(),
        "contract_violation"
    );
    let (_, answer) = streamed(&(table + "stream_usage = false")).await;
    let answer = answer.expect("an estimate");
    assert_eq!(answer.usage.completion_tokens, 3);
    assert_eq!(answer.metadata["usage_estimated"], true);
}

#[tokio::test]
async fn the_first_word_is_told_before_the_last_is_written() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let (sink, mut tokens) = stream::channel();
    let asked = ModelCall {
        tokens: Some(sink),
        ..call(PLENTY)
    };
    let runtime = runtime(&openai(&address));
    let asking = tokio::spawn(async move { runtime.call(&asked).await });
    let (mut stream, _) = listener.accept().await.expect("a connection");
    let first = chunked(&[said("Hel")]);
    stream.write_all(first.as_bytes()).await.expect("written");
    let heard = tokio::time::timeout(PLENTY, tokens.next()).await;
    let heard = heard.expect("in time").expect("a word");
    assert_eq!(heard.delta, Delta::Content("Hel".to_owned()));
    let rest = whole(&[said("lo"), stopped()]);
    let (_, rest) = rest.split_once("\r\n\r\n").expect("a head");
    stream.write_all(rest.as_bytes()).await.expect("written");
    let answer = tokio::time::timeout(Duration::from_secs(30), asking).await;
    let answer = answer
        .expect("in time")
        .expect("no panic")
        .expect("an answer");
    assert_eq!(answer.content, "Hello");
}

//! Answers that are told while they are being written: to foreign clients and to `puruto invoke`.

use serde_json::{Value, json};

use crate::{
    by_hand::Follower,
    fleet::Fleet,
    support::foreign::{nats_cli, need},
    terminal::Ended,
    wire::{Heard, json_of, place_of, request},
};

/// Says four words, slowly enough to be heard one by one; some prompts break it off.
const TELLER: (&str, &str) = (
    "teller",
    r#"
        stream = true
        [model]
        provider = "simulated"
        answer = "one two three four"
        reasoning = "well"
        word_latency = "200ms"
        [[model.rules]]
        when = "break off"
        errors = ["cut 2"]
        [[model.rules]]
        when = "fail"
        errors = ["cut 1", "400"]
        [[model.rules]]
        when = "at length"
        word_latency = "2s"
    "#,
);
const CLERK: (&str, &str) = ("clerk", "[model]\nprovider = \"simulated\"");

/// What is told until the answer is whole; the indices have no gap.
async fn until_whole(heard: &mut Heard) -> Vec<Value> {
    let mut told = Vec::new();
    loop {
        let message = json_of(&heard.next().await.payload);
        assert_eq!(message["index"], told.len(), "{told:?} {message}");
        let whole = message["done"] == true;
        told.push(message);
        if whole {
            return told;
        }
    }
}

/// What was told under this key since the answer last started, put together.
fn said(told: &[Value], key: &str) -> String {
    let last = told.split(|message| message["restart"] == true).next_back();
    let texts = last.into_iter().flatten();
    texts.filter_map(|message| message[key].as_str()).collect()
}

/// Each line as JSON; the last one is the result.
fn lines(ended: &Ended) -> (Vec<Value>, Value) {
    let lines = ended.output.lines();
    let mut lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let result = lines.pop().expect("a result");
    (lines, result)
}

#[tokio::test]
async fn an_answer_is_told_word_by_word_before_its_result() {
    let fleet = Fleet::of(&[TELLER]).await;
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let asked = request("r-1", "teller", "Hello");
    let mut heard = wire.listen("puruto.token.chain-r-1.r-1").await;

    wire.ask(&asked).await;
    let told = until_whole(&mut heard).await;
    let result = json_of(&wire.result(&asked).await.payload);

    assert_eq!(told[0], json!({"index": 0, "reasoning": "well"}));
    let words = told.iter().filter(|it| it["content"].is_string());
    assert!(words.count() > 1, "not all at once: {told:?}");
    assert_eq!(
        said(&told, "content"),
        result["result"]["output"]["content"]
    );
    let reasoning_chars = &result["result"]["output"]["metadata"]["reasoning_chars"];
    assert_eq!(*reasoning_chars, said(&told, "reasoning").len());
    assert!(heard.nothing_more(&wire).await);
}

#[tokio::test]
async fn whoever_subscribes_with_nats_sees_the_words_pass_and_then_the_result() {
    let fleet = Fleet::of(&[TELLER]).await;
    let Some(nats) = need(nats_cli(&fleet.servers.nats.url()).await) else {
        return;
    };
    let _worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut follower = Follower::begin(&nats, &wire).await;
    let asked = request("r-1", "teller", "Hello");

    wire.ask(&asked).await;

    follower.until("puruto.token.chain-r-1.r-1").await;
    follower.until("\"content\":\"one ").await;
    follower.until("\"done\":true").await;
    follower.until(&place_of(&asked)).await;
}

#[tokio::test]
async fn invoke_prints_the_words_as_they_come_and_the_result_once() {
    let fleet = Fleet::of(&[TELLER, CLERK]).await;
    let _worker = fleet.worker("w1").await;

    let streamed = ["invoke", "--stream", "teller", "do", "Hello"];
    let (told, result) = lines(&fleet.puruto(&streamed).await);
    let whole = ["invoke", "--stream", "clerk", "do", "Hello"];
    let whole = fleet.puruto(&whole).await;

    assert_eq!(said(&told, "content"), "one two three four");
    assert_eq!(told.last().map(|it| &it["done"]), Some(&json!(true)));
    assert_eq!(result["result"]["summary"], "one two three four");
    assert_eq!(
        whole.json()["result"]["summary"],
        "Hello",
        "it tells nothing"
    );
}

#[tokio::test]
async fn an_answer_that_was_cut_starts_again_behind_a_mark_and_is_whole_in_the_end() {
    let fleet = Fleet::of(&[TELLER]).await;
    let _worker = fleet.worker("w1").await;

    let cut = ["invoke", "--stream", "teller", "do", "break off"];
    let (told, result) = lines(&fleet.puruto(&cut).await);
    let failed = ["invoke", "--stream", "teller", "do", "fail"];
    let failed = fleet.puruto(&failed).await;

    let marks = told.iter().filter(|it| it["restart"] == true).count();
    assert_eq!(marks, 1, "{told:?}");
    assert_eq!(said(&told, "content"), "one two three four");
    assert_eq!(result["result"]["output"]["content"], "one two three four");
    let (told, result) = lines(&failed);
    assert_eq!((failed.code, &result["status"]), (1, &json!("error")));
    assert!(told.iter().all(|it| it["done"].is_null()), "{told:?}");
}

#[tokio::test]
async fn a_second_worker_says_first_that_the_answer_starts_again() {
    let fleet = Fleet::of(&[TELLER]).await.with_quick_take_over();
    let first = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let mut heard = wire.listen("puruto.token.>").await;
    let asked = request("r-1", "teller", "Tell it at length");

    wire.ask(&asked).await;
    let begun = json_of(&heard.next().await.payload);
    first.kill().await;
    let _second = fleet.worker("w2").await;
    let again = loop {
        let message = json_of(&heard.next().await.payload);
        if message["index"] == 0 {
            break message;
        }
    };

    assert_eq!(begun, json!({"index": 0, "reasoning": "well"}));
    assert_eq!(again, json!({"index": 0, "restart": true}));
}

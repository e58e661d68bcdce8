//! Streamed answers of a scripted model, on a paused clock.

use std::sync::Arc;

use super::{
    tests::{HOUR, call, runtime},
    *,
};
use crate::runtime::stream::{self, Delta, Token};

/// Asks for a streamed answer and writes down what comes, and when.
async fn streamed(script: &str) -> (Vec<(u64, Delta)>, Result<ModelAnswer, CallFailed>) {
    let runtime = runtime(script, &Arc::default());
    let (sink, mut tokens) = stream::channel();
    let asking = async {
        let asked = ModelCall {
            tokens: Some(sink),
            ..call("pay", HOUR)
        };
        runtime.call(&asked).await
    };
    let reading = async {
        let began = Instant::now();
        let mut read = Vec::new();
        while let Some(Token { index, delta }) = tokens.next().await {
            assert_eq!(index, read.len() as u64, "no gap");
            let at = began.elapsed().as_millis();
            read.push((u64::try_from(at).expect("soon"), delta));
        }
        read
    };
    let (answer, read) = tokio::join!(asking, reading);
    (read, answer)
}

fn content(text: &str) -> Delta {
    Delta::Content(text.to_owned())
}

#[tokio::test(start_paused = true)]
async fn an_answer_comes_word_by_word_behind_what_the_model_thinks() {
    let script = "answer = \"you said {prompt}\"\nreasoning = \"hm well\"\n\
                  latency = \"100ms\"\nword_latency = \"10ms\"";
    let (read, answer) = streamed(script).await;
    let thought = |text: &str| Delta::Reasoning(text.to_owned());
    let expected = [
        (100, thought("hm ")),
        (110, thought("well")),
        (120, content("you ")),
        (130, content("said ")),
        (140, content("pay")),
    ];
    assert_eq!(read, expected);
    let answer = answer.expect("an answer");
    assert_eq!(answer.content, "you said pay");
    assert_eq!(answer.metadata["reasoning_chars"], 7);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_cut_is_tried_again_behind_a_mark() {
    let script = "answer = \"one two three\"\nerrors = [\"503\", \"cut 2\"]";
    let (read, answer) = streamed(script).await;
    let deltas: Vec<Delta> = read.into_iter().map(|(_, delta)| delta).collect();
    let again = [
        content("one two "),
        Delta::Restart,
        content("one two three"),
    ];
    assert_eq!(
        deltas, again,
        "and no mark for the 503, which came before any word"
    );
    assert_eq!(answer.expect("an answer").content, "one two three");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_always_cut_is_an_error() {
    let script = "answer = \"one two\"\nerrors = [\"cut 1\", \"cut 1\", \"cut 1\", \"cut 1\"]";
    let (read, answer) = streamed(script).await;
    assert_eq!(read.last().map(|it| &it.1), Some(&content("one ")));
    let failed = answer.expect_err("cut four times");
    assert_eq!(
        (failed.attempts, failed.fault.error_type()),
        (4, "connection")
    );
}

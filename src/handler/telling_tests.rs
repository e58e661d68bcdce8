//! What listeners hear of an execution, and what they never hold up.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::*;
use crate::contract::{Draft, MintedIds};

/// Writes down what they are told; each message takes as long as it is told to.
#[derive(Debug, Default)]
struct Heard {
    messages: Mutex<Vec<TokenMessage>>,
    takes: Duration,
}

impl Heard {
    fn all(&self) -> Vec<TokenMessage> {
        let messages = self.messages.lock();
        messages.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn says(&self) -> Vec<Says> {
        let numbered = self.all().into_iter().enumerate();
        let says = numbered.map(|(place, message)| {
            assert_eq!(message.index, place as u64, "no gap");
            message.says
        });
        says.collect()
    }
}

impl Listeners for Heard {
    fn tell<'t>(
        &'t self,
        _: &'t InvocationRequest,
        message: TokenMessage,
    ) -> BoxFuture<'t, Result<(), Untold>> {
        Box::pin(async move {
            sleep(self.takes).await;
            let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
            messages.push(message);
            Ok(())
        })
    }
}

fn context(attempt: u32, heard: &Arc<Heard>) -> Context {
    let body = json!({"target": "t", "action": "a", "prompt": "p"}).to_string();
    let draft = Draft::parse(body.as_bytes()).expect("valid");
    let request = draft.complete(MintedIds::of_message("S", 1, 1));
    Context {
        attempt: Attempt::new(attempt),
        listeners: Arc::<Heard>::clone(heard),
        ..Context::bare(Arc::new(request), Instant::now() + Duration::from_secs(60))
    }
}

fn content(text: &str) -> Says {
    Says::Content(text.to_owned())
}

/// Says some words, a second apart, and ends as told.
async fn speak(sink: TokenSink, words: &[&str], end: Result<(), ()>) -> Result<(), ()> {
    for word in words {
        sink.emit(Delta::Content((*word).to_owned()));
        sleep(Duration::from_secs(1)).await;
    }
    end
}

#[tokio::test(start_paused = true)]
async fn listeners_hear_each_word_and_that_the_answer_is_whole() {
    let heard = Arc::new(Heard::default());
    let context = context(1, &heard);
    let (sink, telling) = Telling::of(&context);
    let outcome = telling.during(speak(sink, &["a", "b"], Ok(()))).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(heard.says(), [content("a"), content("b"), Says::Done(True)]);
}

#[tokio::test(start_paused = true)]
async fn a_later_execution_voids_first_what_an_earlier_one_told() {
    let heard = Arc::new(Heard::default());
    let context = context(2, &heard);
    let (sink, telling) = Telling::of(&context);
    let outcome = telling.during(speak(sink, &["a"], Err(()))).await;
    assert_eq!(outcome, Err(()));
    assert_eq!(
        heard.says(),
        [Says::Restart(True), content("a")],
        "and it is not whole"
    );
}

#[tokio::test(start_paused = true)]
async fn slow_listeners_hold_no_answer_up_and_hear_longer_pieces() {
    let heard = Arc::new(Heard {
        takes: Duration::from_millis(2_500),
        ..Heard::default()
    });
    let context = context(1, &heard);
    let (sink, telling) = Telling::of(&context);
    let began = Instant::now();
    let words = ["a", "b", "c", "d", "e"];
    let outcome = telling.during(speak(sink, &words, Ok(()))).await;
    assert_eq!(outcome, Ok(()));
    assert!(began.elapsed() <= Duration::from_secs(5) + REST_WAIT);
    assert_eq!(
        heard.says(),
        [content("a"), content("bc")],
        "and the rest came too late"
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_told_for_a_request_that_was_dropped() {
    let heard = Arc::new(Heard::default());
    let context = context(1, &heard);
    let (sink, telling) = Telling::of(&context);
    let dropped = timeout(
        Duration::from_millis(1_500),
        telling.during(speak(sink, &["a", "b", "c"], Ok(()))),
    );
    assert!(dropped.await.is_err());
    sleep(Duration::from_secs(60)).await;
    assert_eq!(heard.says(), [content("a"), content("b")]);
}

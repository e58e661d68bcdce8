//! The way of deltas from a model call to their reader.
//!
//! The call never waits for the reader. Text that has not been taken yet is joined with what
//! follows it, so a slow reader gets fewer and longer pieces and loses none; what waits is at most
//! one attempt's answer, which the body's cap bounds. Never: a task.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::{Delta, Token};

/// Longest text of one delta, in bytes: written as JSON, where a byte may become six, it still
/// fits every broker's message.
pub const TEXT_BYTES_MAX: usize = 8 * 1024;

/// A way for the deltas of one model call.
#[must_use]
pub fn channel() -> (TokenSink, Tokens) {
    let shared = Arc::new(Shared::default());
    let sink = TokenSink(Arc::new(Writer(Arc::clone(&shared))));
    (sink, Tokens { shared, index: 0 })
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Delta>,
    /// Something was said that another attempt would say again.
    begun: bool,
    attempt_at: Option<Instant>,
    to_first: Option<Duration>,
    /// No sink is left.
    ended: bool,
    /// No reader is left.
    unheard: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a model call puts its deltas. Clones share it; the stream ends with the last of them.
#[derive(Clone)]
pub struct TokenSink(Arc<Writer>);

struct Writer(Arc<Shared>);

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.state().ended = true;
        self.0.changed.notify_one();
    }
}

impl fmt::Debug for TokenSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSink")
    }
}

impl TokenSink {
    /// An attempt begins. If earlier ones said anything it is void now, which the reader is told.
    pub fn begin(&self) {
        self.change(|state| {
            state.attempt_at = Some(Instant::now());
            state.to_first = None;
            if state.begun {
                state.emit(Delta::Restart);
            }
        });
    }

    /// Passes a delta on; never waits.
    pub fn emit(&self, delta: Delta) {
        self.change(|state| state.emit(delta));
    }

    /// How long the latest attempt took to its first text; `None` before there is one.
    #[must_use]
    pub fn time_to_first(&self) -> Option<Duration> {
        self.0.0.state().to_first
    }

    fn change(&self, act: impl FnOnce(&mut State)) {
        act(&mut self.0.0.state());
        self.0.0.changed.notify_one();
    }
}

impl State {
    fn emit(&mut self, delta: Delta) {
        let (kind, text): (fn(String) -> Delta, _) = match delta {
            // What nobody has seen need not be taken back.
            Delta::Restart => {
                self.begun = false;
                self.waiting.clear();
                return self.waiting.push_back(Delta::Restart);
            }
            Delta::Content(text) => (Delta::Content, text),
            Delta::Reasoning(text) => (Delta::Reasoning, text),
        };
        if text.is_empty() {
            return;
        }
        self.begun = true;
        if self.to_first.is_none() {
            self.to_first = self.attempt_at.map(|at| at.elapsed());
        }
        if !self.unheard {
            pieces(&text).for_each(|piece| self.add(kind(piece.to_owned())));
        }
    }

    fn add(&mut self, delta: Delta) {
        match (self.waiting.back_mut(), &delta) {
            (Some(Delta::Content(last)), Delta::Content(text))
            | (Some(Delta::Reasoning(last)), Delta::Reasoning(text))
                if last.len() + text.len() <= TEXT_BYTES_MAX =>
            {
                last.push_str(text);
            }
            _ => self.waiting.push_back(delta),
        }
    }
}

/// `text` cut between characters, each piece as long as one may be.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = rest.len().min(TEXT_BYTES_MAX);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Reads what a model call says, from its first word on.
pub struct Tokens {
    shared: Arc<Shared>,
    index: u64,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tokens(from {})", self.index)
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.unheard = true;
        state.waiting.clear();
    }
}

impl Tokens {
    /// The next delta; `None` when the call is over and everything was taken. Safe to drop and
    /// call again.
    pub async fn next(&mut self) -> Option<Token> {
        loop {
            // The permit of an emission in between is kept, so none is missed.
            if let Some(next) = self.taken() {
                return next;
            }
            self.shared.changed.notified().await;
        }
    }

    /// `None` while there is nothing, `Some(None)` when nothing more comes.
    fn taken(&mut self) -> Option<Option<Token>> {
        let mut state = self.shared.state();
        match state.waiting.pop_front() {
            Some(delta) => {
                let index = self.index;
                self.index += 1;
                Some(Some(Token { index, delta }))
            }
            None => state.ended.then_some(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> Delta {
        Delta::Content(text.to_owned())
    }

    fn reasoning(text: &str) -> Delta {
        Delta::Reasoning(text.to_owned())
    }

    /// Everything that is still to come of a call that is over.
    async fn rest(mut tokens: Tokens) -> Vec<Delta> {
        let mut all = Vec::new();
        while let Some(Token { index, delta }) = tokens.next().await {
            assert_eq!(index, all.len() as u64, "no gap");
            all.push(delta);
        }
        all
    }

    #[tokio::test]
    async fn a_reader_that_keeps_up_gets_each_delta_as_it_was_said() {
        let (sink, mut tokens) = channel();
        for (index, text) in (0..).zip(["a", "b", "c"]) {
            sink.emit(content(text));
            let delta = content(text);
            assert_eq!(tokens.next().await, Some(Token { index, delta }));
        }
        drop(sink);
        assert_eq!(tokens.next().await, None);
    }

    #[tokio::test]
    async fn a_slow_reader_gets_neighbours_of_one_kind_joined_and_loses_nothing() {
        let (sink, tokens) = channel();
        for delta in [
            reasoning("h"),
            reasoning("m"),
            content("a"),
            content(""),
            content("b"),
            reasoning("!"),
        ] {
            sink.emit(delta);
        }
        drop(sink);
        let joined = [reasoning("hm"), content("ab"), reasoning("!")];
        assert_eq!(rest(tokens).await, joined);
    }

    #[tokio::test]
    async fn a_long_text_comes_in_pieces_cut_between_characters() {
        let long = "é".repeat(TEXT_BYTES_MAX);
        let (sink, tokens) = channel();
        sink.emit(content("x"));
        sink.emit(content(&long));
        drop(sink);
        let texts = rest(tokens).await.into_iter().map(|delta| match delta {
            Delta::Content(text) => text,
            other => panic!("no content: {other:?}"),
        });
        let texts: Vec<String> = texts.collect();
        assert!(texts.iter().all(|text| text.len() <= TEXT_BYTES_MAX));
        assert_eq!(texts.concat(), format!("x{long}"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_after_words_were_said_starts_again_and_voids_what_waits() {
        let (sink, mut tokens) = channel();
        sink.begin();
        sink.begin();
        sink.emit(content("seen"));
        assert_eq!(
            tokens.next().await.map(|it| it.delta),
            Some(content("seen"))
        );
        sink.emit(content("not seen"));
        sink.begin();
        sink.begin();
        tokio::time::advance(Duration::from_millis(30)).await;
        sink.emit(content("again"));
        assert_eq!(sink.time_to_first(), Some(Duration::from_millis(30)));
        drop(sink);
        let first = tokens.next().await.expect("a marker");
        assert_eq!((first.index, first.delta), (1, Delta::Restart));
        let last = tokens.next().await.expect("the answer");
        assert_eq!((last.index, last.delta), (2, content("again")));
        assert_eq!(tokens.next().await, None);
    }

    #[tokio::test]
    async fn what_nobody_hears_is_not_kept() {
        let (sink, tokens) = channel();
        drop(tokens);
        sink.emit(content("into the void"));
        assert!(sink.0.0.state().waiting.is_empty());
    }
}

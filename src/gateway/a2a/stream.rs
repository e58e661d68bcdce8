//! A task as it goes on, as server-sent events, each of them an answer to the one call.
//!
//! First the task as it stands, then each of its states and what the agent says while it says it;
//! before the last state the whole answer. Never: a promise that every piece is heard.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::response::{
    IntoResponse as _, Response,
    sse::{self, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use serde_json::Value;

use super::{
    rpc::{CallId, RpcError},
    task::{Piece, TaskState, Told},
    version::Version,
};
use crate::{
    client::Heard,
    contract::Says,
    gateway::{
        executions::{Gone, State, Watched},
        fleet::Tokens,
    },
};

/// A word now and then keeps what is between from taking a stream for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// One stream.
pub(super) struct Telling {
    id: CallId,
    version: Version,
    watched: Arc<Watched>,
    tokens: Box<dyn Tokens>,
    due: VecDeque<Value>,
    told: Option<TaskState>,
    pieces: Pieces,
}

/// How much of the answer was told in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pieces {
    /// Nothing that counts.
    None,
    /// All so far.
    Some,
    /// Something was missed: the rest is of no use until it starts again.
    Broken,
}

impl Telling {
    /// The stream that answers the call `id` with what becomes of `watched`. `tokens` were
    /// subscribed to before it was watched, so that nothing is missed between.
    pub(super) fn new(
        id: CallId,
        version: Version,
        watched: Arc<Watched>,
        tokens: Box<dyn Tokens>,
    ) -> Self {
        Self {
            id,
            version,
            watched,
            tokens,
            due: VecDeque::new(),
            told: None,
            pieces: Pieces::None,
        }
    }

    pub(super) fn into_response(self) -> Response {
        let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
        Sse::new(self.events())
            .keep_alive(keep_alive)
            .into_response()
    }

    fn events(self) -> impl Stream<Item = Result<sse::Event, Infallible>> + Send {
        // One allocation for all that waits, and none while it does.
        stream::unfold(Box::new(self), |mut telling| async move {
            let document = telling.next().await?;
            let event = sse::Event::default().data(document.to_string());
            Some((Ok(event), telling))
        })
    }

    /// The next document; none once the last was told.
    async fn next(&mut self) -> Option<Value> {
        let watched = Arc::clone(&self.watched);
        loop {
            if let Some(document) = self.due.pop_front() {
                return Some(document);
            }
            if self.told.is_some_and(TaskState::is_final) {
                return None;
            }
            let changed = watched.changed();
            match watched.state() {
                Ok(state) => self.turn(&state),
                Err(Gone) => self.end(),
            }
            if self.due.is_empty() {
                tokio::select! {
                    biased;
                    heard = self.tokens.next() => self.hear(heard),
                    () = changed => {}
                }
            }
        }
    }

    /// Says what `state` tells beyond what was told.
    fn turn(&mut self, state: &State) {
        let now = TaskState::of(state);
        let before = self.told.replace(now);
        if before == Some(now) {
            return;
        }
        if before.is_none() {
            self.say(self.words().sent(state));
            return;
        }
        if let Some(answer) = self.words().answered(state) {
            self.say(answer);
        }
        self.say(self.words().turned(state));
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Gap => self.pieces = Pieces::Broken,
            Heard::Says(message) => match message.says {
                Says::Content(text) => self.piece(&text),
                Says::Restart(_) => self.pieces = Pieces::None,
                // What a model thinks is no part of what the agent answers, and the end of an
                // answer is told by its result.
                Says::Reasoning(_) | Says::Done(_) => {}
            },
        }
    }

    fn piece(&mut self, text: &str) {
        let piece = match self.pieces {
            Pieces::Broken => return,
            Pieces::None => Piece::First,
            Pieces::Some => Piece::Next,
        };
        self.pieces = Pieces::Some;
        self.say(self.words().said(text, piece));
    }

    /// Its result is kept no longer: there is nothing more to tell.
    fn end(&mut self) {
        self.due.push_back(self.id.refuse(&RpcError::no_task()));
        self.told = Some(TaskState::Failed);
    }

    fn words(&self) -> Told<'_> {
        Told {
            execution: &self.watched.execution,
            version: self.version,
        }
    }

    fn say(&mut self, result: Value) {
        self.due.push_back(self.id.answer(&result));
    }
}

//! Notifications of progress: what happens to an execution, in words, each with a higher number than
//! the one before.
//!
//! Never: to a client that did not ask; or what the result will say anyway.

use std::time::Duration;

use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::{
    client::Heard,
    contract::{Event, EventKind, Says},
    gateway::{
        executions::{ExecutionStatus, State, Watched},
        fleet::Tokens,
    },
    store::executions::Execution,
};

/// Pieces of an answer are told together that come within so long ...
const WORDS_WITHIN: Duration = Duration::from_millis(100);

/// ... unless there are so many bytes of them.
const WORDS_BYTES: usize = 4 * 1024;

/// A client that asked to be told of progress.
pub(super) struct Progress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    told: u32,
    narrator: Narrator,
    tokens: Box<dyn Tokens>,
    words: Words,
}

impl Progress {
    /// For the client of `context`, if it asked; `tokens` is the answer as it is being written.
    pub(super) fn new(
        context: &RequestContext<RoleServer>,
        token: ProgressToken,
        tokens: Box<dyn Tokens>,
    ) -> Self {
        Self {
            peer: context.peer.clone(),
            token,
            told: 0,
            narrator: Narrator::default(),
            tokens,
            words: Words::default(),
        }
    }

    /// Tells what is new of an execution that stands so.
    pub(super) async fn stands(&mut self, watched: &Watched, state: &State) {
        for line in self.narrator.states(&watched.execution, state) {
            self.tell(line).await;
        }
        while let Some(event) = watched.event(self.narrator.events) {
            self.narrator.events += 1;
            if let Some(line) = line_of(&event) {
                self.tell(line).await;
            }
        }
    }

    /// Hears the answer until there is something to be told of it; stays pending else. Safe to drop
    /// and call again.
    pub(super) async fn heard(&mut self) -> String {
        loop {
            if let Some(words) = self.words.due(Instant::now()) {
                return words;
            }
            let due = self.words.due;
            tokio::select! {
                heard = self.tokens.next() => {
                    if let Some(said) = self.words.hear(heard) {
                        return said;
                    }
                }
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
        }
    }

    /// Tells what was heard of the answer. Whoever is heard runs, also where no record says so yet.
    pub(super) async fn says(&mut self, words: String) {
        if let Some(line) = self.narrator.runs() {
            self.tell(line.to_owned()).await;
        }
        self.tell(words).await;
    }

    async fn tell(&mut self, line: String) {
        self.told = self.told.saturating_add(1);
        let progress = f64::from(self.told);
        let told = ProgressNotificationParam::new(self.token.clone(), progress).with_message(line);
        if let Err(error) = self.peer.notify_progress(told).await {
            // Whether the client is gone shows elsewhere.
            tracing::debug!(%error, "progress could not be told");
        }
    }
}

/// What was told of an execution.
#[derive(Debug, Default)]
struct Narrator {
    status: Option<ExecutionStatus>,
    wants_approval: bool,
    events: usize,
}

impl Narrator {
    fn states(&mut self, execution: &Execution, state: &State) -> Vec<String> {
        let mut lines = Vec::new();
        if self.status.is_none() {
            self.status = Some(ExecutionStatus::Accepted);
            lines.push(format!("accepted as execution {}", execution.key.request));
        }
        if state.status() == ExecutionStatus::Running {
            lines.extend(self.runs().map(str::to_owned));
        }
        if state.wants_approval && !self.wants_approval {
            lines.push("waiting until somebody approves of it".to_owned());
        }
        self.wants_approval = state.wants_approval;
        lines
    }

    fn runs(&mut self) -> Option<&'static str> {
        let running = Some(ExecutionStatus::Running);
        (self.status.replace(ExecutionStatus::Running) < running).then_some("running")
    }
}

/// What happened, unless the states tell it.
fn line_of(event: &Event) -> Option<String> {
    match event.kind {
        EventKind::Accepted
        | EventKind::Started
        | EventKind::ApprovalWanted
        | EventKind::Cancelled
        | EventKind::Done => return None,
        EventKind::Retrying | EventKind::Waiting | EventKind::Step | EventKind::Delegated => {}
    }
    // Which worker it was is the fleet's own affair.
    let details = event.details.iter().filter(|(key, _)| *key != "worker");
    let details = details.map(|(key, value)| match value {
        Value::String(text) => format!(" {key}={text}"),
        value => format!(" {key}={value}"),
    });
    Some(format!("{}{}", event.kind, details.collect::<String>()))
}

/// Pieces of an answer that were heard and not told.
#[derive(Debug, Default)]
struct Words {
    heard: String,
    due: Option<Instant>,
}

impl Words {
    /// Hears one more piece; what is to be told at once because of it.
    fn hear(&mut self, heard: Heard) -> Option<String> {
        let Heard::Says(message) = heard else {
            return None;
        };
        match message.says {
            Says::Content(text) => {
                self.heard.push_str(&text);
                self.due
                    .get_or_insert_with(|| Instant::now() + WORDS_WITHIN);
                (self.heard.len() >= WORDS_BYTES).then(|| self.take())
            }
            Says::Restart(_) => {
                self.take();
                Some("the answer starts again".to_owned())
            }
            Says::Done(_) => (!self.heard.is_empty()).then(|| self.take()),
            // No part of the answer.
            Says::Reasoning(_) => None,
        }
    }

    fn due(&mut self, now: Instant) -> Option<String> {
        self.due.is_some_and(|due| due <= now).then(|| self.take())
    }

    fn take(&mut self) -> String {
        self.due = None;
        std::mem::take(&mut self.heard)
    }
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;

//! What the server refused for want of a permission: it says so beside the call, never to it.
//!
//! A refused publish is otherwise only a silence, and a refused subscription not even that.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use tokio::{sync::watch, time::Instant};

/// How many are remembered; older ones are found again by trying.
const REMEMBERED_MAX: usize = 512;

/// The refusals on one connection.
#[derive(Debug)]
pub(super) struct Denials {
    /// Where the connection hears its replies: once that is refused every call is denied.
    replies: Box<str>,
    deaf: OnceLock<String>,
    latest: Mutex<VecDeque<Denial>>,
    heard: watch::Sender<()>,
}

#[derive(Debug)]
struct Denial {
    at: Instant,
    subject: Box<str>,
    words: Box<str>,
}

impl Denials {
    /// None yet on a connection that hears its replies there.
    pub(super) fn none(replies: impl Into<Box<str>>) -> Self {
        Self {
            replies: replies.into(),
            deaf: OnceLock::new(),
            latest: Mutex::default(),
            heard: watch::Sender::default(),
        }
    }

    /// The server's words when no reply can be heard.
    pub(super) fn deaf(&self) -> Option<&str> {
        self.deaf.get().map(String::as_str)
    }

    /// Takes down a refusal, which names its subject in quotes.
    pub(super) fn hear(&self, words: &str) {
        let subject: Box<str> = words.split('"').nth(1).unwrap_or_default().into();
        if subject == self.replies {
            self.deaf.get_or_init(|| words.into());
        }
        let mut latest = self.latest();
        if latest.len() == REMEMBERED_MAX {
            latest.pop_front();
        }
        latest.push_back(Denial {
            at: Instant::now(),
            subject,
            words: words.into(),
        });
        drop(latest);
        self.heard.send_replace(());
    }

    /// The server's words when `subject` was refused since `since`, or no reply can be heard.
    pub(super) fn of(&self, subject: &str, since: Instant) -> Option<String> {
        if let Some(words) = self.deaf() {
            return Some(words.to_owned());
        }
        let latest = self.latest();
        let mut found = latest.iter().rev();
        let denial = found.find(|it| &*it.subject == subject && it.at >= since)?;
        Some(denial.words.to_string())
    }

    /// Waits for what [`Denials::of`] tells.
    pub(super) async fn hear_of(&self, subject: &str, since: Instant) -> String {
        let mut heard = self.heard.subscribe();
        loop {
            if let Some(words) = self.of(subject, since) {
                return words;
            }
            if heard.changed().await.is_err() {
                // The sender lives as long as we do.
                std::future::pending::<()>().await;
            }
        }
    }

    fn latest(&self) -> MutexGuard<'_, VecDeque<Denial>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{advance, timeout};

    use super::*;

    const WORDS: &str = "Permissions Violation for Publish to \"puruto.dlq.clerk\"";

    #[tokio::test(start_paused = true)]
    async fn a_refusal_reaches_whoever_tried_that_subject_before_it_came() {
        let denials = Denials::none("_INBOX.w.1.*");
        let before = Instant::now();
        let waiting = denials.hear_of("puruto.dlq.clerk", before);
        let ((), words) = tokio::join!(async { denials.hear(WORDS) }, waiting);
        assert_eq!(words, WORDS);

        assert_eq!(denials.of("puruto.dlq.other", before), None);
        advance(Duration::from_millis(1)).await;
        let later = denials.hear_of("puruto.dlq.clerk", Instant::now());
        assert!(timeout(Duration::from_secs(1), later).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn where_replies_are_refused_every_call_is_denied() {
        let denials = Denials::none("_INBOX.w.1.*");
        denials.hear("Permissions Violation for Subscription to \"_INBOX.w.1.*\"");
        advance(Duration::from_secs(60)).await;
        assert!(denials.deaf().is_some());
        assert!(denials.of("anything", Instant::now()).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_latest_refusals_are_remembered() {
        let denials = Denials::none("_INBOX.w.1.*");
        let since = Instant::now();
        denials.hear(WORDS);
        for n in 0..REMEMBERED_MAX {
            denials.hear(&format!("Permissions Violation for Publish to \"{n}\""));
        }
        assert_eq!(denials.of("puruto.dlq.clerk", since), None);
        assert!(denials.of("0", since).is_some());
    }
}

//! Where a lane's deliveries come in, and the pulls that ask for them.
//!
//! Never: what a message means.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_nats::{Message, Statistics, Subscriber};
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::{Instant, timeout};

use super::super::{link::Link, lives::Wire};

/// How long one pull stands; then the broker says what of it is unfilled.
const EXPIRES: Duration = Duration::from_secs(30);

/// How often the broker says that a pull with nothing to deliver still stands.
const HEARTBEAT: Duration = Duration::from_secs(3);

/// A pull that was silent for so long is not standing any more.
const SILENCE_MAX: Duration = Duration::from_secs(6);

/// How long sending a pull may take.
const SEND_BOUND: Duration = Duration::from_secs(5);

const _: () = assert!(HEARTBEAT.as_millis() * 2 <= SILENCE_MAX.as_millis());
const _: () = assert!(HEARTBEAT.as_millis() * 2 <= EXPIRES.as_millis());

#[derive(Debug)]
pub(super) struct Inbox {
    subject: Box<str>,
    messages: Subscriber,
    wire: Arc<Wire>,
    statistics: Arc<Statistics>,
    /// How often the client had connected when this was opened.
    connects: u64,
    pulls: u64,
    /// When the broker last gave a sign of life to a standing pull.
    heard: Instant,
}

/// A connection on which nothing can be sent.
#[derive(Debug)]
pub(super) struct Unsendable;

impl Inbox {
    /// Opens one on a connection as it is now.
    pub(super) async fn open(link: &Link, wire: Arc<Wire>) -> Result<Self, Unsendable> {
        let subject = link.new_inbox();
        let statistics = wire.client.statistics();
        let connects = statistics.connects.load(Ordering::Relaxed);
        let subscribing = wire.client.subscribe(format!("{subject}.*"));
        match timeout(SEND_BOUND, subscribing).await {
            Ok(Ok(messages)) => Ok(Self {
                subject: subject.into(),
                messages,
                wire,
                statistics,
                connects,
                pulls: 0,
                heard: Instant::now(),
            }),
            Ok(Err(_)) | Err(_) => Err(Unsendable),
        }
    }

    /// Sends one pull for so many.
    pub(super) async fn ask(&mut self, pull_subject: &str, many: usize) -> Result<(), Unsendable> {
        let body = format!(
            r#"{{"batch":{many},"expires":{},"idle_heartbeat":{}}}"#,
            EXPIRES.as_nanos(),
            HEARTBEAT.as_nanos()
        );
        let reply = format!("{}.{}", self.subject, self.pulls);
        let client = &self.wire.client;
        let sending = client.publish_with_reply(pull_subject.to_owned(), reply, body.into());
        match timeout(SEND_BOUND, sending).await {
            Ok(Ok(())) => {
                self.pulls += 1;
                self.hear();
                Ok(())
            }
            Ok(Err(_)) | Err(_) => Err(Unsendable),
        }
    }

    /// Whether the client has connected anew: a subscription outlives that, a pull does not. Known
    /// before anything can come by the new connection.
    pub(super) fn has_broken(&self) -> bool {
        self.statistics.connects.load(Ordering::Relaxed) != self.connects
    }

    /// What has come already.
    pub(super) fn buffered(&mut self) -> Option<Message> {
        self.messages.next().now_or_never().flatten()
    }

    /// What comes next; `None` when the connection has died.
    pub(super) async fn next(&mut self) -> Option<Message> {
        self.messages.next().await
    }

    /// The broker gave a sign of life.
    pub(super) fn hear(&mut self) {
        self.heard = Instant::now();
    }

    /// When the silence will have lasted too long.
    pub(super) fn silent_at(&self) -> Instant {
        self.heard + SILENCE_MAX
    }

    /// What of it is left when it is given up: what still comes, and the life of its connection.
    pub(super) fn close(self) -> (Subscriber, u64) {
        (self.messages, self.wire.life)
    }
}

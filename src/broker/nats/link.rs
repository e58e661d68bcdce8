//! One supervised connection: its events, its replies, and a new one when it dies.
//!
//! The client library reconnects by itself, but its connection task can panic on what a server
//! sends (a stored header with a lone carriage return does it); from then on every call on that
//! client says that its channel is closed. A link notices, connects anew, and nobody who holds it
//! needs to know. It is its own request multiplexer, because replies have to be told apart from
//! "no responders" and must not leave an entry behind when they are lost.

use std::{fmt, sync::Arc, time::Duration};

use async_nats::{Client, Event, HeaderMap, Message, Subject, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use super::{
    super::BrokerFault,
    denials::Denials,
    incident::Incident,
    lives::{Lives, Wire},
    options::NatsOptions,
    pace::Pace,
    unanswered::Unanswered,
    waiting::Waiting,
};

/// Events that may wait for the link's task.
const EVENTS_MAX: usize = 128;

/// What is asked of the system account is asked on the off chance: a refusal is nobody's trouble.
const SYSTEM_SUBJECTS: &str = "\"$SYS.";

/// A supervised connection.
pub(super) struct Link {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    options: Arc<NatsOptions>,
    usage: &'static str,
    inbox: Box<str>,
    waiting: Waiting,
    lives: Lives,
    denials: Denials,
}

/// What a client connection needs to be watched by.
struct Watched {
    client: Client,
    events: mpsc::Receiver<Event>,
    replies: Subscriber,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Link({})", self.shared.usage)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Link {
    /// Connects for one use.
    pub(super) async fn open(
        options: &Arc<NatsOptions>,
        usage: &'static str,
    ) -> Result<Self, BrokerFault> {
        let inbox = options.new_inbox().into_boxed_str();
        // On the heap: what the client library does to connect is large.
        let first = Box::pin(Watched::connect(options, usage, &inbox)).await?;
        let shared = Arc::new(Shared {
            options: Arc::clone(options),
            usage,
            denials: Denials::none(replies_to(&inbox)),
            inbox,
            waiting: Waiting::default(),
            lives: Lives::begin(first.client.clone()),
        });
        let task = tokio::spawn(supervise(Arc::clone(&shared), first));
        Ok(Self { shared, task })
    }

    /// The connection as it is now.
    pub(super) fn wire(&self) -> Arc<Wire> {
        self.shared.lives.wire()
    }

    /// For how long it has been up without a break; zero while it is down.
    pub(super) fn stable_for(&self) -> Duration {
        self.wire().stable_for()
    }

    /// Tells when a new life has begun.
    pub(super) fn lives(&self) -> watch::Receiver<Arc<Wire>> {
        self.shared.lives.subscribe()
    }

    /// What the process's connections are like.
    pub(super) fn options(&self) -> &NatsOptions {
        &self.shared.options
    }

    /// A subject for a subscription of one's own.
    pub(super) fn new_inbox(&self) -> String {
        self.shared.options.new_inbox()
    }

    /// Logs and tells what happened.
    pub(super) fn happened(&self, incident: &Incident) {
        let shared = &self.shared;
        shared.options.observer.happened(shared.usage, incident);
    }

    /// Sends a message and does not wait for anything but room.
    pub(super) async fn publish(
        &self,
        subject: &str,
        headers: Option<HeaderMap>,
        body: Bytes,
        bound: Duration,
    ) -> Result<(), Unanswered> {
        let sending = self.send(subject.into(), None, headers, body);
        timeout(bound, sending)
            .await
            .unwrap_or(Err(Unanswered::TimedOut { after: bound }))
    }

    /// Sends an empty message whose replies, however many, go to `reply`.
    pub(super) async fn publish_for(
        &self,
        subject: &str,
        reply: &str,
        bound: Duration,
    ) -> Result<(), Unanswered> {
        self.publish_with(subject, reply, Bytes::new(), bound).await
    }

    /// The same with a body.
    pub(super) async fn publish_with(
        &self,
        subject: &str,
        reply: &str,
        body: Bytes,
        bound: Duration,
    ) -> Result<(), Unanswered> {
        let sending = self.send(subject.into(), Some(reply.into()), None, body);
        timeout(bound, sending)
            .await
            .unwrap_or(Err(Unanswered::TimedOut { after: bound }))
    }

    /// Sends a message and waits for its reply, no longer than `bound`.
    pub(super) async fn request(
        &self,
        subject: &str,
        headers: Option<HeaderMap>,
        body: Bytes,
        bound: Duration,
    ) -> Result<Message, Unanswered> {
        let began = Instant::now();
        let mut ticket = self.shared.waiting.ticket();
        let reply = Subject::from(format!("{}.{}", self.shared.inbox, ticket.number()));
        let exchange = async {
            self.send(subject.into(), Some(reply), headers, body)
                .await?;
            Ok(ticket.reply().await)
        };
        let answered = tokio::select! {
            biased;
            answered = timeout(bound, exchange) => answered,
            words = self.shared.denials.hear_of(subject, began) => {
                return Err(Unanswered::Denied(words));
            }
        };
        match answered {
            Ok(Ok(message)) if message.status == Some(async_nats::StatusCode::NO_RESPONDERS) => {
                Err(Unanswered::NoResponders)
            }
            Ok(answered) => answered,
            Err(_) => Err(self.silence(bound)),
        }
    }

    /// The server's words when it refused that replies be heard.
    pub(super) fn deaf(&self) -> Option<&str> {
        self.shared.denials.deaf()
    }

    /// The server's words when it has refused `subject` since `since`.
    pub(super) fn denied(&self, subject: &str, since: Instant) -> Option<String> {
        self.shared.denials.of(subject, since)
    }

    async fn send(
        &self,
        subject: Subject,
        reply: Option<Subject>,
        headers: Option<HeaderMap>,
        body: Bytes,
    ) -> Result<(), Unanswered> {
        let mut lives = self.lives();
        loop {
            let wire = Arc::clone(&lives.borrow_and_update());
            let limit = wire.client.max_payload();
            let bytes = body.len() + headers.as_ref().map_or(0, super::wire::header_bytes);
            if bytes > limit {
                return Err(Unanswered::TooLarge { bytes, limit });
            }
            let sent = send_on(&wire.client, &subject, &reply, &headers, &body).await;
            match sent.map_err(|error| error.kind()) {
                Ok(()) => return Ok(()),
                Err(async_nats::client::PublishErrorKind::Send) => {
                    // The connection has died; the supervisor is connecting anew.
                    if lives.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
                Err(async_nats::client::PublishErrorKind::MaxPayloadExceeded) => {
                    return Err(Unanswered::TooLarge { bytes, limit });
                }
                Err(async_nats::client::PublishErrorKind::InvalidSubject) => {
                    return Err(Unanswered::BadSubject);
                }
            }
        }
    }

    /// Why a call has had no answer.
    fn silence(&self, bound: Duration) -> Unanswered {
        let state = self.wire().client.connection_state();
        if state == async_nats::connection::State::Connected {
            return Unanswered::TimedOut { after: bound };
        }
        self.broken()
    }

    /// Why nothing can be asked while it is down.
    pub(super) fn broken(&self) -> Unanswered {
        Unanswered::Unreachable {
            address: self.options().address(),
            reason: "the connection is broken and is being made anew".into(),
        }
    }
}

async fn send_on(
    client: &Client,
    subject: &Subject,
    reply: &Option<Subject>,
    headers: &Option<HeaderMap>,
    body: &Bytes,
) -> Result<(), async_nats::PublishError> {
    let (subject, body) = (subject.clone(), body.clone());
    match (reply.clone(), headers.clone()) {
        (None, None) => client.publish(subject, body).await,
        (None, Some(headers)) => client.publish_with_headers(subject, headers, body).await,
        (Some(reply), None) => client.publish_with_reply(subject, reply, body).await,
        (Some(reply), Some(headers)) => {
            client
                .publish_with_reply_and_headers(subject, reply, headers, body)
                .await
        }
    }
}

/// What a link hears its replies under.
fn replies_to(inbox: &str) -> String {
    format!("{inbox}.*")
}

impl Watched {
    /// The replies' subscription is the first thing on a connection: no call can overtake it.
    async fn connect(
        options: &NatsOptions,
        usage: &'static str,
        inbox: &str,
    ) -> Result<Self, BrokerFault> {
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        let client = options.connect(usage, sender).await?;
        let replies = client.subscribe(replies_to(inbox)).await;
        let replies = replies.map_err(|error| BrokerFault::Unreachable {
            address: options.address(),
            reason: error.to_string(),
        })?;
        Ok(Self {
            client,
            events,
            replies,
        })
    }

    /// Serves a connection until it has died.
    async fn serve(mut self, shared: &Shared) {
        // The first "connected" is the one that `connect` waited for.
        let mut connected = false;
        loop {
            tokio::select! {
                reply = self.replies.next() => match reply {
                    Some(reply) => shared.waiting.answer(reply),
                    None => return,
                },
                event = self.events.recv() => match event {
                    Some(Event::Connected) if !connected => connected = true,
                    Some(event) => shared.heard(&event, &self.client).await,
                    None => return,
                },
            }
        }
    }
}

impl Shared {
    async fn heard(&self, event: &Event, client: &Client) {
        let Some(incident) = Incident::of(event) else {
            return;
        };
        if let Incident::PermissionDenied(words) = &incident
            && words.contains(SYSTEM_SUBJECTS)
        {
            return self.denials.hear(words);
        }
        self.options.observer.happened(self.usage, &incident);
        match incident {
            Incident::Disconnected => self.lives.broke(),
            Incident::Reconnected => self.lives.next(client.clone()),
            Incident::PermissionDenied(words) => self.denials.hear(&words),
            // Fails only on a connection that has died, which is noticed anyway.
            Incident::LameDuck if self.options.urls.len() > 1 => {
                client.force_reconnect().await.ok();
            }
            Incident::LameDuck
            | Incident::Rebuilt
            | Incident::SlowConsumer
            | Incident::Error(_)
            | Incident::PullStalled
            | Incident::Unreadable { .. }
            | Incident::UnreadableResult { .. }
            | Incident::StreamRestored(_) => {}
        }
    }
}

async fn supervise(shared: Arc<Shared>, mut watched: Watched) {
    let mut pace = Pace::default();
    loop {
        let born = Instant::now();
        watched.serve(&shared).await;
        shared.lives.broke();
        let mut delay = pace.after(born.elapsed());
        watched = loop {
            sleep(shared.options.chance.around(delay, 0.3)).await;
            match Watched::connect(&shared.options, shared.usage, &shared.inbox).await {
                Ok(watched) => break watched,
                Err(fault) => tracing::debug!(%fault, "nats not reached yet"),
            }
            delay = pace.after(Duration::ZERO);
        };
        shared.lives.next(watched.client.clone());
        let observer = &shared.options.observer;
        observer.happened(shared.usage, &Incident::Rebuilt);
    }
}

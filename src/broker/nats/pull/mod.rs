//! Pulls one lane, on core NATS.
//!
//! Pull requests name an inbox of the lane's own; deliveries and statuses come to it. When pulls
//! cannot be relied on any more (a reconnect, a silence, a status that says so) the inbox is given
//! up and a fresh one asked for what is still demanded: the broker drops the pulls of an inbox
//! that nobody listens to, so it never delivers more than was demanded.
//!
//! Never: a task per delivery, or a decision about one.

mod account;
mod retire;
mod status;
mod trouble;

use std::{fmt, sync::Arc, time::Duration};

use async_nats::{Message, Subscriber};
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};

use self::{account::Account, retire::Late, status::Heard, trouble::Trouble};
use super::{
    super::{Delivery, Pull, ack_subject::AckSubject, topology::Wanted},
    incident::Incident,
    link::{Link, Wire},
    reconcile::reconcile,
    wire,
};
use crate::{contract::Lane, store::AckToken};

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

/// One lane, pulled from a real broker.
pub struct NatsLane {
    lane: Lane,
    /// The consumer, created again when it is gone.
    consumer: Wanted,
    /// Where pulls are published.
    pull_subject: Box<str>,
    links: LaneLinks,
    lives: watch::Receiver<Arc<Wire>>,
    account: Account,
    inbox: Option<Inbox>,
    late: Option<Late>,
    trouble: Trouble,
    backlog: u64,
}

/// The connections that a lane uses.
#[derive(Clone, Debug)]
pub(super) struct LaneLinks {
    pub(super) pull: Arc<Link>,
    pub(super) settle: Arc<Link>,
    pub(super) control: Arc<Link>,
}

#[derive(Debug)]
struct Inbox {
    subject: Box<str>,
    messages: Subscriber,
    pulls: u64,
    /// When the broker last gave a sign of life to a standing pull.
    heard: Instant,
}

/// What a lane wakes up for.
enum Woken {
    Message(Message),
    Silence,
    NewLife,
}

impl fmt::Debug for NatsLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NatsLane({}, {:?})", self.consumer.place, self.account)
    }
}

impl NatsLane {
    pub(super) fn new(lane: Lane, consumer: Wanted, links: LaneLinks) -> Self {
        let lives = links.pull.lives();
        Self {
            lane,
            pull_subject: consumer.place.pull_subject().into(),
            consumer,
            trouble: Trouble::none(links.pull.options().chance.clone()),
            links,
            lives,
            account: Account::default(),
            inbox: None,
            late: None,
            backlog: 0,
        }
    }

    /// One step towards the next delivery; `None` when another is needed.
    async fn step(&mut self) -> Option<Delivery> {
        // Whatever still comes to a former inbox comes before anything more is asked for.
        if let Some(late) = &mut self.late {
            return match late.recv().await {
                Some(message) => self.take(message),
                None => {
                    self.late = None;
                    None
                }
            };
        }
        if self.account.demanded() == 0 {
            std::future::pending::<()>().await;
        }
        if self.inbox.is_none() {
            self.open().await;
            return None;
        }
        if self.account.is_low() {
            self.ask().await;
        }
        if let Some(message) = self.buffered() {
            return self.take(message);
        }
        if self.account.shortfall() > 0 {
            self.ask().await;
        }
        match self.wake().await {
            Woken::Message(message) => self.take(message),
            Woken::Silence => {
                self.links.pull.happened(&Incident::PullStalled);
                self.give_up_inbox();
                None
            }
            Woken::NewLife => {
                self.give_up_inbox();
                None
            }
        }
    }

    /// Opens a fresh inbox, after whatever trouble there is.
    async fn open(&mut self) {
        self.trouble.wait().await;
        if self.trouble.consumer_gone {
            match reconcile(&self.links.control, &self.consumer).await {
                Ok(()) => self.trouble.consumer_gone = false,
                Err(fault) => {
                    tracing::warn!(place = %self.consumer.place, %fault, "no consumer to pull from");
                    return self.trouble.grow();
                }
            }
        }
        let wire = Arc::clone(&self.lives.borrow_and_update());
        let subject = self.links.pull.new_inbox();
        let subscribing = wire.client.subscribe(format!("{subject}.*"));
        match timeout(SEND_BOUND, subscribing).await {
            Ok(Ok(messages)) => {
                self.inbox = Some(Inbox {
                    subject: subject.into(),
                    messages,
                    pulls: 0,
                    heard: Instant::now(),
                });
            }
            Ok(Err(_)) | Err(_) => self.trouble.grow(),
        }
    }

    /// Sends one pull for all that is demanded and not asked for.
    async fn ask(&mut self) {
        let Some(inbox) = &mut self.inbox else {
            return;
        };
        let many = self.account.shortfall();
        let body = format!(
            r#"{{"batch":{many},"expires":{},"idle_heartbeat":{}}}"#,
            EXPIRES.as_nanos(),
            HEARTBEAT.as_nanos()
        );
        let wire = Arc::clone(&self.lives.borrow());
        let reply = format!("{}.{}", inbox.subject, inbox.pulls);
        let subject = String::from(&*self.pull_subject);
        let sending = wire.client.publish_with_reply(subject, reply, body.into());
        match timeout(SEND_BOUND, sending).await {
            Ok(Ok(())) => {
                inbox.pulls += 1;
                inbox.heard = Instant::now();
                self.account.sent(many);
            }
            Ok(Err(_)) | Err(_) => {
                self.trouble.grow();
                self.give_up_inbox();
            }
        }
    }

    fn buffered(&mut self) -> Option<Message> {
        let inbox = self.inbox.as_mut()?;
        inbox.messages.next().now_or_never().flatten()
    }

    async fn wake(&mut self) -> Woken {
        let Some(inbox) = &mut self.inbox else {
            return Woken::NewLife;
        };
        tokio::select! {
            biased;
            message = inbox.messages.next() => match message {
                Some(message) => Woken::Message(message),
                // The connection has died; its successor is awaited like a reconnect.
                None => {
                    self.trouble.grow();
                    Woken::NewLife
                }
            },
            _ = self.lives.changed() => Woken::NewLife,
            () = sleep_until(inbox.heard + SILENCE_MAX) => Woken::Silence,
        }
    }

    /// What a message says; the delivery if it is one.
    fn take(&mut self, message: Message) -> Option<Delivery> {
        if let Some(inbox) = &mut self.inbox {
            inbox.heard = Instant::now();
        }
        match status::read(&message) {
            Heard::Delivery => {
                let delivery = self.delivery(message)?;
                self.trouble.pass();
                self.account.arrived();
                return Some(delivery);
            }
            Heard::Heartbeat => self.trouble.pass(),
            Heard::Unfilled(many) => self.account.unfilled(many),
            Heard::ConsumerGone => {
                self.trouble.consumer_gone = true;
                self.trouble.grow();
                self.give_up_inbox();
            }
            Heard::Void => {
                tracing::debug!(status = ?message.status, words = ?message.description, "pull ended");
                self.trouble.grow();
                self.give_up_inbox();
            }
        }
        None
    }

    /// A message as a delivery; `None` when its reply subject is not JetStream's.
    fn delivery(&mut self, message: Message) -> Option<Delivery> {
        let reply = message.reply?;
        let ack = AckSubject::parse(reply.as_str())?;
        self.backlog = ack.pending;
        Some(Delivery {
            subject: message.subject.as_str().into(),
            lane: self.lane,
            headers: wire::from_wire(message.headers.as_ref()),
            body: wire::own(message.payload),
            ack: AckToken::new(reply.as_str()),
            sequence: ack.sequence,
            delivered: ack.delivered,
            stored_at: ack.stored_at,
        })
    }

    fn give_up_inbox(&mut self) {
        self.account.forget_pulls();
        if let Some(inbox) = self.inbox.take() {
            // There is no earlier one: an inbox is opened only when that was empty.
            self.late = Some(retire::retire(inbox.messages, &self.links.settle));
        }
    }
}

impl Pull for NatsLane {
    fn demanded(&self) -> usize {
        self.account.demanded()
    }

    fn demand(&mut self, more: usize) {
        self.account.demand(more);
    }

    fn withdraw(&mut self) {
        // An inbox to which the broker owes nothing can stay.
        if self.account.asked() > 0 {
            self.give_up_inbox();
        }
        self.account.withdraw();
    }

    async fn next(&mut self) -> Delivery {
        loop {
            if let Some(delivery) = self.step().await {
                return delivery;
            }
        }
    }

    fn backlog(&self) -> u64 {
        self.backlog
    }
}

impl Drop for NatsLane {
    fn drop(&mut self) {
        self.give_up_inbox();
        if let Some(late) = self.late.take() {
            retire::abandon(late, &self.links.settle);
        }
    }
}

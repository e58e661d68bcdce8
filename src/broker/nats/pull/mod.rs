//! Pulls one lane, on core NATS.
//!
//! Pull requests name an inbox of the lane's own; deliveries and statuses come to it. When pulls
//! cannot be relied on any more (a reconnect, a silence, a status that says so) the inbox is given
//! up and a fresh one asked for what is still demanded: the broker drops the pulls of an inbox
//! that nobody listens to, so it never delivers more than was demanded.
//!
//! Never: a task per delivery, or a decision about one.

mod account;
mod inbox;
mod retire;
mod search;
mod seen;
mod status;
mod trouble;

use std::{fmt, sync::Arc};

use async_nats::Message;
use tokio::{
    sync::{mpsc, watch},
    time::sleep_until,
};

use self::{
    account::Account,
    inbox::{Inbox, Unsendable},
    retire::{Late, Leaving},
    search::Search,
    seen::{Came, Recent, Seen},
    status::Heard,
    trouble::Trouble,
};
use super::{
    super::{BrokerFault, Delivery, Pull, ack_subject::AckSubject, topology::Wanted},
    incident::Incident,
    kept::Kept,
    link::Link,
    lives::Wire,
    reconcile::reconcile,
    wire,
};
use crate::{
    contract::{Lane, PurutoName},
    store::AckToken,
};

/// One lane, pulled from a real broker.
pub struct NatsLane {
    lane: Lane,
    /// The stream and the consumer, made anew when they are gone.
    stream: Wanted,
    consumer: Wanted,
    /// Where pulls are published.
    pull_subject: Box<str>,
    links: LaneLinks,
    lives: watch::Receiver<Arc<Wire>>,
    account: Account,
    inbox: Option<Inbox>,
    late: Option<Late>,
    seen: Seen,
    recent: Recent,
    /// Searches when the connection broke.
    search: Search,
    found: mpsc::UnboundedReceiver<Delivery>,
    trouble: Trouble,
    backlog: u64,
}

/// The connections that a lane uses, and where it puts what cannot be read.
#[derive(Clone, Debug)]
pub(super) struct LaneLinks {
    pub(super) pull: Arc<Link>,
    pub(super) settle: Arc<Link>,
    pub(super) control: Arc<Link>,
    pub(super) letters: Arc<Kept>,
}

/// What a lane wakes up for.
enum Woken {
    Message(Message),
    Found(Delivery),
    Silence,
    NewLife,
}

impl fmt::Debug for NatsLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NatsLane({}, {:?})", self.consumer.place, self.account)
    }
}

impl NatsLane {
    pub(super) fn new(
        target: &PurutoName,
        lane: Lane,
        [stream, consumer]: [Wanted; 2],
        links: LaneLinks,
    ) -> Self {
        let lives = links.pull.lives();
        let (sender, found) = mpsc::unbounded_channel();
        let search = Search {
            target: target.clone(),
            lane,
            links: links.clone(),
            found: sender,
        };
        Self {
            lane,
            pull_subject: consumer.place.pull_subject().into(),
            stream,
            consumer,
            trouble: Trouble::none(links.pull.options().chance.clone()),
            links,
            lives,
            account: Account::default(),
            inbox: None,
            late: None,
            seen: Seen::default(),
            recent: Recent::default(),
            search,
            found,
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
            let found = self.found.recv().await?;
            return self.newly_found(found);
        }
        if let Ok(found) = self.found.try_recv() {
            return self.newly_found(found);
        }
        if self.inbox.is_none() {
            self.open().await;
            return None;
        }
        if self.inbox.as_ref().is_some_and(Inbox::has_broken) {
            self.trouble.broke();
            self.give_up_inbox(Leaving::Broken);
            return None;
        }
        if self.account.is_low() {
            self.ask().await;
        }
        if let Some(message) = self.inbox.as_mut().and_then(Inbox::buffered) {
            return self.take(message);
        }
        if self.account.shortfall() > 0 {
            self.ask().await;
        }
        match self.wake().await {
            Woken::Message(message) => self.take(message),
            Woken::Found(delivery) => self.newly_found(delivery),
            Woken::Silence => {
                self.links.pull.happened(&Incident::PullStalled);
                self.give_up_inbox(Leaving::Whole);
                None
            }
            Woken::NewLife => {
                self.trouble.broke();
                self.give_up_inbox(Leaving::Broken);
                None
            }
        }
    }

    /// Opens a fresh inbox, after whatever trouble there is.
    async fn open(&mut self) {
        self.trouble.wait().await;
        if self.trouble.consumer_gone {
            if let Err(fault) = self.restore().await {
                tracing::warn!(place = %self.consumer.place, %fault, "no consumer to pull from");
                return self.trouble.grow();
            }
            self.trouble.consumer_gone = false;
        }
        let wire = Arc::clone(&self.lives.borrow_and_update());
        match Inbox::open(&self.links.pull, wire).await {
            Ok(inbox) => self.inbox = Some(inbox),
            Err(Unsendable) => self.trouble.grow(),
        }
    }

    /// Makes the consumer anew, and its stream should that be gone as well.
    async fn restore(&self) -> Result<(), BrokerFault> {
        reconcile(&self.links.control, &self.stream).await?;
        reconcile(&self.links.control, &self.consumer).await
    }

    /// Sends one pull for all that is demanded and not asked for.
    async fn ask(&mut self) {
        let Some(inbox) = &mut self.inbox else {
            return;
        };
        let many = self.account.shortfall();
        match inbox.ask(&self.pull_subject, many).await {
            Ok(()) => self.account.sent(many),
            Err(Unsendable) => {
                self.trouble.broke();
                self.give_up_inbox(Leaving::Broken);
            }
        }
    }

    async fn wake(&mut self) -> Woken {
        let Some(inbox) = &mut self.inbox else {
            return Woken::NewLife;
        };
        let silent_at = inbox.silent_at();
        tokio::select! {
            biased;
            Some(message) = inbox.next() => Woken::Message(message),
            // Also when the connection has died, and with it the inbox: it has a successor.
            _ = self.lives.changed() => Woken::NewLife,
            Some(delivery) = self.found.recv() => Woken::Found(delivery),
            () = sleep_until(silent_at) => Woken::Silence,
        }
    }

    /// What a message says; the delivery if it is one.
    fn take(&mut self, message: Message) -> Option<Delivery> {
        let mut came = Came::Before;
        if let Some(inbox) = &mut self.inbox {
            inbox.hear();
            if inbox.has_broken() {
                came = Came::Later;
            }
        }
        let ack = ack_of(&message);
        if let Some(ack) = ack {
            self.seen.saw(ack.sequence, came);
            self.recent.add(ack.sequence);
        }
        match status::read(&message) {
            Heard::Delivery => {
                let delivery = self.delivery(message)?;
                self.trouble.pass();
                return Some(self.arrived(delivery));
            }
            Heard::Unreadable => {
                self.account.unfilled(1);
                let removing = ack.map(|ack| self.search.clone().remove_one(ack.sequence));
                removing.map(tokio::spawn);
            }
            Heard::Heartbeat => self.trouble.pass(),
            Heard::Unfilled(many) => self.account.unfilled(many),
            Heard::ConsumerGone => {
                self.trouble.consumer_gone = true;
                self.trouble.grow();
                self.give_up_inbox(Leaving::Whole);
            }
            Heard::Void => {
                tracing::debug!(status = ?message.status, words = ?message.description, "pull ended");
                self.trouble.grow();
                self.give_up_inbox(Leaving::Whole);
            }
        }
        None
    }

    /// What a search found, unless it came by itself meanwhile.
    fn newly_found(&mut self, delivery: Delivery) -> Option<Delivery> {
        if self.recent.holds(delivery.sequence) {
            return None;
        }
        self.recent.add(delivery.sequence);
        Some(self.arrived(delivery))
    }

    fn arrived(&mut self, delivery: Delivery) -> Delivery {
        self.account.arrived();
        delivery
    }

    /// A message as a delivery; `None` when its reply subject is not JetStream's.
    fn delivery(&mut self, message: Message) -> Option<Delivery> {
        let ack = ack_of(&message)?;
        self.backlog = ack.pending;
        Some(Delivery {
            subject: message.subject.as_str().into(),
            lane: self.lane,
            sequence: ack.sequence,
            delivered: ack.delivered,
            stored_at: ack.stored_at,
            headers: wire::from_wire(message.headers.as_ref()),
            ack: AckToken::new(message.reply?.as_str()),
            body: wire::own(message.payload),
        })
    }

    fn give_up_inbox(&mut self, leaving: Leaving) {
        let seen = self.seen.take(self.account.asked());
        self.account.forget_pulls();
        if let Some(inbox) = self.inbox.take() {
            // There is no earlier one: an inbox is opened only when that was empty.
            self.late = Some(retire::retire(inbox, leaving, self.search.clone(), seen));
        }
    }
}

/// The delivery that a message on a lane's inbox is.
fn ack_of(message: &Message) -> Option<AckSubject<'_>> {
    AckSubject::parse(message.reply.as_ref()?.as_str())
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
            self.give_up_inbox(Leaving::Whole);
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
        self.give_up_inbox(Leaving::Whole);
        if let Some(late) = self.late.take() {
            retire::abandon(late, &self.links.settle);
        }
    }
}

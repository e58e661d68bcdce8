//! The broker, real: JetStream through async-nats.
//!
//! Three connections a process, so that what breaks one leaves the others alone: pulling (a
//! message that the client library cannot parse kills it), publishing and acking, and control.
//! Every call has a bound.

mod acks;
mod api;
mod asking;
mod backlog;
mod calls;
mod canary;
mod cancels;
mod client;
mod dead_letters;
mod denials;
mod drains;
mod epoch;
mod incident;
mod inspect;
mod kept;
mod lanes;
mod latest;
mod link;
mod lives;
mod options;
mod pace;
mod presence;
mod publish;
mod pull;
mod reconcile;
mod results;
mod service;
mod stored;
mod subscription;
mod sync;
mod unanswered;
mod waiting;
mod wire;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use self::{
    api::CALL_BOUND, cancels::Cancels, kept::Kept, link::Link, pull::LaneLinks,
    results::check_subject,
};
pub use self::{
    backlog::LaneBacklog,
    calls::{Call, Calls},
    client::{NatsClient, ResultSubscription},
    epoch::EpochVerdict,
    incident::{Incident, Observer},
    latest::{Extent, Journal},
    options::{NatsAuth, NatsOptions, NatsTls},
    pull::NatsLane,
    service::Announced,
};
use super::{
    AckFault, Broker, BrokerFault, DeadLetter, DeadLetters, Durability, Pong, Presence, Publishing,
    ResultMessage, Stored, StoredMessage, StoredResult, SubjectCount,
    micro::Service,
    names::StreamName,
    needs,
    stored::sequence_of,
    topology::{self, TopologyOptions},
};
use crate::{
    clock::WallTime,
    contract::{Lane, PurutoName, Subjects},
    store::{AckToken, Epoch, RequestKey, SessionId},
};

/// Under which name the client library logs.
pub const LIBRARY_LOGS: &str = "async_nats";

const BROADCAST: &str = "tell listeners";

/// A worker's side of a real broker.
#[derive(Debug)]
pub struct NatsBroker {
    subjects: Subjects,
    topology: TopologyOptions,
    requests: StreamName,
    results: StreamName,
    kept_results: Kept,
    links: LaneLinks,
    cancels: Cancels,
}

impl NatsBroker {
    /// Connects, and makes the server have the fleet's streams.
    ///
    /// # Errors
    /// As [`NatsBroker::open`] and [`NatsBroker::prepare`].
    pub async fn connect(options: NatsOptions) -> Result<Self, BrokerFault> {
        let broker = Self::open(options).await?;
        broker.prepare().await?;
        Ok(broker)
    }

    /// Connects three times, and asks for nothing yet.
    ///
    /// # Errors
    /// [`BrokerFault::Unreachable`].
    pub async fn open(options: NatsOptions) -> Result<Self, BrokerFault> {
        let options = Arc::new(options);
        let (pull, settle, control) = tokio::try_join!(
            Link::open(&options, "pull"),
            Link::open(&options, "publish-and-ack"),
            Link::open(&options, "control"),
        )?;
        // First, so that the server has answered to something later when this is used.
        let cancels = Cancels::listen(&control).await?;
        let [settle, control] = [settle, control].map(Arc::new);
        let kept = |wanted| Kept::new(wanted, &settle, &control);
        let (subjects, settings) = (&options.subjects, &options.topology);
        Ok(Self {
            requests: StreamName::invoke(subjects),
            results: StreamName::results(subjects),
            kept_results: kept(topology::results(subjects, settings)),
            links: LaneLinks {
                pull: Arc::new(pull),
                letters: Arc::new(kept(topology::dead_letters(subjects, settings))),
                settle,
                control,
            },
            subjects: subjects.clone(),
            topology: settings.clone(),
            cancels,
        })
    }

    /// Checks the server, and makes it have the fleet's streams.
    ///
    /// # Errors
    /// [`BrokerFault::Unsuitable`] when the server is too old, has no JetStream, or has streams
    /// that cannot be made what the fleet needs; [`BrokerFault::Denied`]; otherwise it did not
    /// answer in time.
    pub async fn prepare(&self) -> Result<(), BrokerFault> {
        let control = &self.links.control;
        reconcile::check_server(control).await?;
        for wanted in topology::streams(&self.subjects, &self.topology) {
            reconcile::reconcile(control, &wanted).await?;
        }
        Ok(())
    }

    /// Makes sure that the server permits all that a worker of these targets does. What it does not
    /// permit would otherwise show as silence, or not at all.
    ///
    /// # Errors
    /// [`BrokerFault::Unsuitable`] naming each subject; otherwise the server did not answer in time.
    pub async fn try_permissions(&self, targets: &[PurutoName]) -> Result<(), BrokerFault> {
        let needs = needs::of_worker(&self.subjects, targets);
        let denied = canary::denied(&self.links.control, &needs).await?;
        if denied.is_empty() {
            return Ok(());
        }
        let lines = denied.iter().map(ToString::to_string).collect::<Vec<_>>();
        Err(BrokerFault::Unsuitable(format!(
            "nats does not permit what a worker needs (config/nats-users.conf has a user that \
             may): {}",
            lines.join(", ")
        )))
    }

    /// How much of what the broker accepts outlives it.
    pub async fn durability(&self) -> Durability {
        Durability {
            storage: self.topology.storage,
            replicas: self.topology.replicas,
            sync: sync::interval(&self.links.control).await,
        }
    }

    /// Compares the store's epoch with the one that the fleet remembers, and remembers it.
    ///
    /// # Errors
    /// The broker did not answer in time, or refused.
    pub async fn epoch_verdict(
        &self,
        epoch: &Epoch,
        now: WallTime,
    ) -> Result<EpochVerdict, BrokerFault> {
        let bucket = StreamName::fleet(&self.subjects);
        let kept = self.topology.results_max_age;
        epoch::verdict(&self.links.control, &bucket, epoch, now, kept).await
    }
}

impl NatsBroker {
    /// Lets NATS tools find `service` until what is returned is dropped.
    ///
    /// # Errors
    /// There is no connection.
    pub async fn announce_service(&self, service: Service) -> Result<Announced, BrokerFault> {
        service::announce(&self.links.control, service).await
    }
}

impl Broker for NatsBroker {
    type Lane = NatsLane;

    async fn lane(&self, target: &PurutoName, lane: Lane) -> Result<NatsLane, BrokerFault> {
        let consumer = topology::consumer(&self.subjects, &self.topology, target, lane);
        reconcile::reconcile(&self.links.control, &consumer).await?;
        let stream = topology::requests(&self.subjects, &self.topology);
        let links = self.links.clone();
        Ok(NatsLane::new(target, lane, [stream, consumer], links))
    }

    async fn publish_result(&self, message: &ResultMessage) -> Result<Publishing, BrokerFault> {
        results::publish_result(&self.kept_results, message).await
    }

    async fn read_result(&self, subject: &str) -> Result<Option<StoredResult>, BrokerFault> {
        results::standing(&self.links.control, &self.results, subject).await
    }

    async fn reply(&self, inbox: &str, message: &ResultMessage) {
        if check_subject(inbox, "reply").is_err() {
            return;
        }
        let headers = (!message.headers.is_empty()).then(|| wire::to_wire(message.headers.iter()));
        let body = message.body.clone();
        let sent = self
            .links
            .settle
            .publish(inbox, headers, body, CALL_BOUND)
            .await;
        if let Err(unanswered) = sent {
            let fault = unanswered.into_fault("reply");
            tracing::debug!(%fault, "a best-effort reply was not sent");
        }
    }

    async fn broadcast(&self, subject: &str, body: Bytes) -> Result<(), BrokerFault> {
        check_subject(subject, BROADCAST)?;
        let sent = self.links.settle.publish(subject, None, body, CALL_BOUND);
        let sent = sent.await;
        sent.map_err(|unanswered| unanswered.into_fault(BROADCAST))
    }

    async fn ack(&self, token: &AckToken) -> Result<(), AckFault> {
        match sequence_of(token) {
            Some(sequence) => Ok(self.remove(sequence).await.map(drop)?),
            None => acks::ack(&self.links.settle, token).await,
        }
    }

    async fn nak(&self, token: &AckToken, delay: Duration) {
        acks::nak(&self.links.settle, token, delay).await;
    }

    async fn in_progress(&self, token: &AckToken) {
        acks::in_progress(&self.links.settle, token).await;
    }

    async fn next_cancel(&self) -> RequestKey {
        self.cancels.next().await
    }

    fn payload_max(&self) -> usize {
        self.links.settle.wire().client.max_payload()
    }
}

impl Presence for NatsBroker {
    async fn answer_pings(&self, session: &SessionId) {
        presence::answer(&self.links.control, session).await;
    }

    async fn ping(&self, session: &SessionId, bound: Duration) -> Pong {
        presence::ping(&self.links.control, session, bound).await
    }

    fn stable_for(&self) -> Duration {
        self.links.control.stable_for()
    }
}

impl Stored for NatsBroker {
    async fn subjects(&self) -> Result<Vec<SubjectCount>, BrokerFault> {
        let all = self.subjects.invoke_all();
        stored::subjects(&self.links.control, &self.requests, &all).await
    }

    async fn next(&self, from: u64, filter: &str) -> Result<Option<StoredMessage>, BrokerFault> {
        stored::next(&self.links.control, &self.requests, from, filter).await
    }

    async fn read(&self, sequence: u64) -> Result<Option<StoredMessage>, BrokerFault> {
        stored::read(&self.links.control, &self.requests, sequence).await
    }

    async fn remove(&self, sequence: u64) -> Result<bool, BrokerFault> {
        stored::remove(&self.links.control, &self.requests, sequence).await
    }
}

impl DeadLetters for NatsBroker {
    async fn bury(&self, letter: &DeadLetter) -> Result<(), BrokerFault> {
        dead_letters::bury(&self.links.letters, &self.subjects, letter).await
    }
}

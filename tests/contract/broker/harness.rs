//! A broker to ask: the twin, or a fresh real server.

use std::time::Duration;

use async_nats::jetstream::{self, Context};
use bytes::Bytes;
use futures_util::StreamExt as _;
use puruto_fleet::{
    broker::{
        Broker, BuriedLetter, DeadLetters, Delivery, Headers, Presence, Pull, ResultMessage,
        Stored, StoredMessage,
        nats::{NatsBroker, NatsOptions},
        twin::BrokerTwin,
    },
    clock::{Clock, WallTime},
    contract::{Lane, PurutoName},
    dev::{server::Server, tool::Tool},
};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::support::{self, raw};

/// Longer than everything that is promised to happen; the ack wait is the longest.
pub(super) const SOON: Duration = Duration::from_secs(20);

/// Long enough for what must not happen to have happened.
pub(super) const A_WHILE: Duration = Duration::from_millis(300);

/// What the promises need beside the seam itself.
pub(super) trait Harness: Sized {
    type Broker: Broker + Presence + Stored + DeadLetters;

    async fn start() -> Self;

    fn broker(&self) -> &Self::Broker;

    /// Stores a request in a lane.
    async fn publish(&self, lane: Lane, body: &'static str);

    /// Stores a message under any subject with whatever bytes as its header block.
    async fn publish_raw(&self, subject: &[u8], header_block: &[u8], body: &[u8]);

    /// The first `count` messages that are heard under `subject` while `act` goes on.
    async fn heard(&self, subject: &str, count: usize, act: impl Future<Output = ()>)
    -> Vec<Bytes>;

    /// How many requests are in the stream.
    async fn stored(&self) -> u64;

    /// The dead letters, oldest first.
    async fn dead_letters(&self) -> Vec<BuriedLetter>;

    async fn delete_consumer(&self, lane: Lane);
}

pub(super) fn target() -> PurutoName {
    "puruto-echo".parse().expect("a name")
}

pub(super) fn subject(lane: Lane) -> String {
    puruto_fleet::contract::Subjects::default().invoke(&target(), lane)
}

pub(super) fn result(body: &'static str) -> ResultMessage {
    let mut headers = Headers::new();
    headers.push_named("Puruto-Status", "ok");
    ResultMessage {
        subject: "puruto.result.corr-1.req%2E1".into(),
        headers,
        body: Bytes::from_static(body.as_bytes()),
    }
}

pub(super) async fn lane_of<B: Broker>(broker: &B) -> B::Lane {
    let lane = broker.lane(&target(), Lane::Normal).await;
    lane.expect("a lane")
}

/// The next delivery, which has to come.
pub(super) async fn next(lane: &mut impl Pull) -> Delivery {
    let delivery = timeout(SOON, lane.next()).await;
    delivery.expect("a delivery in time")
}

/// That no delivery comes.
pub(super) async fn nothing(lane: &mut impl Pull) {
    let delivery = timeout(A_WHILE, lane.next()).await;
    assert!(delivery.is_err(), "nothing was to come: {delivery:?}");
}

pub(super) struct Twin(pub(super) BrokerTwin);

impl Harness for Twin {
    type Broker = BrokerTwin;

    async fn start() -> Self {
        Self(BrokerTwin::new(Clock::system()))
    }

    fn broker(&self) -> &BrokerTwin {
        &self.0
    }

    async fn publish(&self, lane: Lane, body: &'static str) {
        self.0.publish(&subject(lane), Headers::new(), body);
    }

    async fn publish_raw(&self, subject: &[u8], header_block: &[u8], body: &[u8]) {
        let (header_block, body) = (header_block.to_vec(), body.to_vec());
        self.0
            .publish_raw(&String::from_utf8_lossy(subject), header_block, body);
    }

    async fn heard(
        &self,
        subject: &str,
        count: usize,
        act: impl Future<Output = ()>,
    ) -> Vec<Bytes> {
        act.await;
        let all = self.0.broadcasts().into_iter();
        let heard = all.filter(|(under, _)| under == subject);
        heard.map(|(_, body)| body).take(count).collect()
    }

    async fn stored(&self) -> u64 {
        self.0.pending().len() as u64
    }

    async fn dead_letters(&self) -> Vec<BuriedLetter> {
        self.0.dead_letters()
    }

    async fn delete_consumer(&self, lane: Lane) {
        self.0.delete_consumer(&target(), lane);
    }
}

/// A fresh real server, our broker on it, and a client of its own to look and meddle with.
pub(super) struct Real {
    pub(super) broker: NatsBroker,
    pub(super) jetstream: Context,
    pub(super) server: Server,
    // Last: the server is gone before its data.
    _folder: TempDir,
}

impl Real {
    pub(super) fn options(&self) -> NatsOptions {
        options(&self.server)
    }

    pub(super) async fn requests(&self) -> jetstream::stream::Stream {
        let stream = self.jetstream.get_stream("PURUTO_INVOKE").await;
        stream.expect("the stream of requests")
    }

    pub(super) async fn consumer(&self, name: &str) -> jetstream::consumer::Info {
        let info = self.requests().await.consumer_info(name).await;
        info.expect("a consumer")
    }
}

/// A server alone.
pub(super) async fn server() -> (Server, TempDir) {
    let folder = TempDir::new().expect("a temporary folder");
    (support::start(Tool::Nats, folder.path()).await, folder)
}

pub(super) fn options(server: &Server) -> NatsOptions {
    NatsOptions::new(server.url(), "worker", "contract")
}

/// A client that is not ours.
pub(super) async fn other_client(server: &Server) -> async_nats::Client {
    async_nats::connect(server.url()).await.expect("a client")
}

impl Harness for Real {
    type Broker = NatsBroker;

    async fn start() -> Self {
        let (server, folder) = server().await;
        let client = other_client(&server).await;
        Self {
            broker: NatsBroker::connect(options(&server))
                .await
                .expect("a broker"),
            jetstream: jetstream::new(client),
            server,
            _folder: folder,
        }
    }

    fn broker(&self) -> &NatsBroker {
        &self.broker
    }

    async fn publish(&self, lane: Lane, body: &'static str) {
        let sent = self.jetstream.publish(subject(lane), body.into()).await;
        sent.expect("sent").await.expect("stored");
    }

    async fn publish_raw(&self, subject: &[u8], header_block: &[u8], body: &[u8]) {
        raw::publish(&self.server, subject, header_block, body);
    }

    async fn heard(
        &self,
        subject: &str,
        count: usize,
        act: impl Future<Output = ()>,
    ) -> Vec<Bytes> {
        let client = other_client(&self.server).await;
        let listening = client.subscribe(subject.to_owned()).await;
        let listening = listening.expect("a subscription");
        // The server has answered behind it, so it knows of the subscription.
        let answered = jetstream::new(client).query_account().await;
        answered.expect("an answer");
        act.await;
        let heard = listening.take(count).map(|message| message.payload);
        timeout(SOON, heard.collect()).await.expect("heard in time")
    }

    async fn stored(&self) -> u64 {
        self.requests().await.cached_info().state.messages
    }

    async fn dead_letters(&self) -> Vec<BuriedLetter> {
        let stream = self.jetstream.get_stream("PURUTO_DLQ").await;
        let stream = stream.expect("the stream of dead letters");
        let last = stream.cached_info().state.last_sequence;
        let mut letters = Vec::new();
        for sequence in 1..=last {
            let raw = stream.get_raw_message(sequence).await.expect("a message");
            letters.push(BuriedLetter::read(stored(raw)).expect("a dead letter"));
        }
        letters
    }

    async fn delete_consumer(&self, lane: Lane) {
        let suffix = match lane {
            Lane::Normal => "",
            Lane::High => "-high",
            Lane::Low => "-low",
        };
        let stream = self.requests().await;
        let deleted = stream
            .delete_consumer(&format!("puruto-echo{suffix}"))
            .await;
        assert!(deleted.expect("deleted").success);
    }
}

/// What another client reads of a stream.
fn stored(raw: jetstream::message::StreamMessage) -> StoredMessage {
    let mut headers = Headers::new();
    for (name, values) in raw.headers.iter() {
        for value in values {
            headers.push_named(name.as_ref(), value.as_str());
        }
    }
    let millis = raw.time.unix_timestamp_nanos() / 1_000_000;
    StoredMessage {
        sequence: raw.sequence,
        subject: raw.subject.as_str().into(),
        headers: Ok(headers),
        body: raw.payload,
        stored_at: WallTime::from_unix_millis(u64::try_from(millis).expect("a time")),
    }
}

//! A store and the hand that moves its world.

use std::{future::Future, time::Duration};

use bytes::Bytes;
use puruto_fleet::{
    clock::{Chance, Clock},
    contract::{Deadline, Fingerprint},
    dev::{server::Server, tool::Tool},
    store::{
        AckToken, Attempt, Circuits, Claim, ClaimAnswer, Claimed, Claims, Commit, CommitAnswer,
        Exhausted, Nonce, Record, Records, RequestKey, Runs, SessionId, Sessions, Supervision,
        Waits,
        executions::Executions,
        redis::{RedisOptions, RedisStore, Spread},
        twin::StoreTwin,
    },
};
use tempfile::TempDir;

use crate::support;

/// A store that starts empty, and what happens to it from outside.
pub(super) trait World {
    type Store: Claims
        + Sessions
        + Records
        + Supervision
        + Circuits
        + Waits
        + Runs
        + Executions
        + Clone;

    fn store(&self) -> &Self::Store;
    /// Ends a session as its time to live would.
    fn expire(&self, session: &SessionId) -> impl Future<Output = ()>;
    /// Loses all data.
    fn empty(&self) -> impl Future<Output = ()>;

    /// A worker dies with a request that must have been granted.
    fn die_with(&self, key: &RequestKey) -> impl Future<Output = Worker<Self::Store>> {
        async {
            let worker = self.worker().await;
            worker.take(key).await;
            self.expire(&worker.session).await;
            worker
        }
    }

    /// A worker with an open session.
    fn worker(&self) -> impl Future<Output = Worker<Self::Store>> {
        Worker::open(self.store().clone())
    }
}

pub(super) struct TwinWorld(StoreTwin);

impl TwinWorld {
    pub(super) fn new() -> Self {
        Self(StoreTwin::new(Clock::system()))
    }
}

impl World for TwinWorld {
    type Store = StoreTwin;

    fn store(&self) -> &StoreTwin {
        &self.0
    }

    async fn expire(&self, session: &SessionId) {
        self.0.expire_session(session);
    }

    async fn empty(&self) {
        self.0.empty();
    }
}

pub(super) struct RedisWorld {
    store: RedisStore,
    pub(super) server: Server,
    // Last: the server is gone before its data.
    _folder: TempDir,
}

impl RedisWorld {
    pub(super) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(super) async fn start_as_cluster() -> Self {
        Self::start_with(|options| options.spread = Spread::OnePartition).await
    }

    pub(super) async fn start_with(change: impl FnOnce(&mut RedisOptions)) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let server = support::start(Tool::Redis, folder.path()).await;
        let mut options = options(&server);
        change(&mut options);
        let store = RedisStore::connect(options, Chance::system()).await;
        Self {
            store: store.expect("a store"),
            server,
            _folder: folder,
        }
    }

    /// Runs a command over a connection of its own, as an operator would.
    pub(super) async fn command<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        command(&self.server, words).await
    }
}

/// The usual options for a server.
pub(super) fn options(server: &Server) -> RedisOptions {
    RedisOptions::new(server.url().parse().expect("a url"))
}

/// Runs a command over a connection of its own.
pub(super) async fn command<T: redis::FromRedisValue>(server: &Server, words: &[&str]) -> T {
    let client = redis::Client::open(server.url()).expect("a url");
    let connection = client.get_multiplexed_async_connection().await;
    let (first, rest) = words.split_first().expect("a command");
    let mut command = redis::cmd(first);
    command.arg(rest);
    let answer = command
        .query_async(&mut connection.expect("a connection"))
        .await;
    answer.expect("an answer")
}

impl World for RedisWorld {
    type Store = RedisStore;

    fn store(&self) -> &RedisStore {
        &self.store
    }

    async fn expire(&self, session: &SessionId) {
        let pattern = format!("*:session:{session}");
        let keys: Vec<String> = self.command(&["KEYS", &pattern]).await;
        assert!(
            [0, 16].contains(&keys.len()),
            "one in each partition: {keys:?}"
        );
        for key in &keys {
            self.command::<()>(&["DEL", key]).await;
        }
    }

    async fn empty(&self) {
        self.command::<()>(&["FLUSHALL"]).await;
    }
}

/// A worker as the store sees it.
#[derive(Clone)]
pub(super) struct Worker<S> {
    pub(super) store: S,
    pub(super) session: SessionId,
}

impl<S: Claims + Sessions + Records> Worker<S> {
    pub(super) async fn open(store: S) -> Self {
        let session = SessionId::fresh(&Chance::system());
        let targets = ["echo".parse().expect("a name")];
        let opened = store.open(&session, "host-1", &targets).await;
        opened.expect("an epoch");
        Self { store, session }
    }

    /// Claims a request with a fresh nonce.
    pub(super) async fn ask(&self, key: &RequestKey) -> (Nonce, ClaimAnswer) {
        let nonce = Nonce::fresh(&Chance::system());
        (nonce, self.ask_with(key, nonce).await)
    }

    pub(super) async fn ask_with(&self, key: &RequestKey, nonce: Nonce) -> ClaimAnswer {
        self.ask_about(key, nonce, b"a question").await
    }

    pub(super) async fn ask_about(
        &self,
        key: &RequestKey,
        nonce: Nonce,
        payload: &[u8],
    ) -> ClaimAnswer {
        let claim = self.claim_of(key, nonce, payload);
        self.store.claim(claim).await.expect("an answer")
    }

    pub(super) fn claim_of(&self, key: &RequestKey, nonce: Nonce, payload: &[u8]) -> Claim {
        Claim {
            key: key.clone(),
            correlation: "chain-1".parse().expect("an id"),
            fingerprint: Fingerprint::of_bytes(payload),
            session: self.session.clone(),
            nonce,
            ack: AckToken::new("$JS.ACK.1"),
            deadline: Deadline::of(Clock::system().now(), Duration::from_secs(60), None),
        }
    }

    /// Claims a request that must be granted.
    pub(super) async fn take(&self, key: &RequestKey) -> (Nonce, Claimed) {
        match self.ask(key).await {
            (nonce, ClaimAnswer::Claimed(claimed)) => (nonce, claimed),
            (_, other) => panic!("not granted: {other:?}"),
        }
    }

    pub(super) async fn commit(
        &self,
        key: &RequestKey,
        nonce: Nonce,
        result: &'static [u8],
    ) -> CommitAnswer {
        let commit = Commit {
            result: Bytes::from_static(result),
            ..Commit::default()
        };
        let answer = self.store.commit(key, nonce, commit).await;
        answer.expect("an answer")
    }

    /// Commits the answer to a cancel.
    pub(super) async fn stop(&self, key: &RequestKey, nonce: Nonce) -> CommitAnswer {
        let commit = Commit {
            result: Bytes::from_static(b"stopped"),
            cancelled: true,
            ..Commit::default()
        };
        let answer = self.store.commit(key, nonce, commit).await;
        answer.expect("an answer")
    }

    /// Claims a request that must be exhausted.
    pub(super) async fn exhaust(&self, key: &RequestKey) -> (Nonce, Exhausted) {
        match self.ask(key).await {
            (nonce, ClaimAnswer::Exhausted(exhausted)) => (nonce, exhausted),
            (_, other) => panic!("not exhausted: {other:?}"),
        }
    }

    /// Claims and commits.
    pub(super) async fn answer(&self, key: &RequestKey, result: &'static [u8]) -> Nonce {
        let (nonce, _) = self.take(key).await;
        let committed = self.commit(key, nonce, result).await;
        assert_eq!(committed, CommitAnswer::Committed);
        nonce
    }

    pub(super) async fn record(&self, key: &RequestKey) -> Option<Record> {
        let records = self.store.read(std::slice::from_ref(key)).await;
        records.expect("an answer").pop().expect("one each")
    }
}

/// A request to the target `echo`.
pub(super) fn request(id: &str) -> RequestKey {
    RequestKey {
        target: "echo".parse().expect("a name"),
        request: id.parse().expect("an id"),
    }
}

/// What a request answers that was done by its first execution.
pub(super) fn done(result: Option<&'static [u8]>) -> ClaimAnswer {
    done_by(1, result)
}

/// What a request answers that was done by this execution.
pub(super) fn done_by(attempt: u32, result: Option<&'static [u8]>) -> ClaimAnswer {
    ClaimAnswer::Done {
        result: result.map(Bytes::from_static),
        correlation: "chain-1".parse().expect("an id"),
        attempt: Attempt::new(attempt),
        kin: None,
    }
}

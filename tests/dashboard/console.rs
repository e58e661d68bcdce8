//! A dashboard over a fleet, served by this process.

use std::{net::SocketAddr, num::NonZeroUsize};

use puruto_fleet::{
    broker::nats::{NatsClient, NatsOptions},
    client::{Client, Patience, Settings},
    clock::{Chance, Clock},
    config::Environment,
    contract::Subjects,
    gateway::dashboard::{self, Token},
    inspect::Onlooker,
    policy::{LivePolicies, PolicySet},
    store::redis::{RedisOptions, RedisStore},
};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{fleet::Fleet, patience::WITHIN};

/// What one has to know to see it.
pub(crate) const TOKEN: &str = "the token of this test";

/// Requests that it lists.
const RECENT: NonZeroUsize = NonZeroUsize::new(100_000).expect("it is more than none");

/// A dashboard; it ends with the value that stands for it.
#[derive(Debug)]
pub(crate) struct Console {
    address: SocketAddr,
    serving: JoinHandle<()>,
    stop: CancellationToken,
}

impl Console {
    /// A dashboard over `fleet`.
    pub(crate) async fn of(fleet: &Fleet) -> Self {
        Self::showing(fleet, true).await
    }

    /// The same; whether it shows prompts and results.
    pub(crate) async fn showing(fleet: &Fleet, content: bool) -> Self {
        let stop = CancellationToken::new();
        let settings = dashboard::Settings {
            token: Token::chosen(TOKEN),
            content,
            recent: RECENT,
            secure: false,
        };
        let routes = dashboard::routes(onlooker(fleet).await, settings, stop.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let service = routes.into_make_service_with_connect_info::<SocketAddr>();
        let serving = tokio::spawn(async move {
            axum::serve(listener, service).await.expect("it serves");
        });
        Self {
            address,
            serving,
            stop,
        }
    }

    /// Where it is served.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of a page of it.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The address that lets its reader in.
    pub(crate) fn way_in(&self) -> String {
        let token: String = url::form_urlencoded::byte_serialize(TOKEN.as_bytes()).collect();
        self.at(&format!("/?token={token}"))
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.stop.cancel();
        self.serving.abort();
    }
}

async fn onlooker(fleet: &Fleet) -> Onlooker {
    let (clock, chance) = (Clock::system(), Chance::system());
    let nats = NatsOptions::new(fleet.servers.nats.url(), "gateway", "dashboard");
    let nats = NatsClient::connect(nats).await.expect("a connection");
    let redis = fleet.servers.redis.url().parse().expect("an address");
    let store = RedisStore::connect(RedisOptions::new(redis), chance.clone()).await;
    let store = store.expect("a connection");
    let settings = Settings {
        subjects: Subjects::default(),
        policies: LivePolicies::fixed(PolicySet::default()),
        patience: Patience {
            grace: WITHIN,
            read_back: WITHIN,
        },
        clock: clock.clone(),
        chance: chance.clone(),
    };
    Onlooker {
        client: Client::new(nats.clone(), store.clone(), settings),
        nats,
        store,
        subjects: Subjects::default(),
        workers_dir: fleet.workers_dir.clone(),
        environment: Environment::default(),
        clock,
        chance,
    }
}

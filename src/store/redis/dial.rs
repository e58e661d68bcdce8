//! How a connection is made: where to, its time-outs, its buffers, and every script loaded on it.

use std::{sync::Arc, time::Duration};

use futures_util::future::try_join_all;
use redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, RedisResult,
    aio::MultiplexedConnection,
    io::tcp::{TcpSettings, socket2::TcpKeepalive},
};
use tokio::time::timeout;

use super::{
    super::StoreFault, answer, fault, link, options::RedisOptions, place::Place, scripts,
    sentinel::Sentinels,
};

/// How long bytes may stay unacknowledged before the system gives the connection up; without it a
/// vanished server is noticed after many minutes.
const UNACKED_MAX: Duration = Duration::from_secs(5);
/// How long a connection is silent before it is probed, and how far apart the probes are.
const PROBE_AFTER: Duration = Duration::from_secs(5);
/// How many calls may wait inside the client.
const PIPELINE_CALLS: usize = 4096;
/// How many bytes it gathers into one write.
const WRITE_BYTES: usize = 256 * 1024;

/// Makes connections to the server that is the store.
#[derive(Debug)]
pub(super) struct Dialer {
    source: Source,
    tcp: TcpSettings,
    config: AsyncConnectionConfig,
    within: Duration,
    /// What the store is called while there is no connection; without user and password.
    address: String,
}

/// Who says where the server is.
#[derive(Debug)]
enum Source {
    Fixed(Box<ConnectionInfo>),
    Sentinels(Arc<Sentinels>),
}

/// A connection, and the address that it leads to.
#[derive(Clone)]
pub(super) struct Dialled {
    pub(super) connection: MultiplexedConnection,
    pub(super) address: Arc<str>,
}

impl Dialer {
    pub(super) fn new(options: &RedisOptions) -> Result<Self, StoreFault> {
        let source = match &options.url.0 {
            Place::Server(info) => Source::Fixed(info.clone().into()),
            Place::Master(master) => {
                Source::Sentinels(Sentinels::new(master, &options.sentinel_login)?.into())
            }
        };
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(options.connect_timeout))
            // The link bounds every call as a whole.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(PIPELINE_CALLS)
            .set_write_backpressure_boundary(WRITE_BYTES);
        Ok(Self {
            source,
            tcp: tcp_settings(),
            config,
            within: options.connect_timeout,
            address: options.url.to_string(),
        })
    }

    /// Those who know the master, where there are any.
    pub(super) fn sentinels(&self) -> Option<Arc<Sentinels>> {
        match &self.source {
            Source::Fixed(_) => None,
            Source::Sentinels(sentinels) => Some(Arc::clone(sentinels)),
        }
    }

    /// What the store is called while there is no connection; without user and password.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// A connection on which every script is known.
    pub(super) async fn dial(&self) -> Result<Dialled, StoreFault> {
        let dialled = timeout(self.within, self.find_and_connect()).await;
        dialled.unwrap_or(Err(StoreFault::TimedOut {
            operation: "connect",
            after: self.within,
        }))
    }

    async fn find_and_connect(&self) -> Result<Dialled, StoreFault> {
        let info = match &self.source {
            Source::Fixed(info) => (**info).clone(),
            Source::Sentinels(sentinels) => sentinels.master().await?,
        };
        let address: Arc<str> = info.addr().to_string().into();
        let refused = |error| fault::classify(&error, "connect", &address).0;
        let client = Client::open(info.set_tcp_settings(self.tcp.clone())).map_err(refused)?;
        let connected = client.get_multiplexed_async_connection_with_config(&self.config);
        let mut connection = connected.await.map_err(refused)?;
        if let Source::Sentinels(_) = self.source
            && !is_master(&mut connection).await.map_err(refused)?
        {
            let reason = format!("the sentinels name {address}, which is not the master yet");
            return Err(StoreFault::Unready { reason });
        }
        load_all(&connection).await.map_err(refused)?;
        Ok(Dialled {
            connection,
            address,
        })
    }
}

fn tcp_settings() -> TcpSettings {
    let keepalive = TcpKeepalive::new()
        .with_time(PROBE_AFTER)
        .with_interval(PROBE_AFTER);
    let tcp = TcpSettings::default()
        .set_nodelay(true)
        .set_keepalive(keepalive);
    #[cfg(target_os = "linux")]
    let tcp = tcp.set_user_timeout(UNACKED_MAX);
    tcp
}

/// A Sentinel may know less than the server itself, for a while.
async fn is_master(connection: &mut MultiplexedConnection) -> RedisResult<bool> {
    let role = link::answer_of(connection, &redis::cmd("ROLE")).await?;
    let role = answer::array(&role).and_then(|it| answer::text(it.first()?));
    Ok(role == Some("master"))
}

async fn load_all(connection: &MultiplexedConnection) -> RedisResult<()> {
    // Each a command of its own: in a pipeline, an error loses its code.
    let loads = scripts::ALL.iter().map(|script| {
        let mut connection = connection.clone();
        async move { link::load(&mut connection, script).await }
    });
    try_join_all(loads).await.map(drop)
}

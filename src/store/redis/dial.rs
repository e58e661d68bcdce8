//! How a connection is made: its time-outs, its buffers, and every script loaded on it.

use std::time::Duration;

use futures_util::future::try_join_all;
use redis::{
    AsyncConnectionConfig, Client,
    aio::MultiplexedConnection,
    io::tcp::{TcpSettings, socket2::TcpKeepalive},
};
use tokio::time::timeout;

use super::{super::StoreFault, fault, link, options::RedisOptions, scripts};

/// How long bytes may stay unacknowledged before the system gives the connection up; without it a
/// vanished server is noticed after many minutes.
const UNACKED_MAX: Duration = Duration::from_secs(5);
/// How long a connection is silent before it is probed, and how far apart the probes are.
const PROBE_AFTER: Duration = Duration::from_secs(5);
/// How many calls may wait inside the client.
const PIPELINE_CALLS: usize = 4096;
/// How many bytes it gathers into one write.
const WRITE_BYTES: usize = 256 * 1024;

/// Makes connections to one server.
#[derive(Debug)]
pub(super) struct Dialer {
    client: Client,
    config: AsyncConnectionConfig,
    within: Duration,
    /// For people; without user and password.
    pub(super) address: String,
}

impl Dialer {
    pub(super) fn new(options: &RedisOptions) -> Result<Self, StoreFault> {
        let address = options.url.to_string();
        let keepalive = TcpKeepalive::new()
            .with_time(PROBE_AFTER)
            .with_interval(PROBE_AFTER);
        let tcp = TcpSettings::default()
            .set_nodelay(true)
            .set_keepalive(keepalive);
        #[cfg(target_os = "linux")]
        let tcp = tcp.set_user_timeout(UNACKED_MAX);
        let info = options.url.connection_info().clone();
        let client = Client::open(info.set_tcp_settings(tcp))
            .map_err(|error| fault::classify(&error, "connect", &address).0)?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(options.connect_timeout))
            // The link bounds every call as a whole.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(PIPELINE_CALLS)
            .set_write_backpressure_boundary(WRITE_BYTES);
        Ok(Self {
            client,
            config,
            within: options.connect_timeout,
            address,
        })
    }

    /// A connection on which every script is known.
    pub(super) async fn dial(&self) -> Result<MultiplexedConnection, StoreFault> {
        let dialled = timeout(self.within, self.connect_and_load()).await;
        match dialled {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(fault::classify(&error, "connect", &self.address).0),
            Err(_) => Err(StoreFault::TimedOut {
                operation: "connect",
                after: self.within,
            }),
        }
    }

    async fn connect_and_load(&self) -> redis::RedisResult<MultiplexedConnection> {
        let connection = self
            .client
            .get_multiplexed_async_connection_with_config(&self.config)
            .await?;
        // Each a command of its own: in a pipeline, an error loses its code.
        let loads = scripts::ALL.iter().map(|script| {
            let mut connection = connection.clone();
            async move { link::load(&mut connection, script).await }
        });
        try_join_all(loads).await?;
        Ok(connection)
    }
}

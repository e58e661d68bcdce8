//! Servers of tools that speak the Model Context Protocol: a program of the Puruto, over its
//! standard input and output, or a server elsewhere, over streamable HTTP.
//!
//! A server is started or greeted when it is first needed, and again when it went away. Never: a
//! tool that its configuration does not allow, a call that is made a second time, or a program
//! that goes on without its worker.

mod config;
mod connection;
mod outcome;
mod tool;

use std::{fmt, path::Path, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

pub use self::config::{InvalidMcp, McpConfig, McpTable, Place};
use self::connection::{Access, Connection};
use super::tools::{ServerName, Tool, ToolFailed, ToolServer};
use crate::handler::program::environment;

/// For how long a server that could not be had is not asked again: many runs may want it at once.
const AWAY_FOR: Duration = Duration::from_secs(5);

/// A server of tools. Clones are the same one.
#[derive(Clone)]
pub struct McpServer(Arc<Server>);

/// The variable for the key of a server is not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tool server {server} wants a key: set the environment variable {variable}")]
pub struct MissingKey {
    server: ServerName,
    variable: String,
}

impl McpServer {
    /// The server that `config` describes; a program of it runs in `folder`, the Puruto's. `lookup`
    /// has the worker's environment, of which a program sees what `config` names.
    ///
    /// # Errors
    /// The key that it wants is not there.
    pub fn new(
        config: McpConfig,
        folder: &Path,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, MissingKey> {
        let mut access = Access {
            folder: folder.to_owned(),
            environment: Vec::new(),
            key: None,
        };
        match &config.place {
            Place::Program { env, .. } => access.environment = environment(env, lookup),
            Place::Http {
                api_key_env: Some(variable),
                ..
            } => {
                let key = lookup(variable.as_str()).filter(|key| !key.is_empty());
                let missing = || MissingKey {
                    server: config.name.clone(),
                    variable: variable.as_str().to_owned(),
                };
                access.key = Some(key.ok_or_else(missing)?);
            }
            Place::Http { .. } => {}
        }
        Ok(Self(Arc::new(Server {
            config,
            access,
            state: Mutex::default(),
        })))
    }
}

impl fmt::Debug for McpServer {
    /// Without environment and key: they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "McpServer({:?})", self.0.config)
    }
}

impl ToolServer for McpServer {
    fn name(&self) -> &ServerName {
        &self.0.config.name
    }

    fn tools(&self) -> BoxFuture<'_, Result<Vec<Arc<dyn Tool>>, ToolFailed>> {
        Box::pin(tool::offered_by(&self.0))
    }
}

/// What the tools of a server share.
struct Server {
    config: McpConfig,
    access: Access,
    state: Mutex<State>,
}

/// Whether it can be had.
#[derive(Default)]
enum State {
    /// Nobody has asked, or it went away.
    #[default]
    Idle,
    /// It was there.
    Open(Arc<Connection>),
    /// It could not be had.
    Away { until: Instant, why: ToolFailed },
}

impl Server {
    fn name(&self) -> &str {
        self.config.name.as_str()
    }

    /// The connection to it, made now unless there is one. Whoever comes meanwhile waits for it.
    async fn connection(&self) -> Result<Arc<Connection>, ToolFailed> {
        let mut state = self.state.lock().await;
        match &*state {
            State::Open(connection) if !connection.is_closed() => {
                return Ok(Arc::clone(connection));
            }
            State::Away { until, why } if Instant::now() < *until => return Err(why.clone()),
            // What is left of a server that went away ends before another one begins.
            State::Idle | State::Open(_) | State::Away { .. } => *state = State::Idle,
        }
        match self.open().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                *state = State::Open(Arc::clone(&connection));
                Ok(connection)
            }
            Err(why) => {
                tracing::warn!(server = self.name(), error = %why, "a tool server cannot be had");
                *state = State::Away {
                    until: Instant::now() + AWAY_FOR,
                    why: why.clone(),
                };
                Err(why)
            }
        }
    }

    async fn open(&self) -> Result<Connection, ToolFailed> {
        let opening = Connection::open(&self.config, &self.access);
        let why = match timeout(self.config.timeout, Box::pin(opening)).await {
            Ok(Ok(connection)) => {
                tracing::info!(server = self.name(), "connected to a tool server");
                return Ok(connection);
            }
            Ok(Err(why)) => why,
            Err(_) => "it did not answer in time".to_owned(),
        };
        let name = self.name();
        Err(outcome::failed(&format!("{name} cannot be had: {why}")))
    }
}

#[cfg(test)]
mod tests;

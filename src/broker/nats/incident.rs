//! What happens to a connection, told once: as a log line, and to whoever counts.

use std::{fmt, sync::Arc};

use async_nats::{Event, ServerError};

use crate::broker::HeaderFault;

/// Something that happened to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incident {
    /// It broke; it is being made anew.
    Disconnected,
    /// It was made anew.
    Reconnected,
    /// Its task had died, and another was started in its place.
    Rebuilt,
    /// A subscription was full and lost messages.
    SlowConsumer,
    /// The server refused a subject for want of a permission.
    PermissionDenied(String),
    /// The server is about to stop.
    LameDuck,
    /// The server or the client library reported an error.
    Error(String),
    /// Nothing came from a pull although something had to, so it was begun anew.
    PullStalled,
    /// A message that no client can read was kept as a dead letter and removed.
    Unreadable {
        /// Its sequence in the stream of requests.
        sequence: u64,
        /// What is wrong with it.
        fault: HeaderFault,
    },
    /// Where a result was to stand there is a message that no client can read.
    UnreadableResult {
        /// Its sequence in the stream of results.
        sequence: u64,
        /// What is wrong with it.
        fault: HeaderFault,
    },
    /// A stream that had been deleted was made anew; what it held is gone.
    StreamRestored(String),
}

/// Is told each [`Incident`] and which connection it happened to.
#[derive(Clone)]
pub struct Observer(Arc<Tell>);

type Tell = dyn Fn(&'static str, &Incident) + Send + Sync;

impl Default for Observer {
    /// One that counts nothing.
    fn default() -> Self {
        Self::new(|_, _| {})
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl Observer {
    /// An observer that calls `tell` with a connection's use and what happened. It must not wait.
    pub fn new(tell: impl Fn(&'static str, &Incident) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Logs and tells.
    pub(super) fn happened(&self, connection: &'static str, incident: &Incident) {
        match incident {
            Incident::Reconnected => tracing::info!(connection, "nats reconnected"),
            Incident::Disconnected => tracing::warn!(connection, "nats disconnected"),
            Incident::Rebuilt => tracing::warn!(connection, "nats connection had died: rebuilt"),
            Incident::SlowConsumer => tracing::error!(connection, "nats subscription overflowed"),
            Incident::PermissionDenied(words) => {
                tracing::error!(connection, error = %words, "nats permission denied");
            }
            Incident::LameDuck => tracing::info!(connection, "nats server is about to stop"),
            Incident::Error(words) => tracing::warn!(connection, error = %words, "nats error"),
            Incident::PullStalled => tracing::warn!(connection, "nats pull was silent: begun anew"),
            Incident::Unreadable { sequence, fault } => {
                tracing::error!(connection, sequence, %fault, "unreadable: kept as a dead letter");
            }
            Incident::UnreadableResult { sequence, fault } => {
                tracing::error!(connection, sequence, %fault, "unreadable: in a result's place");
            }
            Incident::StreamRestored(place) => {
                tracing::error!(connection, place, "nats stream was gone: made anew");
            }
        }
        (self.0)(connection, incident);
    }
}

impl Incident {
    /// A stable, low-cardinality name for metrics.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Disconnected => "disconnected",
            Self::Reconnected => "reconnected",
            Self::Rebuilt => "rebuilt",
            Self::SlowConsumer => "slow_consumer",
            Self::PermissionDenied(_) => "permission_denied",
            Self::LameDuck => "lame_duck",
            Self::Error(_) => "error",
            Self::PullStalled => "pull_stalled",
            Self::Unreadable { .. } => "unreadable",
            Self::UnreadableResult { .. } => "unreadable_result",
            Self::StreamRestored(_) => "stream_restored",
        }
    }

    /// What an event of the client library means; `None` for those that we cause ourselves.
    pub(super) fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Connected => Some(Self::Reconnected),
            Event::Disconnected => Some(Self::Disconnected),
            Event::LameDuckMode => Some(Self::LameDuck),
            Event::SlowConsumer(_) => Some(Self::SlowConsumer),
            Event::ServerError(error) => Some(Self::of_server_error(error)),
            Event::ClientError(error) => Some(Self::Error(error.to_string())),
            Event::Draining | Event::Closed => None,
        }
    }

    fn of_server_error(error: &ServerError) -> Self {
        match error {
            ServerError::Other(words) if words.starts_with("Permissions Violation") => {
                Self::PermissionDenied(words.clone())
            }
            ServerError::SlowConsumer(_) => Self::SlowConsumer,
            ServerError::AuthorizationViolation | ServerError::Other(_) => {
                Self::Error(error.to_string())
            }
        }
    }
}

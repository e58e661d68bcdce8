//! Names of everything that is logged, traced and counted, and where it goes.
//!
//! Never: a prompt, a key or a payload; no id as a metric label.

use tracing_subscriber::{layer::SubscriberExt as _, registry};

use self::{logs::Logs, traces::Traces};
use crate::clock::Clock;

/// Whether this process can do its work now.
pub mod health;
/// The worker's own port.
pub mod http;
/// The values of the metrics' labels.
pub mod labels;
/// Where log events go.
pub mod logs;
/// Every counter of this process.
pub mod metrics;
/// The one table of names.
pub mod names;
/// Where a request stands in its caller's trace.
pub mod propagation;
/// Spans to an OTLP collector.
pub mod traces;

/// Logs and traces were set up before in this process.
#[derive(Debug, thiserror::Error)]
#[error("logs and traces are set up already in this process")]
pub struct AlreadyInitialized;

/// Sends this process's log events to `logs` and, where there are `traces`, its spans there.
///
/// # Errors
/// When the process has done so before.
pub fn init(logs: Logs, traces: Option<&Traces>, clock: Clock) -> Result<(), AlreadyInitialized> {
    let subscriber = registry()
        .with(traces.map(Traces::layer))
        .with(logs.layer(clock));
    tracing::subscriber::set_global_default(subscriber).map_err(|_| AlreadyInitialized)
}

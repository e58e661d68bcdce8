//! The model runtime as a worker has it, with everything on.

use std::{sync::Arc, time::Duration};

use puruto_fleet::{
    clock::{Chance, Clock},
    runtime::{
        AgentRuntime, Message, ModelCall, Shared,
        connector::transport::{ConnectionLimit, PoolRules, Pools},
    },
    telemetry::{
        self,
        logs::{LogFilter, LogFormat, LogOutput, Logs},
        metrics::Metrics,
        traces::{Traces, config::TraceConfig},
    },
};
use tokio::time::Instant;

use super::{Outcome, Servers};

/// What is asked.
pub(super) const PROMPT: &str = "Pay invoice #123 of 249.90 EUR for room 12 by transfer.";

/// Longer than any call takes here.
const PLENTY: Duration = Duration::from_secs(120);

/// A runtime whose spans go to a collector, whose log lines are written and whose calls are
/// counted.
#[derive(Clone)]
pub(super) struct Caller {
    runtime: Arc<AgentRuntime>,
    metrics: Metrics,
    traces: Arc<Traces>,
}

impl Caller {
    /// Calls the model that stands at `path` of its server.
    pub(super) fn observed(servers: &Servers<'_>, path: &str) -> Outcome<Self> {
        let variables = |name: &str| match name {
            "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(format!("http://{}", servers.collector)),
            _ => None,
        };
        let config = TraceConfig::from_vars(variables)?.ok_or("no collector")?;
        let traces = Traces::start(config)?;
        let logs = Logs {
            format: LogFormat::Json,
            output: LogOutput::Stderr,
            filter: "info".parse::<LogFilter>()?,
        };
        telemetry::init(logs, Some(&traces), Clock::system())?;
        let metrics = Metrics::new([]);
        let most = ConnectionLimit::nearest(ConnectionLimit::MAX.into());
        let shared = Shared {
            pools: Pools::new(PoolRules {
                connections: most,
                connections_per_host: most,
                ..PoolRules::default()
            }),
            ..Shared::new(Clock::system(), Chance::system(), metrics.runtime())
        };
        let base_url = format!("http://{}{path}", servers.model);
        let table = format!("provider = \"openai\"\nbase_url = \"{base_url}\"\nmodel = \"m-1\"");
        let runtime = AgentRuntime::open(&toml::from_str(&table)?, |_| None, shared)?;
        Ok(Self {
            runtime: Arc::new(runtime),
            metrics,
            traces: Arc::new(traces),
        })
    }

    /// One call.
    pub(super) async fn call(&self) -> Outcome<()> {
        let call = ModelCall::new(
            "bench-1".parse()?,
            self.runtime.model().clone(),
            vec![Message::user(PROMPT)],
            Instant::now() + PLENTY,
        );
        let answer = self.runtime.call(&call).await?;
        match answer.usage.total_tokens {
            48 => Ok(()),
            other => Err(format!("an answer of {other} tokens").into()),
        }
    }

    /// How many connections are in use, as the metrics tell it.
    pub(super) fn active(&self) -> usize {
        let text = self.metrics.render();
        let series = "runtime_connections_active{pool_name=\"openai\"} ";
        let value = text.lines().find_map(|line| line.strip_prefix(series));
        value.and_then(|it| it.parse().ok()).unwrap_or(0)
    }

    /// Sends the last spans.
    pub(super) fn close(self) -> Outcome<()> {
        let traces = Arc::into_inner(self.traces).ok_or("calls are still running")?;
        traces.shutdown()?;
        Ok(())
    }
}

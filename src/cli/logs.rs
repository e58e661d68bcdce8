//! Where a long-running command logs, as configured.

use std::io::{self, IsTerminal as _};

use super::{failure::Failure, session::World};
use crate::{
    config::{Config, LogStyle},
    telemetry::{
        self,
        logs::{LogFormat, LogOutput, Logs},
        traces::{Traces, config::TraceConfig},
    },
};

/// Logs and traces of this process.
#[derive(Debug)]
pub(super) struct Telemetry(Option<Traces>);

/// Starts them: logs to standard error, spans to wherever the `OTEL_*` variables say.
pub(super) fn start(config: &Config, world: &World) -> Result<Telemetry, Failure> {
    let refused = |error: &dyn std::error::Error| Failure::Telemetry(error.to_string());
    let vars = |name: &str| world.environment.lookup(name);
    let traces = TraceConfig::from_vars(vars).map_err(|error| refused(&error))?;
    let traces = traces.map(Traces::start).transpose();
    let traces = traces.map_err(|error| refused(&error))?;
    let logs = Logs {
        format: format_of(config.log.format),
        output: LogOutput::Stderr,
        filter: config.log.filter.clone(),
    };
    telemetry::init(logs, traces.as_ref(), world.clock.clone()).map_err(|error| refused(&error))?;
    Ok(Telemetry(traces))
}

fn format_of(style: LogStyle) -> LogFormat {
    match style {
        LogStyle::Auto if io::stderr().is_terminal() => LogFormat::Pretty,
        LogStyle::Auto | LogStyle::Json => LogFormat::Json,
        LogStyle::Plain => LogFormat::Plain,
        LogStyle::Pretty => LogFormat::Pretty,
    }
}

impl Telemetry {
    /// Sends what is left of the spans.
    pub(super) fn finish(self, world: &World) {
        if let Some(Err(error)) = self.0.map(Traces::shutdown) {
            world.output.error(format_args!("puruto: {error}"));
        }
    }
}

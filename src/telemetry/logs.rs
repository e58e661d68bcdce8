//! Where log events go: one JSON line each, or lines for people.
//!
//! A log line says what its event says, so an event names the request it speaks of; spans go to
//! `traces` alone, and cost nothing while nobody collects them.
//! Never: a control character from a field's value in the output, in either format, or what is said
//! to and by servers of tools.

use std::str::FromStr;

use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::{
    Layer,
    field::MakeExt as _,
    filter::{FilterExt as _, LevelFilter, Targets, filter_fn},
    fmt::{self, MakeWriter, format},
    registry::LookupSpan,
};

use self::json::JsonLines;
use crate::clock::Clock;

mod escape;
mod json;

/// The crate that speaks with servers of tools: below warnings it logs their messages.
const TELLS_WORDS: &str = "rmcp";

/// What a log line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object a line, for machines.
    Json,
    /// Text for people, without colour.
    Plain,
    /// Text for people at a terminal.
    Pretty,
}

/// Where the lines go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogOutput {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A filter that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// A part without `=` that is no level: most likely a level misspelt.
    #[error(
        "log filter {part:?} is no level: use off, error, warn, info, debug or trace, or target=level"
    )]
    NoLevel {
        /// The part as given.
        part: String,
    },
    /// A part `target=level` that does not parse.
    #[error(
        "log filter {part:?} is not target=level ({source}): for example info,puruto_fleet=debug"
    )]
    NoDirective {
        /// The part as given.
        part: String,
        /// What the parser says.
        source: tracing_subscriber::filter::ParseError,
    },
}

/// Which events are logged: `info`, or `warn,puruto_fleet::runtime=debug`.
#[derive(Clone, Debug)]
pub struct LogFilter(Targets);

impl FromStr for LogFilter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let parts = text.split(',').map(str::trim);
        parts
            .filter(|part| !part.is_empty())
            .try_fold(Targets::new(), with_part)
            .map(Self)
    }
}

/// Adds one part of a filter; a level alone holds for every target not named otherwise.
fn with_part(targets: Targets, part: &str) -> Result<Targets, FilterError> {
    if let Ok(level) = LevelFilter::from_str(part) {
        return Ok(targets.with_default(level));
    }
    if !part.contains('=') {
        return Err(FilterError::NoLevel { part: part.into() });
    }
    let directive = Targets::from_str(part).map_err(|source| FilterError::NoDirective {
        part: part.into(),
        source,
    })?;
    Ok(targets.with_targets(directive))
}

/// What is logged, how and where to.
#[derive(Clone, Debug)]
pub struct Logs {
    /// What a line looks like.
    pub format: LogFormat,
    /// Where the lines go.
    pub output: LogOutput,
    /// Which events are logged.
    pub filter: LogFilter,
}

impl Logs {
    /// The layer that writes these logs.
    pub(super) fn layer<S>(self, clock: Clock) -> Box<dyn Layer<S> + Send + Sync>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        match self.output {
            LogOutput::Stdout => layer(self.format, self.filter, clock, std::io::stdout),
            LogOutput::Stderr => layer(self.format, self.filter, clock, std::io::stderr),
        }
    }
}

fn layer<S, W>(
    format: LogFormat,
    filter: LogFilter,
    clock: Clock,
    writer: W,
) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    // A log that cannot be written is lost: saying so on a closed standard error would panic.
    let layer = fmt::layer().with_writer(writer).log_internal_errors(false);
    let filter = filter.0.and(filter_fn(may_be_logged));
    match format {
        LogFormat::Json => layer
            .event_format(JsonLines(clock))
            .with_filter(filter)
            .boxed(),
        LogFormat::Plain | LogFormat::Pretty => layer
            .with_ansi(format == LogFormat::Pretty)
            .event_format(format::Format::default().with_timer(TimeOf(clock)))
            .fmt_fields(format::debug_fn(escape::field).delimited(" "))
            .with_filter(filter)
            .boxed(),
    }
}

/// An event, unless a crate tells by it what it carries, whatever level was asked for.
fn may_be_logged(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    let tells = target == TELLS_WORDS
        || target
            .strip_prefix(TELLS_WORDS)
            .is_some_and(|rest| rest.starts_with("::"));
    metadata.is_event() && !(tells && *metadata.level() > Level::WARN)
}

/// Shows the fleet's clock at the head of a line.
struct TimeOf(Clock);

impl fmt::time::FormatTime for TimeOf {
    fn format_time(&self, to: &mut format::Writer<'_>) -> std::fmt::Result {
        write!(to, "{}", self.0.now())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use serde_json::Value;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::clock::WallTime;

    const HOSTILE: &str = "x\n{\"level\":\"ERROR\"}\r\u{1b}[31mred\u{9b}2J\u{7f}\u{2028}";

    #[derive(Clone, Default)]
    struct Captured(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, filter: &str, story: impl FnOnce()) -> String {
        let captured = Captured::default();
        let writer = captured.clone();
        let clock = Clock::manual(WallTime::from_unix_millis(1_250));
        let layer = layer(format, filter.parse().unwrap(), clock, move || {
            writer.clone()
        });
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, story);
        String::from_utf8(captured.0.lock().unwrap().clone()).unwrap()
    }

    fn is_one_clean_line(text: &str) -> bool {
        text.strip_suffix('\n')
            .is_some_and(|line| !line.chars().any(|c| c.is_control() || c == '\u{2028}'))
    }

    #[test]
    fn an_event_is_one_flat_json_line() {
        let text = logged(LogFormat::Json, "info", || {
            tracing::info!(
                request_id = "r-1",
                duration_ms = 12,
                tokens_used = 34_u64,
                ok = true,
                "request_completed"
            );
        });
        assert_eq!(
            text,
            "{\"timestamp\":\"1970-01-01T00:00:01.25Z\",\"level\":\"INFO\",\
             \"target\":\"puruto_fleet::telemetry::logs::tests\",\"message\":\"request_completed\",\
             \"request_id\":\"r-1\",\"duration_ms\":12,\"tokens_used\":34,\"ok\":true}\n"
        );
    }

    #[test]
    fn a_field_cannot_forge_or_double_a_key_of_the_line() {
        let text = logged(LogFormat::Json, "info", || {
            tracing::info!(level = "ERROR", timestamp = "never", "request_initiated");
        });
        assert_eq!(text.matches("\"level\"").count(), 1, "{text}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["level"], "INFO");
        assert_eq!(line["timestamp"], "1970-01-01T00:00:01.25Z");
    }

    #[test]
    fn hostile_text_in_a_json_line_is_escaped_and_reads_back_as_it_was() {
        let text = logged(LogFormat::Json, "info", || {
            tracing::info!(value = HOSTILE, shown = %HOSTILE, "said {HOSTILE}");
        });
        assert!(is_one_clean_line(&text), "{text:?}");
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["value"], HOSTILE);
        assert_eq!(line["shown"], HOSTILE);
        assert_eq!(line["message"], format!("said {HOSTILE}"));
        assert_eq!(line["level"], "INFO");
    }

    #[test]
    fn hostile_text_in_a_line_for_people_is_escaped() {
        let text = logged(LogFormat::Plain, "info", || {
            tracing::info!(value = HOSTILE, shown = %HOSTILE, "said {HOSTILE}");
        });
        assert!(is_one_clean_line(&text), "{text:?}");
        assert!(text.starts_with("1970-01-01T00:00:01.25Z"), "{text:?}");
        assert!(
            text.contains("said x\\n{\"level\":\"ERROR\"}\\r\\u{1b}[31mred"),
            "{text:?}"
        );
    }

    #[test]
    fn the_filter_lets_pass_what_it_names() {
        let text = logged(
            LogFormat::Json,
            "warn, puruto_fleet=debug, quiet=off",
            || {
                tracing::debug!("ours");
                tracing::info!(target: "theirs", "info of theirs");
                tracing::warn!(target: "theirs", "warning of theirs");
                tracing::error!(target: "quiet", "error of the quiet");
            },
        );
        let messages: Vec<_> = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["message"].clone())
            .collect();
        assert_eq!(messages, ["ours", "warning of theirs"]);
    }

    #[test]
    fn what_is_said_to_servers_of_tools_is_not_logged_at_any_level() {
        let text = logged(LogFormat::Json, "trace, rmcp=trace", || {
            tracing::info!(target: "rmcp::service", "a message");
            tracing::warn!(target: "rmcp::service", "a warning");
            tracing::info!(target: "rmcper", "another crate");
        });
        assert!(!text.contains("a message"), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
    }

    #[test]
    fn a_wrong_filter_says_which_part_and_what_is_allowed() {
        let error = "info,inof".parse::<LogFilter>().unwrap_err().to_string();
        assert!(
            error.contains("\"inof\"") && error.contains("debug"),
            "{error}"
        );
        let error = "puruto_fleet=loud"
            .parse::<LogFilter>()
            .unwrap_err()
            .to_string();
        assert!(error.contains("\"puruto_fleet=loud\""), "{error}");
    }

    #[test]
    fn a_line_inside_a_collected_span_names_its_place_in_the_trace() {
        let tracer = SdkTracerProvider::builder().build().tracer("test");
        let captured = Captured::default();
        let writer = captured.clone();
        let (info, clock) = ("info".parse().unwrap(), Clock::system());
        let subscriber = tracing_subscriber::registry()
            .with(tracing_opentelemetry::layer().with_tracer(tracer))
            .with(layer(LogFormat::Json, info, clock, move || writer.clone()));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info_span!("process").in_scope(|| tracing::info!("inside"));
            tracing::info!("outside");
        });
        let text = String::from_utf8(captured.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["trace_id"].as_str().map(str::len), Some(32));
        assert_eq!(lines[0]["span_id"].as_str().map(str::len), Some(16));
        assert_eq!(lines[1].get("trace_id"), None);
    }

    #[test]
    fn a_span_costs_nothing_when_only_logs_are_written() {
        logged(LogFormat::Json, "trace", || {
            assert!(tracing::info_span!("agent-runtime-request").is_disabled());
        });
    }
}

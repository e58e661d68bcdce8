//! One event as one JSON object on one line.
//!
//! Keys of the line itself come first and cannot be taken by a field. While spans are collected,
//! `trace_id` and `span_id` tell where the event stands in them.

use std::fmt;

use opentelemetry::{Context, trace::TraceContextExt as _};
use serde_json::{Map, Number, Value};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

use super::escape::is_unsafe;
use crate::clock::Clock;

/// Formats events as JSON lines.
pub(super) struct JsonLines(pub(super) Clock);

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut to: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let mut line = Map::new();
        line.insert("timestamp".into(), self.0.now().to_string().into());
        line.insert("level".into(), metadata.level().as_str().into());
        line.insert("target".into(), metadata.target().into());
        insert_trace(&mut line);
        event.record(&mut Fields(&mut line));
        let line = serde_json::to_string(&line).map_err(|_| fmt::Error)?;
        write_ascii_controls(&mut to, &line)?;
        to.write_char('\n')
    }
}

/// Names the span around the event, if spans are collected.
fn insert_trace(line: &mut Map<String, Value>) {
    Context::map_current(|context| {
        let span = context.span();
        let place = span.span_context();
        if place.is_valid() {
            line.insert("trace_id".into(), place.trace_id().to_string().into());
            line.insert("span_id".into(), place.span_id().to_string().into());
        }
    });
}

/// Writes JSON text; what JSON lets stand but a terminal obeys can only stand in a string of it.
fn write_ascii_controls(to: &mut Writer<'_>, json: &str) -> fmt::Result {
    for run in json.split_inclusive(is_unsafe) {
        let mut rest = run.chars();
        match rest.next_back() {
            Some(last) if is_unsafe(last) => {
                write!(to, "{}\\u{:04x}", rest.as_str(), u32::from(last))?;
            }
            _ => to.write_str(run)?,
        }
    }
    Ok(())
}

/// Adds an event's fields to its line; a key that stands already stays.
struct Fields<'l>(&'l mut Map<String, Value>);

impl Fields<'_> {
    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.entry(field.name()).or_insert_with(|| value.into());
    }
}

impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, Number::from_f64(value).map(Value::Number));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }
}

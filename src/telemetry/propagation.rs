//! The W3C Trace Context in headers: where a request stands in its caller's trace.
//!
//! Headers are seen through closures, so that this knows no broker. What comes in is checked
//! byte by byte, since it goes out again: a malformed `traceparent` is ignored, never an error.
//! Never: work beyond that check while no spans are collected; the context then passes unchanged.

use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState},
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::contract::Header;

/// Bytes of a `traceparent` of version 00: `00-<32 hex>-<16 hex>-<2 hex>`.
const TRACEPARENT_LEN: usize = 55;
/// A `traceparent` of a later version may be longer, up to here.
const MAX_TRACEPARENT: usize = 128;
/// What the standard asks everyone to carry at least.
const MAX_TRACESTATE: usize = 512;

/// A well-formed trace context as it came in, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {
    traceparent: Option<Box<str>>,
    // Only beside a `traceparent`.
    tracestate: Option<Box<str>>,
}

/// Reads the trace context from headers, given a way to look one up.
pub fn parent_of<'h>(get: impl Fn(Header) -> Option<&'h str>) -> TraceContext {
    let Some(traceparent) = get(Header::TraceParent).filter(|text| parse(text).is_some()) else {
        return TraceContext::default();
    };
    let tracestate = get(Header::TraceState).filter(|text| is_tracestate(text));
    TraceContext {
        traceparent: Some(traceparent.into()),
        tracestate: tracestate.map(Into::into),
    }
}

impl TraceContext {
    /// Whether nothing well-formed came in.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.traceparent.is_none()
    }

    /// Makes `span` a child of this context; a span that is not collected stays as it is.
    ///
    /// To be called before the span is entered for the first time.
    pub fn adopt(&self, span: &Span) {
        if span.is_disabled() {
            return;
        }
        let Some(parent) = self.span_context() else {
            return;
        };
        let parent = Context::new().with_remote_span_context(parent);
        if let Err(error) = span.set_parent(parent) {
            tracing::debug!(%error, "trace_parent_refused");
        }
    }

    fn span_context(&self) -> Option<SpanContext> {
        let (trace, span, flags) = parse(self.traceparent.as_deref()?)?;
        let state = self.tracestate.as_deref().unwrap_or_default();
        let state: TraceState = state.parse().unwrap_or_default();
        let flags = flags & TraceFlags::SAMPLED;
        Some(SpanContext::new(trace, span, flags, true, state))
    }
}

/// Writes the place of `span` to headers; if it is not collected, `incoming` unchanged.
pub fn inject(span: &Span, incoming: &TraceContext, mut set: impl FnMut(Header, &str)) {
    if let Some((traceparent, tracestate)) = place_of(span) {
        set(Header::TraceParent, &traceparent);
        if !tracestate.is_empty() {
            set(Header::TraceState, &tracestate);
        }
        return;
    }
    if let Some(traceparent) = &incoming.traceparent {
        set(Header::TraceParent, traceparent);
    }
    if let Some(tracestate) = &incoming.tracestate {
        set(Header::TraceState, tracestate);
    }
}

fn place_of(span: &Span) -> Option<(String, String)> {
    if span.is_disabled() {
        return None;
    }
    let context = span.context();
    let span = context.span();
    let place = span.span_context();
    place.is_valid().then(|| {
        let (trace, id, flags) = (place.trace_id(), place.span_id(), place.trace_flags());
        let traceparent = format!("00-{trace}-{id}-{flags:02x}");
        (traceparent, place.trace_state().header())
    })
}

/// Trace id, span id and flags of a `traceparent`; `None` for whatever the standard calls invalid.
fn parse(text: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    let (head, tail) = text.split_at_checked(TRACEPARENT_LEN)?;
    let mut parts = head.split('-');
    let version = hex::<2>(parts.next()?)?;
    let trace = TraceId::from_hex(hex::<32>(parts.next()?)?).ok()?;
    let span = SpanId::from_hex(hex::<16>(parts.next()?)?).ok()?;
    let flags = u8::from_str_radix(hex::<2>(parts.next()?)?, 16).ok()?;
    let ids_are_set = trace != TraceId::INVALID && span != SpanId::INVALID;
    let ends = match version {
        "ff" => false,
        "00" => tail.is_empty(),
        _later => is_later_tail(tail) && text.len() <= MAX_TRACEPARENT,
    };
    (ids_are_set && ends).then(|| (trace, span, TraceFlags::new(flags)))
}

/// `text` if it is exactly `LEN` lower-case hexadecimal digits.
fn hex<const LEN: usize>(text: &str) -> Option<&str> {
    let is_hex = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == LEN && text.bytes().all(is_hex)).then_some(text)
}

fn is_later_tail(tail: &str) -> bool {
    tail.is_empty() || (tail.starts_with('-') && tail.bytes().all(|byte| byte.is_ascii_graphic()))
}

fn is_tracestate(text: &str) -> bool {
    let is_printable = |byte| matches!(byte, b' '..=b'~' | b'\t');
    (1..=MAX_TRACESTATE).contains(&text.len()) && text.bytes().all(is_printable)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn incoming(traceparent: &str, tracestate: Option<&str>) -> TraceContext {
        parent_of(|header| match header {
            Header::TraceParent => Some(traceparent),
            Header::TraceState => tracestate,
            _ => None,
        })
    }

    fn outgoing(span: &Span, incoming: &TraceContext) -> HashMap<Header, String> {
        let mut headers = HashMap::new();
        inject(span, incoming, |header, value| {
            headers.insert(header, value.to_owned());
        });
        headers
    }

    #[test]
    fn without_collected_spans_a_context_passes_unchanged() {
        for traceparent in [
            PARENT,
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-more",
        ] {
            let headers = outgoing(&Span::none(), &incoming(traceparent, Some("a=1,b=2")));
            assert_eq!(headers[&Header::TraceParent], traceparent);
            assert_eq!(headers[&Header::TraceState], "a=1,b=2");
        }
        assert!(outgoing(&Span::none(), &TraceContext::default()).is_empty());
    }

    #[test]
    fn a_malformed_traceparent_is_ignored_with_its_tracestate() {
        for malformed in [
            "",
            "nonsense",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-a\r\nX: y",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-é1",
        ] {
            assert!(incoming(malformed, Some("a=1")).is_empty(), "{malformed}");
        }
        let long = format!("01{}-{}", &PARENT[2..], "m".repeat(MAX_TRACEPARENT));
        assert!(incoming(&long, None).is_empty());
    }

    #[test]
    fn a_tracestate_that_could_break_a_header_is_left_out() {
        let long = "a".repeat(MAX_TRACESTATE + 1);
        for bad in ["a=1\r\nX: y", "a=\u{1b}", "é=1", "", &long] {
            let headers = outgoing(&Span::none(), &incoming(PARENT, Some(bad)));
            assert_eq!(
                headers.get(&Header::TraceParent).map(String::as_str),
                Some(PARENT)
            );
            assert_eq!(headers.get(&Header::TraceState), None, "{bad:?}");
        }
    }

    #[test]
    fn a_collected_span_continues_the_trace_it_came_from() {
        let tracer = SdkTracerProvider::builder().build().tracer("test");
        let layer = tracing_opentelemetry::layer().with_tracer(tracer);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let span = tracing::info_span!("process");
            let caller = incoming(PARENT, Some("a=1"));
            caller.adopt(&span);

            let headers = outgoing(&span, &caller);
            let sent = incoming(
                &headers[&Header::TraceParent],
                Some(&headers[&Header::TraceState]),
            );
            let (from, to) = (caller.span_context().unwrap(), sent.span_context().unwrap());
            assert_eq!(to.trace_id(), from.trace_id());
            assert_ne!(to.span_id(), from.span_id());
            assert!(to.is_sampled());
            assert_eq!(headers[&Header::TraceState], "a=1");
        });
    }
}

//! The trace to which a request belongs.

use tracing::Span;

use crate::{
    broker::Headers,
    contract::PurutoName,
    telemetry::propagation::{self, TraceContext},
};

/// The trace context that came with a request, and the span of its processing here.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    incoming: TraceContext,
    span: Span,
}

impl Trace {
    pub(super) fn of(headers: &Headers, target: &PurutoName) -> Self {
        let incoming = propagation::parent_of(|header| headers.get(header));
        let span = tracing::info_span!(
            "process",
            otel.kind = "consumer",
            messaging.system = "nats",
            messaging.operation.name = "process",
            messaging.operation.type = "process",
            messaging.consumer.group.name = %target,
        );
        incoming.adopt(&span);
        Self { incoming, span }
    }

    pub(super) const fn span(&self) -> &Span {
        &self.span
    }

    pub(super) fn inject(&self, headers: &mut Headers) {
        propagation::inject(&self.span, &self.incoming, |header, value| {
            headers.push(header, value);
        });
    }
}

//! The trace to which a request belongs.
//!
//! Names and attributes are those of OpenTelemetry's messaging conventions. Never: a body.

use tracing::Span;

use crate::{
    broker::{Delivery, Headers},
    contract::{CorrelationId, Header, PurutoName},
    telemetry::propagation::{self, TraceContext},
};

/// The trace context that came with a request, and the span of its processing here.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    incoming: TraceContext,
    span: Span,
}

impl Trace {
    pub(super) fn of(
        delivery: &Delivery,
        target: &PurutoName,
        correlation: &CorrelationId,
    ) -> Self {
        let incoming = propagation::parent_of(|header| delivery.headers.get(header));
        let span = tracing::info_span!(
            "process",
            otel.name = %format_args!("process {}", delivery.subject),
            otel.kind = "consumer",
            messaging.system = "nats",
            messaging.operation.name = "process",
            messaging.operation.type = "process",
            messaging.destination.name = %delivery.subject,
            messaging.consumer.group.name = %target,
            messaging.message.id = delivery.headers.get(Header::MessageId),
            messaging.message.conversation_id = %correlation,
            messaging.message.body.size = delivery.body.len(),
        );
        incoming.adopt(&span);
        Self { incoming, span }
    }

    pub(super) const fn span(&self) -> &Span {
        &self.span
    }

    /// The span in which its result is published.
    pub(super) fn publishing(&self, correlation: &CorrelationId) -> Span {
        tracing::info_span!(
            parent: &self.span,
            "publish",
            otel.name = "publish result",
            otel.kind = "producer",
            messaging.system = "nats",
            messaging.operation.name = "publish",
            messaging.operation.type = "send",
            messaging.destination.template = "result.{correlation_id}.{request_id}",
            messaging.message.conversation_id = %correlation,
        )
    }

    /// The span in which its message is acked.
    pub(super) fn settling(&self, subject: &str) -> Span {
        tracing::info_span!(
            parent: &self.span,
            "ack",
            otel.name = %format_args!("ack {subject}"),
            otel.kind = "client",
            messaging.system = "nats",
            messaging.operation.name = "ack",
            messaging.operation.type = "settle",
            messaging.destination.name = subject,
        )
    }

    pub(super) fn inject(&self, headers: &mut Headers) {
        propagation::inject(&self.span, &self.incoming, |header, value| {
            headers.push(header, value);
        });
    }
}

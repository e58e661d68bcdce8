//! Spans to an OTLP collector over HTTP, as the standard `OTEL_*` variables say.
//!
//! Without an endpoint nothing is built and a span costs a load of a static. With one, spans are
//! batched on a thread of their own; a collector that is away costs spans, never a request.
//! Never: a span of another crate (the exporter's own requests would be traced), a wait without
//! bound at the end.

use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{ExporterBuildError, Protocol, WithExportConfig as _};
use opentelemetry_sdk::{Resource, error::OTelSdkError, trace::SdkTracerProvider};
use tracing::{Level, Subscriber};
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};

use self::{config::TraceConfig, reporting::Reporting};
use crate::runtime::connector::transport::install_tls;

/// What the standard variables say.
pub mod config;
mod lists;
mod reporting;

/// How long the last spans may take to reach the collector when a process ends.
pub const FLUSH_WITHIN: Duration = Duration::from_secs(5);

/// Spans of this crate, and of no other, are collected.
const COLLECTED: &str = "puruto_fleet";

/// A collector that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// The exporter refused its settings.
    #[error("spans cannot be exported ({0}): check the OTEL_EXPORTER_OTLP_* variables")]
    Exporter(#[from] ExporterBuildError),
    /// The last spans did not reach the collector within [`FLUSH_WITHIN`].
    #[error("the last spans may not have reached the collector: {0}")]
    Flush(#[from] OTelSdkError),
}

/// The running export of spans.
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Starts to export as `config` says; makes one thread.
    ///
    /// # Errors
    /// When an `OTEL_EXPORTER_OTLP_*` setting does not fit, for example an unknown compression.
    pub fn start(config: TraceConfig) -> Result<Self, TracesError> {
        install_tls();
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(config.endpoint)
            .build()?;
        let resource = Resource::builder()
            .with_service_name(config.service_name)
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(Reporting::new(exporter))
            .with_sampler(config.sampler)
            .with_resource(resource)
            .build();
        Ok(Self { provider })
    }

    /// The layer that collects this crate's spans.
    pub(super) fn layer<S>(&self) -> Box<dyn Layer<S> + Send + Sync>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer(COLLECTED))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(Targets::new().with_target(COLLECTED, Level::INFO))
            .boxed()
    }

    /// Exports what is left and stops; blocks its thread for at most [`FLUSH_WITHIN`].
    ///
    /// # Errors
    /// When the collector did not take the last spans in that time.
    pub fn shutdown(self) -> Result<(), TracesError> {
        self.provider.shutdown_with_timeout(FLUSH_WITHIN)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, net::SocketAddr};

    use axum::{Router, body::Bytes, extract::State, routing::post};
    use opentelemetry_proto::tonic::{
        collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value, trace::v1::Span,
    };
    use prost::Message as _;
    use tokio::{net::TcpListener, sync::mpsc};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    /// A collector that hands on what it is sent.
    async fn collector() -> (
        SocketAddr,
        mpsc::UnboundedReceiver<ExportTraceServiceRequest>,
    ) {
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let take = |State(arrived): State<mpsc::UnboundedSender<_>>, body: Bytes| async move {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            arrived.send(request).unwrap();
        };
        let app = Router::new()
            .route("/v1/traces", post(take))
            .with_state(arrived);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await });
        (addr, arrivals)
    }

    fn traces_to(endpoint: &str) -> Traces {
        let vars = HashMap::from([
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
            ("OTEL_SERVICE_NAME", "fleet-under-test"),
        ]);
        let config = TraceConfig::from_vars(|name| vars.get(name).map(ToString::to_string));
        Traces::start(config.unwrap().unwrap()).unwrap()
    }

    fn tell_story(traces: &Traces) {
        let subscriber = tracing_subscriber::registry().with(traces.layer());
        tracing::subscriber::with_default(subscriber, || {
            let request = tracing::info_span!("agent-runtime-request", request_id = "r-1");
            let _entered = request.enter();
            tracing::info_span!("api-call").in_scope(|| ());
            tracing::info_span!(target: "hyper", "of another crate").in_scope(|| ());
        });
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn spans_arrive_at_the_collector_before_the_process_ends() {
        let (addr, mut arrivals) = collector().await;
        let traces = traces_to(&format!("http://{addr}/"));
        tell_story(&traces);
        let end = tokio::task::spawn_blocking(|| traces.shutdown());
        end.await.unwrap().unwrap();

        let request = arrivals.recv().await.unwrap();
        let sent = &request.resource_spans[0];
        let service = &sent.resource.as_ref().unwrap().attributes;
        let service = service.iter().find(|kv| kv.key == "service.name").unwrap();
        assert_eq!(
            service.value.as_ref().unwrap().value,
            Some(any_value::Value::StringValue("fleet-under-test".into()))
        );
        let mut spans: Vec<&Span> = sent.scope_spans.iter().flat_map(|s| &s.spans).collect();
        spans.sort_by_key(|span| &span.name);
        let names: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(names, ["agent-runtime-request", "api-call"]);
        assert_eq!(spans[1].parent_span_id, spans[0].span_id);
        assert!(spans[0].attributes.iter().any(|kv| kv.key == "request_id"));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_collector_that_is_away_does_not_hold_up_the_end() {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = free.local_addr().unwrap();
        drop(free);
        let traces = traces_to(&format!("http://{addr}"));
        tell_story(&traces);
        let end = tokio::task::spawn_blocking(|| drop(traces.shutdown()));
        tokio::time::timeout(FLUSH_WITHIN * 2, end)
            .await
            .unwrap()
            .unwrap();
    }
}

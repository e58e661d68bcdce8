//! Says once when spans stop reaching the collector, and once when they do again.
//!
//! Never: a log line for each lost batch.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};

use super::lists::listed;

/// An exporter whose failures are logged when they begin and when they end.
#[derive(Debug)]
pub(super) struct Reporting<E> {
    inner: E,
    failing: AtomicBool,
}

impl<E> Reporting<E> {
    pub(super) const fn new(inner: E) -> Self {
        Self {
            inner,
            failing: AtomicBool::new(false),
        }
    }

    fn report(&self, result: &OTelSdkResult) {
        let was_failing = self.failing.swap(result.is_err(), Ordering::Relaxed);
        match (was_failing, result) {
            (false, Err(error)) => tracing::warn!(%error, "trace_export_failing"),
            (true, Ok(())) => tracing::info!("trace_export_recovered"),
            (true, Err(_)) | (false, Ok(())) => {}
        }
    }
}

impl<E: SpanExporter> SpanExporter for Reporting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let result = self.inner.export(listed(batch)).await;
        self.report(&result);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

//! What is counted of the gateway's requests.
//!
//! Never: a path, which may hold an id; a route is labelled as it is written in the router.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec, IntGauge};

use super::{NO_LABELS, register::Registrar};
use crate::telemetry::names;

/// The counters of whoever asks over HTTP.
#[derive(Debug)]
pub struct HttpMetrics {
    requests: IntCounterVec,
    duration: HistogramVec,
    connections: IntGauge,
    streams: IntGauge,
}

/// One request as it was answered.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'r> {
    /// The route, as the router has it.
    pub route: &'r str,
    /// The method, one of those that HTTP defines.
    pub method: &'static str,
    /// The status, three digits.
    pub status: &'r str,
    /// From the request's head to the head of its answer.
    pub took: Duration,
}

impl HttpMetrics {
    pub(super) fn register(to: &Registrar<'_>) -> Self {
        Self {
            requests: to.counter(&names::HTTP_REQUESTS),
            duration: to.histogram(&names::HTTP_REQUEST_DURATION),
            connections: to
                .gauge(&names::HTTP_CONNECTIONS)
                .with_label_values(&NO_LABELS),
            streams: to.gauge(&names::HTTP_STREAMS).with_label_values(&NO_LABELS),
        }
    }

    /// A request was answered.
    pub fn answered(&self, answered: &Answered<'_>) {
        let Answered {
            route,
            method,
            status,
            took,
        } = *answered;
        self.requests
            .with_label_values(&[route, method, status])
            .inc();
        self.duration
            .with_label_values(&[route])
            .observe(took.as_secs_f64());
    }

    /// A connection is open until the returned value is dropped.
    #[must_use = "the connection counts as open until this is dropped"]
    pub fn connection_opened(&self) -> Open {
        Open::in_count_of(&self.connections)
    }

    /// A stream of events is open until the returned value is dropped.
    #[must_use = "the stream counts as open until this is dropped"]
    pub fn stream_opened(&self) -> Open {
        Open::in_count_of(&self.streams)
    }
}

/// One of those that are open, until it is dropped.
#[derive(Debug)]
pub struct Open(IntGauge);

impl Open {
    fn in_count_of(gauge: &IntGauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

//! What is counted of model calls.
//!
//! Never: a label without bound; a model, pool or circuit beyond the first few dozen reads `other`.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use super::{
    gen_ai::GenAiMetrics,
    register::{CounterBy, Fold, Registrar},
};
use crate::{
    circuit::Throttle,
    runtime::{
        ModelName,
        breaker::{BreakerState, CircuitName},
        observe::{CallDone, Observe, Validation},
    },
    telemetry::{labels::Label, names},
};

/// The counters of the model runtime.
#[derive(Debug)]
pub struct RuntimeMetrics {
    requests: IntCounterVec,
    duration: HistogramVec,
    connections_active: IntGaugeVec,
    connections_wait: HistogramVec,
    retries: IntCounterVec,
    failovers: IntCounterVec,
    validations: CounterBy<Validation>,
    breaker: IntGaugeVec,
    throttled: HistogramVec,
    gen_ai: GenAiMetrics,
    models: Fold,
    pools: Fold,
    circuits: Fold,
}

impl RuntimeMetrics {
    pub(super) fn register(to: &Registrar<'_>) -> Self {
        let validations = to.counter(&names::RUNTIME_CONTRACT_VALIDATIONS);
        Self {
            requests: to.counter(&names::RUNTIME_REQUESTS),
            duration: to.histogram(&names::RUNTIME_REQUEST_DURATION),
            connections_active: to.gauge(&names::RUNTIME_CONNECTIONS_ACTIVE),
            connections_wait: to.histogram(&names::RUNTIME_CONNECTIONS_WAIT),
            retries: to.counter(&names::RUNTIME_RETRIES),
            failovers: to.counter(&names::ROUTE_FAILOVERS),
            validations: CounterBy::new(|result: Validation| {
                validations.with_label_values(&[result.text()])
            }),
            breaker: to.gauge(&names::RUNTIME_CIRCUIT_BREAKER_STATE),
            throttled: to.histogram(&names::MODEL_THROTTLED),
            gen_ai: GenAiMetrics::register(to),
            models: Fold::default(),
            pools: Fold::default(),
            circuits: Fold::default(),
        }
    }
}

impl Observe for RuntimeMetrics {
    fn request_done(&self, done: &CallDone<'_>) {
        let model = self.models.fold(done.model.as_str());
        self.requests
            .with_label_values(&[model, done.status().text()])
            .inc();
        self.duration
            .with_label_values(&[model])
            .observe(done.took.as_secs_f64());
        self.gen_ai.request_done(model, done);
    }

    fn retried(&self, model: &ModelName, error_type: &'static str) {
        let model = self.models.fold(model.as_str());
        self.retries.with_label_values(&[model, error_type]).inc();
    }

    fn failed_over(&self, from: &ModelName, error_type: &'static str) {
        let model = self.models.fold(from.as_str());
        self.failovers.with_label_values(&[model, error_type]).inc();
    }

    fn validated(&self, result: Validation) {
        self.validations.inc(result);
    }

    fn circuit(&self, circuit: &CircuitName, state: BreakerState) {
        self.breaker
            .with_label_values(&[self.circuits.fold(circuit.as_str())])
            .set(state.reading());
    }

    fn connection_waited(&self, pool: &str, waited: Duration) {
        self.connections_wait
            .with_label_values(&[self.pools.fold(pool)])
            .observe(waited.as_secs_f64());
    }

    fn connection_acquired(&self, pool: &str) {
        self.connections_active
            .with_label_values(&[self.pools.fold(pool)])
            .inc();
    }

    fn connection_released(&self, pool: &str) {
        self.connections_active
            .with_label_values(&[self.pools.fold(pool)])
            .dec();
    }

    fn throttled(&self, by: Throttle, wait: Duration) {
        self.throttled
            .with_label_values(&[by.as_str()])
            .observe(wait.as_secs_f64());
    }
}

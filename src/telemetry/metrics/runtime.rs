//! What is counted of model calls.
//!
//! Never: a label without bound; a model, pool or circuit beyond the first few dozen reads `other`.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use super::register::{CounterBy, Fold, Registrar};
use crate::telemetry::{
    labels::{BreakerState, Label, RequestStatus, ValidationResult},
    names,
};

/// The counters of the model runtime.
#[derive(Debug)]
pub struct RuntimeMetrics {
    requests: IntCounterVec,
    duration: HistogramVec,
    connections_active: IntGaugeVec,
    connections_wait: HistogramVec,
    retries: IntCounterVec,
    validations: CounterBy<ValidationResult>,
    breaker: IntGaugeVec,
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
            validations: CounterBy::new(|result: ValidationResult| {
                validations.with_label_values(&[result.text()])
            }),
            breaker: to.gauge(&names::RUNTIME_CIRCUIT_BREAKER_STATE),
            models: Fold::default(),
            pools: Fold::default(),
            circuits: Fold::default(),
        }
    }

    /// A request to `model`, its retries included, ended after `took`.
    pub fn request_done(&self, model: &str, status: RequestStatus, took: Duration) {
        let model = self.models.fold(model);
        self.requests
            .with_label_values(&[model, status.text()])
            .inc();
        self.duration
            .with_label_values(&[model])
            .observe(took.as_secs_f64());
    }

    /// A call to `model` is tried again after an error of this type.
    pub fn retried(&self, model: &str, error_type: &'static str) {
        self.retries
            .with_label_values(&[self.models.fold(model), error_type])
            .inc();
    }

    /// An answer was held against the output contract.
    pub fn validated(&self, result: ValidationResult) {
        self.validations.inc(result);
    }

    /// A call waited so long for its connection from `pool`.
    pub fn connection_waited(&self, pool: &str, waited: Duration) {
        self.connections_wait
            .with_label_values(&[self.pools.fold(pool)])
            .observe(waited.as_secs_f64());
    }

    /// So many connections of `pool` are in use.
    pub fn set_connections_active(&self, pool: &str, active: usize) {
        self.connections_active
            .with_label_values(&[self.pools.fold(pool)])
            .set(i64::try_from(active).unwrap_or(i64::MAX));
    }

    /// The breaker of `circuit` went to `state`.
    pub fn set_breaker_state(&self, circuit: &str, state: BreakerState) {
        self.breaker
            .with_label_values(&[self.circuits.fold(circuit)])
            .set(state.reading());
    }
}

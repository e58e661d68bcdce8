//! What can be seen of a call: its spans, its log events and what is counted.
//!
//! The names and fields are those of the runtime's specification; OpenTelemetry's stand beside
//! them. Never: a prompt, an answer or a key.

use std::{fmt, time::Duration};

use tracing::{Span, debug, error, field::Empty, info, info_span, warn};

pub(super) use self::conventions::{
    api_call_ended, api_call_span, attempt_ended, requested, responded, retry_span, streamed,
};
use super::{
    AgentRuntime, CallFailed, Fault, ModelAnswer, ModelCall, ModelName, Usage,
    breaker::{BreakerState, Change, CircuitName},
    contract::Coercion,
    retry::Attempt,
};
use crate::{circuit::Throttle, clock::WallTime, contract::Violation};

mod conventions;

/// Counts what happens to calls. The runtime does not know where the counts go.
pub trait Observe: Send + Sync + fmt::Debug {
    /// A call ended, its retries included. A call that is dropped does not end.
    fn request_done(&self, done: &CallDone<'_>);

    /// A call to `model` is tried again after a fault of this type.
    fn retried(&self, model: &ModelName, error_type: &'static str);

    /// The next route is asked, as a call to `from` ended in a fault of this type.
    fn failed_over(&self, from: &ModelName, error_type: &'static str);

    /// An answer was held against the output contract.
    fn validated(&self, result: Validation);

    /// The breaker of `circuit` stands there now.
    fn circuit(&self, circuit: &CircuitName, state: BreakerState);

    /// A call waited so long for a connection of this pool, whether it got one or not.
    fn connection_waited(&self, _pool: &str, _waited: Duration) {}

    /// A call uses a connection of this pool from now on.
    fn connection_acquired(&self, _pool: &str) {}

    /// A call uses its connection of this pool no longer.
    fn connection_released(&self, _pool: &str) {}

    /// A call waits so long for its turn.
    fn throttled(&self, _by: Throttle, _wait: Duration) {}
}

/// For whoever counts nothing.
impl Observe for () {
    fn request_done(&self, _: &CallDone<'_>) {}
    fn retried(&self, _: &ModelName, _: &'static str) {}
    fn failed_over(&self, _: &ModelName, _: &'static str) {}
    fn validated(&self, _: Validation) {}
    fn circuit(&self, _: &CircuitName, _: BreakerState) {}
}

/// A call that ended.
#[derive(Clone, Copy, Debug)]
pub struct CallDone<'c> {
    /// Whose model it was.
    pub provider: &'static str,
    /// The model that was asked.
    pub model: &'c ModelName,
    /// How long it took.
    pub took: Duration,
    /// How long its latest attempt took to the first word, where the answer was streamed.
    pub to_first: Option<Duration>,
    /// The tokens of its answer, or the type of the fault that it ended with.
    pub outcome: Result<Usage, &'static str>,
}

impl CallDone<'_> {
    /// How it ended.
    #[must_use]
    pub const fn status(&self) -> CallStatus {
        match self.outcome {
            Ok(_) => CallStatus::Ok,
            Err(_) => CallStatus::Error,
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// With an answer.
    Ok,
    /// Without.
    Error,
}

/// What the output contract says of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// It holds the contract.
    Valid,
    /// It breaks it.
    Invalid,
}

pub(super) fn request_span(call: &ModelCall) -> Span {
    info_span!(
        "agent-runtime-request",
        request_id = %call.request_id,
        model = %call.model,
    )
}

pub(super) fn acquire_span(request: &Span, pool_name: &'static str) -> Span {
    info_span!(parent: request, "connection-acquire", pool_name, wait_time = Empty)
}

/// Notes on the span how long the wait was, in seconds.
pub(super) fn acquire_ended(span: &Span, waited: Duration) {
    span.record("wait_time", waited.as_secs_f64());
}

pub(super) fn build_span() -> Span {
    info_span!("request-build", payload_size = Empty)
}

pub(super) fn parse_span(request: &Span, response_size: usize) -> Span {
    info_span!(parent: request, "response-parse", response_size)
}

pub(super) fn validate_span(request: &Span) -> Span {
    info_span!(parent: request, "contract-validate", result = Empty, violations = Empty)
}

pub(super) fn emit_span(output_size: usize) -> Span {
    info_span!("response-emit", output_size)
}

/// Notes on the validation's span what the contract said.
pub(super) fn validate_ended(span: &Span, outcome: &Result<ModelAnswer, Fault>) {
    match outcome {
        Ok(_) => {
            span.record("result", "valid");
        }
        Err(fault) => {
            span.record("result", fault.error_type());
            span.record("violations", tracing::field::display(fault));
        }
    }
}

pub(super) fn initiated(call: &ModelCall, now: WallTime) {
    info!(
        request_id = %call.request_id,
        model = %call.model,
        timestamp = %now,
        "request_initiated"
    );
}

pub(super) fn completed(call: &ModelCall, answer: &ModelAnswer, took: Duration) {
    info!(
        request_id = %call.request_id,
        duration_ms = millis(took),
        tokens_used = answer.usage.total_tokens,
        "request_completed"
    );
}

pub(super) fn failed(call: &ModelCall, failed: &CallFailed) {
    error!(
        request_id = %call.request_id,
        error_code = failed.fault.code().as_str(),
        error_message = %failed,
        "request_failed"
    );
}

pub(super) fn retrying(call: &ModelCall, attempt: Attempt, fault: &Fault, delay: Duration) {
    warn!(
        request_id = %call.request_id,
        attempt = attempt.number(),
        error_type = fault.error_type(),
        delay_ms = millis(delay),
        "retry_triggered"
    );
}

/// The specification knows of one model alone, and so of no event for it.
pub(super) fn failed_over(
    call: &ModelCall,
    from: &AgentRuntime,
    to: &AgentRuntime,
    error_type: &'static str,
) {
    let named = |route: &AgentRuntime| format!("{}/{}", route.provider(), route.model());
    warn!(
        request_id = %call.request_id,
        from = named(from),
        to = named(to),
        error_type,
        "route_failed_over"
    );
}

/// The specification knows of no call that corrects an answer.
pub(super) fn repairing(call: &ModelCall, violations: usize) {
    warn!(request_id = %call.request_id, violations, "answer_repair");
}

pub(super) fn throttled(call: &ModelCall, by: Throttle, wait: Duration) {
    debug!(
        request_id = %call.request_id,
        limit = by.as_str(),
        delay_ms = millis(wait),
        "call_throttled"
    );
}

pub(super) fn violated(call: &ModelCall, violations: &[Violation]) {
    let violations: Vec<String> = violations.iter().map(ToString::to_string).collect();
    error!(request_id = %call.request_id, ?violations, "contract_violation");
}

pub(super) fn circuit_changed(circuit: &CircuitName, change: Change) {
    let circuit_name = circuit.as_str();
    match change {
        Change::Opened { failed_percent } => {
            let failure_rate = f64::from(failed_percent) / 100.0;
            error!(circuit_name, failure_rate, "circuit_opened");
        }
        // The specification has no event for it.
        Change::HalfOpened => debug!(circuit_name, "circuit_half_open"),
        Change::Closed => info!(circuit_name, "circuit_closed"),
    }
}

pub(super) fn coerced(call: &ModelCall, coercions: &[Coercion]) {
    for Coercion { field, from, to } in coercions {
        debug!(request_id = %call.request_id, field, from, to, "type_coerced");
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;

//! The spans that OpenTelemetry's conventions know too: that of a call and those of its attempts.
//!
//! GenAI conventions see the call with all its retries, HTTP conventions each request: the first
//! stands on the span of the call, which has no attempt's span of its own. Never: a prompt, an
//! answer or a key.

use tracing::{Span, field::Empty, info_span};

use crate::runtime::{
    CallFailed, Fault, ModelAnswer, ModelCall, connector::Connector, contract::AnswerShape,
    fault::HttpStatus, retry::Attempt,
};

pub(in crate::runtime) fn api_call_span(connector: &Connector, call: &ModelCall) -> Span {
    info_span!(
        "api-call",
        endpoint = connector.endpoint(),
        status_code = Empty,
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = connector.provider(),
        gen_ai.request.model = %call.model,
        gen_ai.request.temperature = connector.temperature(call).map(f64::from),
        gen_ai.request.max_tokens = connector.max_tokens(call).map(|it| it.0.get()),
        gen_ai.request.stream = call.tokens.as_ref().map(|_| true),
        gen_ai.output.type = output_type(connector.shape(call)),
        gen_ai.response.id = Empty,
        gen_ai.response.model = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.response.time_to_first_chunk = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        server.address = connector.server_address(),
        server.port = connector.server_port(),
        http.request.method = Empty,
        http.response.status_code = Empty,
        network.protocol.version = Empty,
        url.full = Empty,
        error.type = Empty,
    )
}

const fn output_type(shape: &AnswerShape) -> &'static str {
    match shape {
        AnswerShape::Text => "text",
        AnswerShape::Json | AnswerShape::Schema(_) => "json",
    }
}

// Names of spans are fixed when the program is built.
macro_rules! retry_span {
    ($name:literal, $attempt_num:ident) => {
        info_span!(
            $name,
            attempt_num = $attempt_num,
            error = Empty,
            otel.kind = "client",
            http.request.method = Empty,
            http.request.resend_count = $attempt_num,
            http.response.status_code = Empty,
            network.protocol.version = Empty,
            url.full = Empty,
            error.type = Empty,
        )
    };
}

/// None for the first attempt, which the span around it already shows.
pub(in crate::runtime) fn retry_span(attempt: Attempt) -> Span {
    let attempt_num = attempt.number();
    match attempt_num {
        0 => Span::none(),
        1 => retry_span!("retry-attempt-1", attempt_num),
        2 => retry_span!("retry-attempt-2", attempt_num),
        3 => retry_span!("retry-attempt-3", attempt_num),
        // The number stands in the field.
        _ => retry_span!("retry-attempt-N", attempt_num),
    }
}

/// Notes on the attempt's span that it sends a request to `url`, which holds no credentials.
pub(in crate::runtime) fn requested(url: &str) {
    let attempt = Span::current();
    attempt.record("http.request.method", "POST");
    attempt.record("network.protocol.version", "1.1");
    attempt.record("url.full", url);
}

/// Notes on the attempt's span which status came back.
pub(in crate::runtime) fn responded(status: HttpStatus) {
    Span::current().record("http.response.status_code", status.0);
}

/// Notes on the attempt's span how it ended.
pub(in crate::runtime) fn attempt_ended(attempt: &Span, outcome: &Result<ModelAnswer, Fault>) {
    if let Err(fault) = outcome {
        attempt.record("error", fault.error_type());
        attempt.record("error.type", fault.error_type());
    }
}

/// Notes on the span around all attempts how they ended. Once, when that is known: what is recorded
/// twice is sent twice, and a collector may show either.
pub(in crate::runtime) fn api_call_ended(
    api_call: &Span,
    outcome: &Result<ModelAnswer, CallFailed>,
) {
    match outcome {
        Ok(answer) => answered(api_call, answer),
        Err(CallFailed { fault, .. }) => {
            api_call.record("error.type", fault.error_type());
            if let Some(status) = fault.http_status() {
                api_call.record("status_code", status.0);
            }
        }
    }
}

fn answered(api_call: &Span, answer: &ModelAnswer) {
    api_call.record("status_code", 200);
    api_call.record("gen_ai.response.model", answer.model.as_str());
    // A list by convention; the exporter makes it one.
    api_call.record(
        "gen_ai.response.finish_reasons",
        answer.finish_reason.as_str(),
    );
    api_call.record("gen_ai.usage.input_tokens", answer.usage.prompt_tokens);
    api_call.record("gen_ai.usage.output_tokens", answer.usage.completion_tokens);
    if let Some(id) = answer.response_id() {
        api_call.record("gen_ai.response.id", id);
    }
}

/// Notes on the call's span how long its latest attempt took to the first word, in seconds.
pub(in crate::runtime) fn streamed(api_call: &Span, call: &ModelCall) {
    if let Some(to_first) = call.time_to_first() {
        api_call.record(
            "gen_ai.response.time_to_first_chunk",
            to_first.as_secs_f64(),
        );
    }
}

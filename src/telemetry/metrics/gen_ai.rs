//! What OpenTelemetry's GenAI conventions count of model calls, in the buckets that they ask for.
//!
//! Never: a model that the caller has not folded.

use prometheus::HistogramVec;

use super::register::Registrar;
use crate::{runtime::observe::CallDone, telemetry::names};

/// Seconds.
const SECONDS: &[f64] = &[
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

/// Tokens, in powers of four.
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// The histograms of the conventions.
#[derive(Debug)]
pub(super) struct GenAiMetrics {
    duration: HistogramVec,
    tokens: HistogramVec,
    to_first: HistogramVec,
}

impl GenAiMetrics {
    pub(super) fn register(to: &Registrar<'_>) -> Self {
        Self {
            duration: to.histogram_in(SECONDS, &names::GEN_AI_DURATION),
            tokens: to.histogram_in(TOKENS, &names::GEN_AI_TOKENS),
            to_first: to.histogram_in(SECONDS, &names::GEN_AI_TO_FIRST),
        }
    }

    /// A call to `model`, as it is to be labelled, ended.
    pub(super) fn request_done(&self, model: &str, done: &CallDone<'_>) {
        let error_type = done.outcome.err().unwrap_or_default();
        self.duration
            .with_label_values(&[done.provider, model, error_type])
            .observe(done.took.as_secs_f64());
        if let Some(to_first) = done.to_first {
            let to_first = to_first.as_secs_f64();
            self.to_first.with_label_values(&[model]).observe(to_first);
        }
        if let Ok(usage) = done.outcome {
            let counted = [
                ("input", usage.prompt_tokens),
                ("output", usage.completion_tokens),
            ];
            for (kind, tokens) in counted {
                let family = self.tokens.with_label_values(&[model, kind]);
                family.observe(tokens as f64);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        runtime::{ModelName, Usage, observe::Observe as _},
        telemetry::metrics::Metrics,
    };

    /// A streamed call that took a second, half of it to the first word.
    pub(in crate::telemetry::metrics) const fn answered(model: &ModelName) -> CallDone<'_> {
        CallDone {
            provider: "openai",
            model,
            took: Duration::from_secs(1),
            to_first: Some(Duration::from_millis(500)),
            outcome: Ok(Usage {
                prompt_tokens: 3,
                completion_tokens: 5,
                total_tokens: 8,
            }),
        }
    }

    #[test]
    fn a_call_is_counted_in_the_buckets_of_the_conventions() {
        let metrics = Metrics::new([]);
        let model = "m".parse().unwrap();
        let answered = answered(&model);
        let failed = CallDone {
            to_first: None,
            outcome: Err("timeout"),
            ..answered
        };
        metrics.runtime().request_done(&answered);
        metrics.runtime().request_done(&failed);
        let text = metrics.render();
        for line in [
            "operation_duration_seconds_bucket{error_type=\"\",model=\"m\",provider=\"openai\",le=\"0.64\"} 0",
            "operation_duration_seconds_bucket{error_type=\"\",model=\"m\",provider=\"openai\",le=\"1.28\"} 1",
            "operation_duration_seconds_count{error_type=\"timeout\",model=\"m\",provider=\"openai\"} 1",
            "operation_time_to_first_chunk_seconds_bucket{model=\"m\",le=\"0.64\"} 1",
            "operation_time_to_first_chunk_seconds_count{model=\"m\"} 1",
            "token_usage_sum{model=\"m\",type=\"input\"} 3",
            "token_usage_bucket{model=\"m\",type=\"output\",le=\"4\"} 0",
            "token_usage_bucket{model=\"m\",type=\"output\",le=\"16\"} 1",
        ] {
            let line = format!("gen_ai_client_{line}");
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }
}

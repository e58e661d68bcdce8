//! What is told of a measurement.

use std::time::Duration;

use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};
use serde_json::{Value, json};

use super::{BenchArgs, Measured, Usage, fleet::PartUsage};

/// A measurement, ready to be shown.
#[derive(Debug)]
pub(super) struct Report {
    settings: Value,
    invocations: usize,
    repeated: usize,
    took: Duration,
    latencies: Vec<Duration>,
    parts: [(&'static str, Usage); 4],
}

impl Report {
    pub(super) fn new(
        args: &BenchArgs,
        measured: &Measured,
        took: Duration,
        before: &PartUsage,
        after: &PartUsage,
    ) -> Self {
        let mut latencies = measured.latencies.clone();
        latencies.sort_unstable();
        Self {
            settings: json!({
                "n": args.n, "in_flight": args.in_flight, "workers": args.workers,
                "concurrency": args.concurrency.unwrap_or(args.in_flight),
                "latency_ms": millis(args.latency), "prompt_bytes": args.prompt_bytes,
            }),
            invocations: latencies.len(),
            repeated: measured.repeated,
            took,
            latencies,
            parts: [
                ("client", after.client.since(before.client)),
                ("workers", after.workers.since(before.workers)),
                ("nats", after.nats.since(before.nats)),
                ("redis", after.redis.since(before.redis)),
            ],
        }
    }

    fn rate(&self) -> f64 {
        count(self.invocations) / self.took.as_secs_f64()
    }

    /// The latency that this share of all invocations stayed within.
    fn quantile(&self, per_mille: usize) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        let at = last * per_mille / 1_000;
        self.latencies.get(at).copied().unwrap_or_default()
    }

    fn micros_each(&self, usage: Usage) -> f64 {
        usage.cpu.as_secs_f64() * 1e6 / count(self.invocations).max(1.0)
    }

    pub(super) fn to_json(&self) -> String {
        let parts: serde_json::Map<_, _> = self
            .parts
            .iter()
            .map(|(name, usage)| {
                let told = json!({
                    "cpu_s": usage.cpu.as_secs_f64(),
                    "cpu_us_per_invocation": self.micros_each(*usage),
                    "peak_mb": megabytes(usage.peak_bytes),
                });
                ((*name).to_owned(), told)
            })
            .collect();
        let all = json!({
            "settings": self.settings,
            "invocations": self.invocations,
            "repeated_results": self.repeated,
            "seconds": self.took.as_secs_f64(),
            "invocations_per_second": self.rate(),
            "latency_ms": {
                "p50": millis(self.quantile(500)),
                "p90": millis(self.quantile(900)),
                "p99": millis(self.quantile(990)),
                "max": millis(self.quantile(1_000)),
            },
            "parts": parts,
        });
        format!("{all:#}\n")
    }

    pub(super) fn to_table(&self) -> String {
        let mut parts = Table::new();
        parts.load_style(UTF8_HORIZONTAL_ONLY);
        parts.set_header(["", "CPU s", "CPU us/invocation", "peak MB"]);
        for (name, usage) in &self.parts {
            parts.add_row([
                (*name).to_owned(),
                format!("{:.2}", usage.cpu.as_secs_f64()),
                format!("{:.1}", self.micros_each(*usage)),
                format!("{:.1}", megabytes(usage.peak_bytes)),
            ]);
        }
        format!(
            "{} invocations in {:.2} s: {:.0}/s, {} repeated results\n\
             latency p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, max {:.2} ms\n{parts}\n",
            self.invocations,
            self.took.as_secs_f64(),
            self.rate(),
            self.repeated,
            millis(self.quantile(500)),
            millis(self.quantile(900)),
            millis(self.quantile(990)),
            millis(self.quantile(1_000)),
        )
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_taken_from_the_sorted_latencies() {
        let report = Report {
            settings: Value::Null,
            invocations: 101,
            repeated: 0,
            took: Duration::from_secs(1),
            latencies: (0..=100).map(Duration::from_millis).collect(),
            parts: [("client", Usage::default()); 4],
        };
        assert_eq!(report.quantile(500), Duration::from_millis(50));
        assert_eq!(report.quantile(990), Duration::from_millis(99));
        assert_eq!(report.quantile(1_000), Duration::from_millis(100));
        assert!(
            report
                .to_table()
                .starts_with("101 invocations in 1.00 s: 101/s")
        );
    }
}

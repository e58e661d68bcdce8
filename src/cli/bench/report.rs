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
        rate(self.invocations, self.took)
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

/// What hostile messages cost.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Invocations a second of the rounds without them.
    pub(super) without: Vec<f64>,
    /// The same of the rounds with them.
    pub(super) with: Vec<f64>,
    /// How many were published.
    pub(super) hostile: u64,
    /// How many dead letters there were in the end.
    pub(super) dead_letters: u64,
    /// Whether every worker outlived it.
    pub(super) same_workers: bool,
}

impl Comparison {
    /// What of the throughput was left, as a share.
    fn left(&self) -> f64 {
        mean(&self.with) / mean(&self.without)
    }

    pub(super) fn show(&self, as_json: bool) -> String {
        let Self {
            without,
            with,
            hostile,
            dead_letters,
            same_workers,
        } = self;
        if as_json {
            let all = json!({
                "invocations_per_second": { "without": without, "with": with },
                "throughput_left": self.left(),
                "hostile_messages": hostile,
                "dead_letters": dead_letters,
                "every_worker_lived": same_workers,
            });
            return format!("{all:#}\n");
        }
        let rates = |rates: &[f64]| {
            let each = rates.iter().map(|rate| format!("{rate:.0}"));
            each.collect::<Vec<_>>().join(", ")
        };
        let lived = if *same_workers {
            "every worker lived"
        } else {
            "A WORKER DIED"
        };
        format!(
            "invocations/s without hostile messages: {}\n\
             invocations/s with hostile messages: {}\n\
             {:.1} % of the throughput left; {hostile} hostile messages, {dead_letters} dead \
             letters; {lived}\n",
            rates(without),
            rates(with),
            self.left() * 100.0,
        )
    }
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / count(rates.len()).max(1.0)
}

/// So many a second.
pub(super) fn rate(invocations: usize, took: Duration) -> f64 {
    count(invocations) / took.as_secs_f64()
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
    fn what_is_left_of_the_throughput_is_told() {
        let comparison = Comparison {
            without: vec![90.0, 110.0],
            with: vec![95.0],
            hostile: 7,
            dead_letters: 7,
            same_workers: true,
        };
        let told = "95.0 % of the throughput left; 7 hostile messages, 7 dead letters";
        assert!(comparison.show(false).contains(told));
        assert!(comparison.show(true).contains("\"throughput_left\": 0.95"));
    }

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

//! The one table of every metric, span and log event: its name, shape and meaning.
//!
//! Dashboards and alerts read these names; a test holds the runtime's against its specification,
//! to the letter. Never: a value, a registry, a label that can take any value (an id, a prompt).

use tracing::Level;

/// The attributes of OpenTelemetry's conventions.
pub mod conventions;

/// How a metric behaves over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows while the process lives.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts observations in buckets; the unit stands in the name.
    Histogram,
}

/// One row of the table of metrics.
#[derive(Clone, Copy, Debug)]
pub struct MetricDef {
    /// The name as scraped.
    pub name: &'static str,
    /// How it behaves over time.
    pub kind: MetricKind,
    /// The label names, in the order in which values are given.
    pub labels: &'static [&'static str],
    /// What it counts, in a sentence without full stop.
    pub help: &'static str,
}

/// One row of the table of spans.
#[derive(Clone, Copy, Debug)]
pub struct SpanDef {
    /// The span's name; an `N` at its end stands for a number.
    pub name: &'static str,
    /// The name of the span around it; `None` for the outermost.
    pub parent: Option<&'static str>,
    /// The attributes it carries.
    pub attributes: &'static [&'static str],
}

/// One row of the table of log events.
#[derive(Clone, Copy, Debug)]
pub struct EventDef {
    /// The event's name, which is its message.
    pub name: &'static str,
    /// How loud it is.
    pub level: Level,
    /// The fields it carries.
    pub fields: &'static [&'static str],
}

// A row makes its constant and its entry in the table at once, so that neither can lack the other.
macro_rules! metrics {
    ($($id:ident: $kind:ident $name:literal [$($label:literal),*] $help:literal;)+) => {
        $(
            #[doc = concat!("`", $name, "`: ", $help, ".")]
            pub const $id: MetricDef = MetricDef {
                name: $name,
                kind: MetricKind::$kind,
                labels: &[$($label),*],
                help: $help,
            };
        )+
        /// Every metric.
        pub const METRICS: &[MetricDef] = &[$($id),+];
    };
}

metrics! {
    RUNTIME_REQUESTS: Counter "runtime_requests_total" ["model", "status"] "Total requests";
    RUNTIME_REQUEST_DURATION: Histogram "runtime_request_duration_seconds" ["model"] "Request latency";
    RUNTIME_CONNECTIONS_ACTIVE: Gauge "runtime_connections_active" ["pool_name"] "Active connections";
    RUNTIME_CONNECTIONS_WAIT: Histogram "runtime_connections_wait_seconds" ["pool_name"] "Wait time";
    RUNTIME_RETRIES: Counter "runtime_retries_total" ["model", "error_type"] "Retry count";
    RUNTIME_CONTRACT_VALIDATIONS: Counter "runtime_contract_validations_total" ["result"] "Validation count";
    RUNTIME_CIRCUIT_BREAKER_STATE: Gauge "runtime_circuit_breaker_state" ["circuit_name"] "CB state (0/1/2)";

    GEN_AI_DURATION: Histogram "gen_ai_client_operation_duration_seconds" ["provider", "model", "error_type"] "Model calls with their retries, by the type of the fault that ended them";
    GEN_AI_TOKENS: Histogram "gen_ai_client_token_usage" ["model", "type"] "Tokens of one call's question (input) and answer (output)";
    GEN_AI_TO_FIRST: Histogram "gen_ai_client_operation_time_to_first_chunk_seconds" ["model"] "Time to the first word of a streamed answer";

    ROUTE_FAILOVERS: Counter "puruto_route_failovers_total" ["model", "error_type"] "Calls that went on to the next route, by the model that failed";
    DELIVERIES: Counter "puruto_deliveries_total" ["target"] "Messages that the broker delivered, redeliveries included";
    CLAIMS: Counter "puruto_claims_total" ["target", "outcome"] "Claims asked of the store, by its answer";
    COMMITS: Counter "puruto_commits_total" ["target", "outcome"] "Commits asked of the store, by its answer";
    RESULTS_PUBLISHED: Counter "puruto_results_published_total" ["target", "outcome"] "Results handed to the broker, by its answer";
    SETTLEMENTS: Counter "puruto_settlements_total" ["target", "kind"] "Deliveries settled, by how";
    REQUESTS_FINISHED: Counter "puruto_requests_finished_total" ["target", "status", "code"] "Results committed here, by their status and error code";
    EXECUTIONS: Counter "puruto_executions_total" ["target"] "Handlers started, repeats after a crash included";
    IN_FLIGHT: Gauge "puruto_in_flight" ["target"] "Requests that this process holds a claim on";
    SLOTS_FREE: Gauge "puruto_slots_free" ["target"] "Run slots that nothing occupies";
    QUEUE_SECONDS: Histogram "puruto_queue_seconds" ["target"] "Time from publish to claim";
    RUN_SECONDS: Histogram "puruto_run_seconds" ["target"] "Time that a handler ran";
    SESSION_RENEWALS: Counter "puruto_session_renewals_total" ["outcome"] "Renewals of the session, by their outcome";
    CLAIMS_FOUND: Counter "puruto_claims_found_total" [] "Claims of its own that nobody in this process worked on, given back";
    FENCED: Counter "puruto_fenced_total" [] "Times that this process fenced itself";
    CLOCK_MOVED: Counter "puruto_clock_moved_total" [] "Times that this process's clock was off and followed the store's";
    BROKER_RECONNECTS: Counter "puruto_broker_reconnects_total" [] "Connections to the broker made anew";
    BROKER_INCIDENTS: Counter "puruto_broker_incidents_total" ["kind"] "What befell the connections to the broker";
    STORE_FAULTS: Counter "puruto_store_faults_total" ["kind"] "Calls to the store that failed";
    BROKER_FAULTS: Counter "puruto_broker_faults_total" ["kind"] "Calls to the broker that failed";
    POLICY_RELOADS: Counter "puruto_policy_reloads_total" ["outcome"] "Changed policy files read again";
    SUPERVISOR: Gauge "puruto_supervisor" [] "Whether this process supervises the fleet (0/1)";
    SESSIONS_EVICTED: Counter "puruto_sessions_evicted_total" ["reason"] "Sessions of others that this process ended as dead";
    TAKEOVER_NAKS: Counter "puruto_takeover_naks_total" [] "Messages given back on behalf of a dead worker";
    DEAD_LETTERS: Counter "puruto_dead_letters_total" ["reason"] "Messages that this process kept as dead letters, by why";
    LANES_RENEWED: Counter "puruto_lanes_renewed_total" ["reason"] "Consumers that this process made anew since they did not deliver, by why";
    UNSERVED_ENDED: Counter "puruto_unserved_ended_total" ["reason"] "Requests without a live worker that this process ended, by why";
    UNSERVED_WATCHED: Gauge "puruto_unserved_watched" [] "Requests without a live worker whose deadlines this process keeps";
    LANE_QUEUED: Gauge "puruto_lane_queued" ["target", "lane"] "Requests in a lane that no worker was given yet, as the supervisor saw it last";
    LANE_OLDEST: Gauge "puruto_lane_oldest_seconds" ["target", "lane"] "Age of the oldest request in a lane that is not settled, as the supervisor saw it last";
    MODEL_THROTTLED: Histogram "puruto_model_throttled_seconds" ["reason"] "Waits of model calls for their turn, by what they waited for";
    CIRCUITS_ALONE: Counter "puruto_circuits_alone_total" [] "Times that this process lost the fleet's circuits and limits and went by its own";
    EVENTS_DROPPED: Counter "puruto_events_dropped_total" [] "Events of requests that found no room on their way to the broker";
    PULL_STALLED: Counter "puruto_pull_stalled_total" [] "Pull streams rebuilt since they had gone silent";

    HTTP_REQUESTS: Counter "puruto_http_requests_total" ["route", "method", "status"] "Requests that the gateway answered, by the route as it is written";
    HTTP_REQUEST_DURATION: Histogram "puruto_http_request_duration_seconds" ["route"] "Time from a request's head to the head of its answer";
    HTTP_CONNECTIONS: Gauge "puruto_http_connections" [] "Connections to the gateway that are open";
    HTTP_STREAMS: Gauge "puruto_http_streams" [] "Streams of events that the gateway serves";
}

/// The runtime's spans, in the order in which a request passes them.
pub const SPANS: &[SpanDef] = &[
    SpanDef {
        name: "agent-runtime-request",
        parent: None,
        attributes: &["request_id", "model"],
    },
    SpanDef {
        name: "connection-acquire",
        parent: Some("agent-runtime-request"),
        attributes: &["pool_name", "wait_time"],
    },
    SpanDef {
        name: "request-build",
        parent: Some("agent-runtime-request"),
        attributes: &["payload_size"],
    },
    SpanDef {
        name: "api-call",
        parent: Some("agent-runtime-request"),
        attributes: &["endpoint", "status_code"],
    },
    SpanDef {
        name: "retry-attempt-N",
        parent: Some("api-call"),
        attributes: &["attempt_num", "error"],
    },
    SpanDef {
        name: "response-parse",
        parent: Some("agent-runtime-request"),
        attributes: &["response_size"],
    },
    SpanDef {
        name: "contract-validate",
        parent: Some("agent-runtime-request"),
        attributes: &["result", "violations"],
    },
    SpanDef {
        name: "response-emit",
        parent: Some("agent-runtime-request"),
        attributes: &["output_size"],
    },
];

/// The runtime's log events.
pub const EVENTS: &[EventDef] = &[
    EventDef {
        name: "request_initiated",
        level: Level::INFO,
        fields: &["request_id", "model", "timestamp"],
    },
    EventDef {
        name: "request_completed",
        level: Level::INFO,
        fields: &["request_id", "duration_ms", "tokens_used"],
    },
    EventDef {
        name: "request_failed",
        level: Level::ERROR,
        fields: &["request_id", "error_code", "error_message"],
    },
    EventDef {
        name: "retry_triggered",
        level: Level::WARN,
        fields: &["request_id", "attempt", "error_type", "delay_ms"],
    },
    EventDef {
        name: "circuit_opened",
        level: Level::ERROR,
        fields: &["circuit_name", "failure_rate"],
    },
    EventDef {
        name: "circuit_closed",
        level: Level::INFO,
        fields: &["circuit_name"],
    },
    EventDef {
        name: "contract_violation",
        level: Level::ERROR,
        fields: &["request_id", "violations"],
    },
];

#[cfg(test)]
mod emitted;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    // The three tables of the runtime's specification, section 4, as they stand there.
    const SPECIFIED_SPANS: &str = "\
| `agent-runtime-request` | Root | request_id, model |
| `connection-acquire` | agent-runtime-request | pool_name, wait_time |
| `request-build` | agent-runtime-request | payload_size |
| `api-call` | agent-runtime-request | endpoint, status_code |
| `retry-attempt-N` | api-call | attempt_num, error |
| `response-parse` | agent-runtime-request | response_size |
| `contract-validate` | agent-runtime-request | result, violations |
| `response-emit` | agent-runtime-request | output_size |
";
    const SPECIFIED_METRICS: &str = "\
| `runtime_requests_total` | Counter | model, status | Total requests |
| `runtime_request_duration_seconds` | Histogram | model | Request latency |
| `runtime_connections_active` | Gauge | pool_name | Active connections |
| `runtime_connections_wait_seconds` | Histogram | pool_name | Wait time |
| `runtime_retries_total` | Counter | model, error_type | Retry count |
| `runtime_contract_validations_total` | Counter | result | Validation count |
| `runtime_circuit_breaker_state` | Gauge | circuit_name | CB state (0/1/2) |
";
    const SPECIFIED_EVENTS: &str = "\
| `request_initiated` | INFO | request_id, model, timestamp |
| `request_completed` | INFO | request_id, duration_ms, tokens_used |
| `request_failed` | ERROR | request_id, error_code, error_message |
| `retry_triggered` | WARN | request_id, attempt, error_type, delay_ms |
| `circuit_opened` | ERROR | circuit_name, failure_rate |
| `circuit_closed` | INFO | circuit_name |
| `contract_violation` | ERROR | request_id, violations[] |
";

    #[test]
    fn the_runtime_metrics_are_the_specified_ones() {
        let ours: String = METRICS
            .iter()
            .filter(|metric| metric.name.starts_with("runtime_"))
            .map(|metric| {
                let labels = metric.labels.join(", ");
                format!(
                    "| `{}` | {:?} | {labels} | {} |\n",
                    metric.name, metric.kind, metric.help
                )
            })
            .collect();
        assert_eq!(ours, SPECIFIED_METRICS);
    }

    #[test]
    fn the_spans_are_the_specified_ones() {
        let ours: String = SPANS
            .iter()
            .map(|span| {
                let parent = span.parent.unwrap_or("Root");
                let attributes = span.attributes.join(", ");
                format!("| `{}` | {parent} | {attributes} |\n", span.name)
            })
            .collect();
        assert_eq!(ours, SPECIFIED_SPANS);
    }

    #[test]
    fn the_log_events_are_the_specified_ones() {
        let ours: String = EVENTS
            .iter()
            .map(|event| {
                let fields = event.fields.join(", ");
                format!("| `{}` | {} | {fields} |\n", event.name, event.level)
            })
            .collect();
        // `violations[]` says that the field is a list.
        assert_eq!(ours, SPECIFIED_EVENTS.replace("[]", ""));
    }

    #[test]
    fn names_are_distinct_and_tell_their_kind() {
        let names: BTreeSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        for metric in METRICS {
            let is_counter = metric.kind == MetricKind::Counter;
            assert_eq!(metric.name.ends_with("_total"), is_counter, "{metric:?}");
            let has_unit = ["_seconds", "_token_usage"]
                .iter()
                .any(|it| metric.name.ends_with(it));
            let may_have_one = match metric.kind {
                MetricKind::Counter => !has_unit,
                MetricKind::Gauge => true,
                MetricKind::Histogram => has_unit,
            };
            assert!(may_have_one, "{metric:?}");
        }
    }

    #[test]
    fn no_metric_is_labelled_by_an_id() {
        let bounded = [
            "model",
            "status",
            "pool_name",
            "error_type",
            "result",
            "circuit_name",
            "target",
            "lane",
            "outcome",
            "kind",
            "code",
            "reason",
            "provider",
            "type",
            "route",
            "method",
        ];
        for metric in METRICS {
            for label in metric.labels {
                assert!(bounded.contains(label), "{label} of {metric:?}");
            }
        }
    }
}

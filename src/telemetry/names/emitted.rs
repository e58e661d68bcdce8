//! Holds what the runtime emits against the table.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

use super::{
    EVENTS, SPANS,
    conventions::{ConventionDef, NAMESPACES},
};
use crate::{
    clock::{Chance, Clock},
    runtime::{
        AgentRuntime, Message, ModelCall, Shared,
        breaker::{Breaker, BreakerRules, CircuitName, Ended},
    },
    telemetry::metrics::Metrics,
};

type Names = BTreeSet<&'static str>;

#[derive(Clone, Debug, Default)]
struct Seen(Arc<Mutex<Emitted>>);

#[derive(Debug, Default)]
struct Emitted {
    spans: BTreeMap<&'static str, (Option<&'static str>, Names)>,
    events: BTreeMap<String, (Level, Names)>,
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Seen {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).unwrap().parent();
        let parent = parent.map(|span| span.metadata().name());
        let metadata = attributes.metadata();
        let fields = metadata.fields().iter().map(|field| field.name());
        let mut emitted = self.0.lock().unwrap();
        let row = (parent, fields.collect());
        emitted.spans.insert(metadata.name(), row);
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut message = Text::default();
        event.record(&mut message);
        let fields = event.metadata().fields().iter().map(|field| field.name());
        let fields = fields.filter(|name| *name != "message").collect();
        let mut emitted = self.0.lock().unwrap();
        let row = (*event.metadata().level(), fields);
        emitted.events.insert(message.0, row);
    }
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

const SCRIPTED: &str = "provider = \"simulated\"\nanswer = \"{prompt}\"\nerrors = [\"503\"]";
/// Nobody listens there.
const AWAY: &str = "provider = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m-2\"";

/// Two calls, each tried again once; the second answer is longer than the output contract allows.
/// Then one to a server that is away.
async fn emitted_by_calls(metrics: &Metrics) -> Emitted {
    let seen = Seen::default();
    let subscriber = tracing_subscriber::registry().with(seen.clone());
    let guard = tracing::subscriber::set_default(subscriber);
    for (table, model, prompt) in [
        (SCRIPTED, "m-1", "pay".to_owned()),
        (SCRIPTED, "m-1", "x".repeat(128_001)),
        (AWAY, "m-2", "pay".to_owned()),
    ] {
        let chance = Chance::seeded(7);
        let shared = Shared::new(Clock::system(), chance, metrics.runtime());
        let config = toml::from_str(table).unwrap();
        let runtime = AgentRuntime::open(&config, |_| None, shared).unwrap();
        let call = ModelCall::new(
            "r-1".parse().unwrap(),
            model.parse().unwrap(),
            vec![Message::user(prompt)],
            tokio::time::Instant::now() + Duration::from_secs(600),
        );
        drop(runtime.call(&call).await);
    }
    break_and_mend(metrics).await;
    drop(guard);
    std::mem::take(&mut *seen.0.lock().unwrap())
}

/// Opens a breaker and closes it again.
async fn break_and_mend(metrics: &Metrics) {
    let name = CircuitName::new("openai", "host", "m-1");
    let rules = BreakerRules::default();
    let breaker = Breaker::new(name, rules, metrics.runtime());
    for _ in 0..rules.finished_min {
        breaker.admit().unwrap().end(Ended::Failure);
    }
    tokio::time::sleep(rules.open_for).await;
    for _ in 0..rules.majority {
        breaker.admit().unwrap().end(Ended::Success);
    }
}

#[tokio::test(start_paused = true)]
async fn the_spans_of_a_call_stand_in_the_table_with_their_parents_and_attributes() {
    let emitted = emitted_by_calls(&Metrics::new([])).await;
    let mut seen = Names::new();
    for (name, (parent, fields)) in &emitted.spans {
        let in_table = match *name {
            name if name.starts_with("retry-attempt-") => "retry-attempt-N",
            name => name,
        };
        let row = SPANS.iter().find(|row| row.name == in_table).unwrap();
        assert_eq!(*parent, row.parent, "around {name}");
        let missing = row.attributes.iter().find(|it| !fields.contains(*it));
        assert_eq!(missing, None, "attributes of {name}");
        seen.insert(row.name);
    }
    let expected: Names = SPANS.iter().map(|row| row.name).collect();
    assert_eq!(seen, expected);
}

#[tokio::test(start_paused = true)]
async fn the_attributes_of_the_conventions_on_a_calls_spans_are_those_of_the_table() {
    let emitted = emitted_by_calls(&Metrics::new([])).await;
    let mut shown = 0;
    for (span, (_, fields)) in &emitted.spans {
        let of_a_convention = |name: &&str| NAMESPACES.iter().any(|it| name.starts_with(it));
        let ours: Names = fields.iter().copied().filter(of_a_convention).collect();
        let row = ConventionDef::of(span).map_or(&[][..], |row| row.attributes);
        assert_eq!(ours, row.iter().copied().collect(), "on {span}");
        shown += ours.len();
    }
    assert!(shown > 0);
}

#[tokio::test(start_paused = true)]
async fn the_log_events_of_a_call_stand_in_the_table_with_their_levels_and_fields() {
    let emitted = emitted_by_calls(&Metrics::new([])).await;
    for row in EVENTS {
        let expected = (row.level, row.fields.iter().copied().collect());
        assert_eq!(emitted.events[row.name], expected, "{}", row.name);
    }
}

#[tokio::test(start_paused = true)]
async fn what_happens_to_calls_is_counted() {
    let metrics = Metrics::new([]);
    emitted_by_calls(&metrics).await;
    let text = metrics.render();
    for line in [
        "runtime_requests_total{model=\"m-1\",status=\"ok\"} 1",
        "runtime_requests_total{model=\"m-1\",status=\"error\"} 1",
        "gen_ai_client_operation_duration_seconds_count{error_type=\"\",model=\"m-1\",provider=\"simulated\"} 1",
        "gen_ai_client_operation_duration_seconds_count{error_type=\"connection\",model=\"m-2\",provider=\"openai\"} 1",
        "gen_ai_client_token_usage_count{model=\"m-1\",type=\"output\"} 1",
        "runtime_request_duration_seconds_count{model=\"m-1\"} 2",
        "runtime_retries_total{error_type=\"server_error\",model=\"m-1\"} 2",
        "runtime_contract_validations_total{result=\"valid\"} 1",
        "runtime_contract_validations_total{result=\"invalid\"} 1",
        "runtime_connections_wait_seconds_count{pool_name=\"openai\"} 4",
        "runtime_connections_active{pool_name=\"openai\"} 0",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}

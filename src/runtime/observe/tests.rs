//! The spans and log events of a call, as a subscriber sees them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::time::Instant;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span,
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

use super::*;
use crate::{
    clock::{Chance, Clock},
    runtime::{
        AgentRuntime, Message, Shared,
        stream::{self, TokenSink},
    },
};

/// The fields of a span or event, by name.
#[derive(Clone, Debug, Default)]
struct Fields(BTreeMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

/// Writes down `name < parent` of spans, `level name` of events, and every field.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(String, Fields)>>>);

impl Seen {
    fn note(&self, name: String, fields: Fields) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((name, fields));
    }

    fn all(&self) -> Vec<(String, Fields)> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Seen {
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, at: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let span = at.span(id).expect("just opened");
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, at: Context<'_, S>) {
        let span = at.span(id).expect("open");
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let name = fields.0.remove("message").unwrap_or_default();
        self.note(format!("{} {name}", event.metadata().level()), fields);
    }

    fn on_close(&self, id: span::Id, at: Context<'_, S>) {
        let span = at.span(&id).expect("closing");
        let parent = span.parent().map_or("root", |parent| parent.name());
        let fields = span.extensions_mut().remove().unwrap_or_default();
        self.note(format!("{} < {parent}", span.name()), fields);
    }
}

const PROMPT: &str = "the secret plan";

async fn seen(script: &str) -> Vec<(String, Fields)> {
    seen_of(script, None).await
}

async fn seen_of(script: &str, tokens: Option<TokenSink>) -> Vec<(String, Fields)> {
    let seen = Seen::default();
    let subscriber = tracing_subscriber::registry().with(seen.clone());
    let _scope = tracing::subscriber::set_default(subscriber);
    let config = toml::from_str(&format!("provider = \"simulated\"\n{script}"));
    let runtime = AgentRuntime::open(
        &config.expect("well formed"),
        |_| None,
        Shared::new(
            Clock::manual(WallTime::from_unix_millis(0)),
            Chance::seeded(1),
            Arc::new(()),
        ),
    )
    .expect("complete");
    let mut call = ModelCall::new(
        "r-1".parse().expect("valid"),
        "m-1".parse().expect("valid"),
        vec![Message::user(PROMPT)],
        Instant::now() + Duration::from_secs(3_600),
    );
    call.tokens = tokens;
    // Failed or not: what is seen of it is the subject.
    drop(runtime.call(&call).await);
    seen.all()
}

/// What is seen of a call whose answer is streamed.
async fn seen_streaming(script: &str) -> Vec<(String, Fields)> {
    let (sink, _tokens) = stream::channel();
    seen_of(script, Some(sink)).await
}

fn names(seen: &[(String, Fields)]) -> Vec<&str> {
    seen.iter().map(|(name, _)| name.as_str()).collect()
}

fn fields<'s>(seen: &'s [(String, Fields)], name: &str) -> BTreeMap<&'s str, &'s str> {
    let (_, fields) = seen.iter().find(|(seen, _)| seen == name).expect(name);
    let pairs = fields.0.iter();
    pairs
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_retried_call_shows_the_specified_spans_and_events() {
    let seen = seen("errors = [\"503\"]").await;
    assert_eq!(
        names(&seen),
        [
            "INFO request_initiated",
            "request-build < agent-runtime-request",
            "WARN retry_triggered",
            "response-parse < agent-runtime-request",
            "contract-validate < agent-runtime-request",
            "retry-attempt-1 < api-call",
            "api-call < agent-runtime-request",
            "INFO request_completed",
            "response-emit < agent-runtime-request",
            "agent-runtime-request < root",
        ]
    );
    let initiated = fields(&seen, "INFO request_initiated");
    assert_eq!(initiated["timestamp"], "1970-01-01T00:00:00Z");
    let retrying = fields(&seen, "WARN retry_triggered");
    assert_eq!(
        (retrying["attempt"], retrying["error_type"]),
        ("0", "\"server_error\"")
    );
    assert!(retrying.contains_key("delay_ms"));
    assert_eq!(
        fields(&seen, "api-call < agent-runtime-request")["status_code"],
        "200"
    );
    assert_eq!(
        fields(&seen, "retry-attempt-1 < api-call")["attempt_num"],
        "1"
    );
    let no_request = |name| !fields(&seen, name).keys().any(|key| key.contains("url"));
    assert!(no_request("api-call < agent-runtime-request"));
    assert!(
        no_request("retry-attempt-1 < api-call"),
        "no server was asked"
    );
    let validated = fields(&seen, "contract-validate < agent-runtime-request");
    assert_eq!(validated["result"], "\"valid\"");
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_tells_its_code_and_its_violations() {
    let seen = seen("errors = [\"contract\"]").await;
    let violated = fields(&seen, "ERROR contract_violation");
    assert!(violated["violations"].contains("content: expected a string"));
    let failed = fields(&seen, "ERROR request_failed");
    assert_eq!(failed["error_code"], "\"INVALID_RESPONSE\"");
    assert_eq!(failed["request_id"], "r-1");
    assert!(failed["error_message"].contains("output contract"));
}

#[tokio::test(start_paused = true)]
async fn neither_prompt_nor_answer_is_in_any_of_it() {
    for script in ["", "errors = [\"503\", \"contract\"]", "errors = [\"400\"]"] {
        let seen = format!(
            "{:?}",
            seen(script)
                .await
                .iter()
                .map(|(_, it)| it)
                .collect::<Vec<_>>()
        );
        assert!(seen.contains("r-1") && !seen.contains("secret"), "{seen}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_streamed_call_shows_how_long_its_last_attempt_took_to_the_first_word() {
    let script = "answer = \"hi you\"\nlatency = \"250ms\"\nword_latency = \"1s\"\n\
                  errors = [\"cut 1\"]";
    let streamed = seen_streaming(script).await;
    let api_call = fields(&streamed, "api-call < agent-runtime-request");
    assert_eq!(api_call["gen_ai.request.stream"], "true");
    assert_eq!(api_call["gen_ai.response.time_to_first_chunk"], "0.25");
    let whole = seen(script).await;
    let api_call = fields(&whole, "api-call < agent-runtime-request");
    assert!(
        !api_call
            .keys()
            .any(|key| key.contains("stream") || key.contains("first_chunk"))
    );
}

//! The spans of a worker, as a collector is sent them.

use std::sync::{Arc, Mutex, PoisonError};

use async_nats::HeaderMap;
use axum::{Router, body::Bytes, extract::State, routing::post};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value as Held},
    trace::v1::Span,
};
use prost::Message as _;
use puruto_fleet::telemetry::names::{
    SPANS,
    conventions::{CONVENTIONS, ConventionDef, NAMESPACES},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use crate::{
    fleet::Fleet,
    wire::{json_of, request},
};

/// Takes spans over OTLP, as any collector does; dropping it ends it.
struct Collector {
    url: String,
    taken: Arc<Mutex<Vec<Span>>>,
    _serving: JoinSet<()>,
}

impl Collector {
    async fn start() -> Self {
        let taken = Arc::<Mutex<Vec<Span>>>::default();
        let app = Router::new().route("/v1/traces", post(take));
        let app = app.with_state(Arc::clone(&taken));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            axum::serve(listener, app).await.expect("it serves");
        });
        Self {
            url: format!("http://{address}"),
            taken,
            _serving: serving,
        }
    }

    fn spans(&self) -> Vec<Span> {
        let taken = self.taken.lock();
        taken.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn take(State(taken): State<Arc<Mutex<Vec<Span>>>>, body: Bytes) {
    let request = ExportTraceServiceRequest::decode(body).expect("OTLP");
    let scopes = request
        .resource_spans
        .into_iter()
        .flat_map(|it| it.scope_spans);
    let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
    taken.extend(scopes.flat_map(|scope| scope.spans));
}

/// What stands there, as text; `None` where nothing does.
fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span
        .attributes
        .iter()
        .find(|it: &&KeyValue| it.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Held::StringValue(text) => Some(text.clone()),
        Held::IntValue(number) => Some(number.to_string()),
        Held::DoubleValue(number) => Some(number.to_string()),
        Held::ArrayValue(list) => Some(format!("a list of {}", list.values.len())),
        other => panic!("{key} is {other:?}"),
    }
}

/// Fails twice, then answers, then answers what breaks the contract.
async fn model() -> MockServer {
    let server = MockServer::start().await;
    let answer = |finish_reason: &str| {
        let message = json!({"role": "assistant", "content": "paid"});
        ResponseTemplate::new(200).set_body_json(json!({
            "id": "a-1",
            "model": "m-1-0815",
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        }))
    };
    let failing = || ResponseTemplate::new(503);
    for response in [failing(), failing(), answer("stop")] {
        let once = Mock::given(any()).respond_with(response);
        once.up_to_n_times(1).mount(&server).await;
    }
    let bored = Mock::given(any()).respond_with(answer("bored"));
    bored.mount(&server).await;
    server
}

/// What a worker's spans are after a request that is answered at the third attempt, and another
/// whose answer breaks the contract.
async fn spans() -> (Vec<Span>, MockServer) {
    let (model, collector) = (model().await, Collector::start().await);
    let clerk = format!(
        "[model]\nprovider = \"openai\"\nbase_url = \"{}\"\nmodel = \"m-1\"\n\
         temperature = 0.5\nmax_tokens = 64",
        model.uri()
    );
    let fleet = Fleet::of(&[("clerk", &clerk)]).await;
    let fleet = fleet.with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let mut worker = fleet.worker("w1").await;
    let wire = fleet.wire().await;
    let ask = async |id: &str| -> Value {
        let asked = request(id, "clerk", "Pay");
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", id);
        wire.publish_with("puruto.invoke.clerk", headers, asked.to_string())
            .await;
        json_of(&wire.result(&asked).await.payload)
    };
    assert_eq!(ask("traced-1").await["status"], "ok");
    assert_eq!(ask("traced-2").await["error"]["code"], "INVALID_RESPONSE");
    worker.drain().await;
    (collector.spans(), model)
}

/// The span of this name in the request that was answered.
fn of_first<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    let request = spans.iter().find(|span| {
        span.name == "agent-runtime-request"
            && attribute(span, "request_id").as_deref() == Some("traced-1")
    });
    let trace = &request.expect("the request").trace_id;
    let found = spans
        .iter()
        .find(|span| span.name == name && span.trace_id == *trace);
    found.unwrap_or_else(|| panic!("no {name} among {spans:#?}"))
}

/// Every attribute of the conventions stands in the table under its span, and every one in the
/// table arrived, but for those of an answer that is streamed.
fn hold_the_conventions(spans: &[Span]) {
    for span in spans {
        let row = ConventionDef::of(&span.name).map_or(&[][..], |row| row.attributes);
        for KeyValue { key, .. } in &span.attributes {
            let of_a_convention = NAMESPACES.iter().any(|it| key.starts_with(it));
            assert!(
                !of_a_convention || row.contains(&key.as_str()),
                "{key} of {}",
                span.name
            );
        }
    }
    let streamed = [
        "gen_ai.request.stream",
        "gen_ai.response.time_to_first_chunk",
    ];
    for row in CONVENTIONS {
        let is_it =
            |span: &&Span| ConventionDef::of(&span.name).is_some_and(|it| it.span == row.span);
        for key in row.attributes.iter().filter(|it| !streamed.contains(it)) {
            let carried = spans
                .iter()
                .filter(is_it)
                .any(|span| attribute(span, key).is_some());
            assert!(carried, "{key} on no {}", row.span);
        }
    }
}

#[tokio::test]
async fn every_span_of_a_call_arrives_at_a_collector_with_its_parent_and_its_attributes() {
    let (spans, model) = spans().await;
    let find = |id: &[u8]| spans.iter().find(|span| span.span_id == id);
    for span in &spans {
        let mut keys: Vec<_> = span.attributes.iter().map(|it| &it.key).collect();
        keys.sort_unstable();
        let all = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), all, "a key twice: {span:#?}");
    }
    for row in SPANS {
        let numbered = row.name.strip_suffix('N');
        let is_it = |span: &&Span| match numbered {
            Some(stem) => span.name.starts_with(stem),
            None => span.name == row.name,
        };
        let all: Vec<_> = spans.iter().filter(is_it).collect();
        assert!(!all.is_empty(), "no {} among {spans:#?}", row.name);
        for span in &all {
            let parent = find(&span.parent_span_id).map(|parent| parent.name.as_str());
            if row.parent.is_some() {
                assert_eq!(parent, row.parent, "{span:#?}");
            }
        }
        for key in row.attributes {
            let carried = all.iter().any(|span| attribute(span, key).is_some());
            assert!(carried, "{key} on no {} among {all:#?}", row.name);
        }
    }

    let api_call = of_first(&spans, "api-call");
    let shown = |key| attribute(api_call, key).unwrap_or_default();
    assert!(shown("endpoint").starts_with(&model.uri()), "{api_call:#?}");
    assert_eq!(shown("status_code"), "200");
    let failed = of_first(&spans, "retry-attempt-1");
    assert_eq!(attribute(failed, "error").as_deref(), Some("server_error"));
    let answered = of_first(&spans, "retry-attempt-2");
    assert_eq!(attribute(answered, "attempt_num").as_deref(), Some("2"));
    assert_eq!(attribute(answered, "error"), None);
}

#[tokio::test]
async fn what_the_conventions_of_opentelemetry_tell_of_a_call_arrives_under_their_names() {
    let (spans, model) = spans().await;
    hold_the_conventions(&spans);
    let api_call = of_first(&spans, "api-call");
    let shown = |key| attribute(api_call, key).unwrap_or_default();
    assert_eq!(shown("gen_ai.provider.name"), "openai");
    assert_eq!(shown("gen_ai.request.model"), "m-1");
    assert_eq!(shown("gen_ai.response.model"), "m-1-0815");
    assert_eq!(shown("gen_ai.usage.input_tokens"), "3");
    assert_eq!(shown("gen_ai.usage.output_tokens"), "2");
    assert_eq!(shown("gen_ai.request.temperature"), "0.5");
    assert_eq!(shown("gen_ai.request.max_tokens"), "64");
    assert_eq!(shown("gen_ai.output.type"), "text");
    assert_eq!(shown("gen_ai.response.id"), "a-1");
    assert_eq!(shown("gen_ai.response.finish_reasons"), "a list of 1");
    assert_eq!(shown("server.address"), "127.0.0.1");
    assert_eq!(shown("server.port"), model.address().port().to_string());
    // The first request, which has no attempt's span of its own.
    assert_eq!(shown("http.response.status_code"), "503");
    assert_eq!(shown("http.request.resend_count"), "");
    let answered = of_first(&spans, "retry-attempt-2");
    let of_request = |key| attribute(answered, key).unwrap_or_default();
    assert_eq!(of_request("http.request.method"), "POST");
    assert_eq!(of_request("http.response.status_code"), "200");
    assert_eq!(of_request("http.request.resend_count"), "2");
    assert_eq!(of_request("url.full"), shown("endpoint"));
}

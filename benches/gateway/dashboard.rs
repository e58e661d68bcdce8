//! How long the dashboard's list takes, and how much memory the gateway, with its index full.

use async_nats::{HeaderMap, jetstream, jetstream::Context};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request,
    header::{CONTENT_TYPE, COOKIE, SET_COOKIE},
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

use super::{Outcome, USED, fleet::DASHBOARD_TOKEN, percentiles::Percentiles};

/// As many as the gateway lists unless configured.
const REQUESTS: usize = 100_000;
/// One of so many has no result: it lies in the queue.
const QUEUED_EVERY: usize = 10;
/// One of so many has failed.
const FAILED_EVERY: usize = 7;
/// Targets, and twice as many callers.
const TARGETS: usize = 8;
/// Messages that are published at a time.
const AT_ONCE: usize = 256;
/// Times that each question is asked.
const ASKED: usize = 300;
/// How long the index may take to be full.
const FULL_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// What a page is to take at most, by the median.
const GOAL_P50: Duration = Duration::from_millis(5);

/// What is asked, and of how many requests the answer's first page tells.
const QUESTIONS: [(&str, &str, usize); 13] = [
    ("all", "", 50),
    ("target", "target=clerk-3", 50),
    ("target that is nobody's", "target=nobody", 0),
    ("caller", "caller=desk-5", 50),
    ("caller who asked nothing", "caller=nobody", 0),
    ("open", "state=open", 50),
    ("queued", "state=queued", 50),
    ("running, none is", "state=running", 0),
    ("failed", "state=failed", 50),
    (
        "correlation id, the oldest",
        "correlation_id=chain-0000001",
        1,
    ),
    ("part of an id, the oldest", "id=-0000001", 1),
    ("part of no id", "id=zzzz", 0),
    (
        "all of them at once",
        "target=clerk-3&caller=desk-5&state=ok&id=zzzz",
        0,
    ),
];

pub(super) async fn main(address: &str, nats: &str) -> Outcome<()> {
    let broker = jetstream::new(async_nats::connect(nats).await?);
    let publishing = (1..=REQUESTS).map(|number| publish(&broker, number));
    stream::iter(publishing)
        .buffered(AT_ONCE)
        .try_collect::<Vec<()>>()
        .await?;
    println!("dashboard: {REQUESTS} requests, one of {QUEUED_EVERY} of them queued");
    println!("{USED}");
    let page = Page::of(address).await?;
    let began = Instant::now();
    while page.ask("limit=1").await?.get("complete") != Some(&Value::Bool(true)) {
        if began.elapsed() > FULL_WITHIN {
            return Err("the index is not made".into());
        }
        sleep(LOOK_EVERY).await;
    }
    println!(
        "the index was made in {:.1} s",
        began.elapsed().as_secs_f64()
    );
    println!("{USED}");
    for (name, query, expected) in QUESTIONS {
        println!("  {name:<28} {}", asked(&page, query, expected).await?);
    }
    println!("{USED}");
    println!("  goal: p50 at most {} ms", GOAL_P50.as_millis());
    Ok(())
}

async fn asked(page: &Page, query: &str, expected: usize) -> Outcome<Percentiles> {
    let mut took = Vec::with_capacity(ASKED);
    for _ in 0..ASKED {
        let began = Instant::now();
        let answer = page.ask(query).await?;
        took.push(began.elapsed());
        let rows = answer.get("requests").and_then(Value::as_array);
        if rows.map(Vec::len) != Some(expected) {
            return Err(format!("{query}: {rows:?}, and not {expected}").into());
        }
    }
    Percentiles::of(took).ok_or_else(|| "no question".into())
}

/// A request in the queue, or the result of one.
async fn publish(broker: &Context, number: usize) -> Outcome<()> {
    let (id, chain) = (format!("request-{number:07}"), format!("chain-{number:07}"));
    let (target, caller) = (
        format!("clerk-{}", number % TARGETS),
        format!("desk-{}", number / 5 % (2 * TARGETS)),
    );
    let (subject, headers, body) = if number.is_multiple_of(QUEUED_EVERY) {
        let body = json!({
            "request_id": id, "correlation_id": chain, "caller": caller, "target": target,
            "action": "ask", "prompt": "What does it cost?", "timeout_sec": 600,
        });
        (format!("puruto.invoke.{target}"), HeaderMap::new(), body)
    } else {
        let subject = format!("puruto.result.{chain}.{id}");
        let headers = headers(&target, &caller);
        (subject, headers, result(number, &id, &chain))
    };
    let publishing = broker.publish_with_headers(subject, headers, body.to_string().into());
    publishing.await?.await?;
    Ok(())
}

fn headers(target: &str, caller: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("Target", target),
        ("Caller", caller),
        ("Action", "ask"),
        ("Worker", "worker-1"),
        ("Attempt", "1"),
    ] {
        headers.insert(format!("Puruto-{name}"), value);
    }
    headers
}

fn result(number: usize, id: &str, chain: &str) -> Value {
    let mut result = json!({
        "request_id": id, "correlation_id": chain, "status": "ok", "duration_ms": 5,
    });
    let (key, value) = if number.is_multiple_of(FAILED_EVERY) {
        let error = json!({"code": "TIMEOUT", "message": "late", "details": null});
        ("error", error)
    } else {
        ("result", json!({"summary": "What it takes."}))
    };
    if let Some(result) = result.as_object_mut() {
        result.insert(key.to_owned(), value);
    }
    result
}

/// Asks as the page does, logged in.
struct Page {
    client: Client<HttpConnector, Full<Bytes>>,
    address: String,
    session: String,
}

impl Page {
    async fn of(address: &str) -> Outcome<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let login = Request::post(format!("http://{address}/dashboard/login"))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(format!("token={DASHBOARD_TOKEN}")))?;
        let answer = client.request(login).await?;
        let cookie = answer.headers().get(SET_COOKIE).ok_or("no session")?;
        let (session, _) = cookie.to_str()?.split_once(';').ok_or("no session")?;
        Ok(Self {
            address: address.to_owned(),
            session: session.to_owned(),
            client,
        })
    }

    async fn ask(&self, query: &str) -> Outcome<Value> {
        let url = format!("http://{}/dashboard/api/requests?{query}", self.address);
        let question = Request::get(url).header(COOKIE, &self.session);
        let answer = self.client.request(question.body(Full::default())?).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
        }
        Ok(serde_json::from_slice(&body)?)
    }
}

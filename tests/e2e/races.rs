//! A cancel or a deadline against the answer of the model, at nearly the same moment, many times.
//!
//! Seen elsewhere: hatchet #1377 and #1324, taskcluster #7029, sp1-cluster #169.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_nats::HeaderMap;
use futures_util::future::join_all;
use puruto_fleet::{
    clock::{Chance, Clock},
    store::{
        Records as _, RequestKey,
        redis::{RedisOptions, RedisStore},
    },
};
use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt as _,
    net::TcpListener,
    sync::oneshot,
    time::{Instant, sleep_until},
};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

use crate::{
    fleet::Fleet,
    patience::{until, within},
    support::say,
    wire::{INVOKE, RESULTS, Wire, json_of, place_of, request},
    worker::Worker,
};

/// Rounds that run side by side, each in a slot of its own.
const AT_ONCE: usize = 25;
const ROUNDS_EACH: usize = 40;
const ROUNDS: usize = AT_ONCE * ROUNDS_EACH;

/// How much earlier or later the model answers in the next round, against whoever won this one: the
/// rounds gather where both happen at once.
const STEP: Duration = Duration::from_micros(500);

/// From the request to the moment at which both happen.
const HEAD_START: Duration = Duration::from_millis(150);

/// A model that answers each request at the moment that was set for it, and counts its calls.
#[derive(Clone, Debug, Default)]
struct Punctual(Arc<Mutex<Calls>>);

#[derive(Debug, Default)]
struct Calls {
    answer_at: HashMap<String, Instant>,
    seen: usize,
}

impl Punctual {
    async fn serve(&self) -> MockServer {
        let server = MockServer::start().await;
        let calls = Mock::given(matchers::any()).respond_with(self.clone());
        calls.mount(&server).await;
        server
    }

    fn answer_at(&self, prompt: &str, at: Instant) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.answer_at.insert(prompt.to_owned(), at);
    }

    fn seen(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).seen
    }
}

impl Respond for Punctual {
    fn respond(&self, call: &Request) -> ResponseTemplate {
        let body = json_of(&call.body);
        let prompt = body["messages"][0]["content"].as_str().expect("a prompt");
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.seen += 1;
        let at = calls.answer_at.get(prompt).expect("a moment for it");
        let answer = json!({
            "id": "a-1", "object": "chat.completion", "model": "m-1",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": prompt},
                         "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        });
        let template = ResponseTemplate::new(200).set_body_json(answer);
        template.set_delay(at.saturating_duration_since(Instant::now()))
    }
}

/// Everything that is published as a result, by its subject.
#[derive(Clone, Debug, Default)]
struct Heard(Arc<Mutex<Results>>);

#[derive(Debug, Default)]
struct Results {
    awaited: HashMap<String, oneshot::Sender<Value>>,
    count: usize,
}

impl Heard {
    async fn all(wire: &Wire) -> Self {
        let heard = Self::default();
        let mut results = wire.listen("puruto.result.>").await;
        let all = heard.clone();
        tokio::spawn(async move {
            loop {
                let message = results.anything().await;
                all.take(&message.subject, json_of(&message.payload));
            }
        });
        heard
    }

    fn take(&self, subject: &str, result: Value) {
        let mut results = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        results.count += 1;
        if let Some(waiter) = results.awaited.remove(subject) {
            waiter.send(result).ok();
        }
    }

    fn expect(&self, request: &Value) -> oneshot::Receiver<Value> {
        let (waiter, result) = oneshot::channel();
        let mut results = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        results.awaited.insert(place_of(request), waiter);
        result
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).count
    }
}

/// One worker whose model is punctual, and whoever watches them.
#[derive(Debug)]
struct Arena {
    fleet: Fleet,
    worker: Worker,
    wire: Wire,
    model: Punctual,
    heard: Heard,
    _server: MockServer,
}

impl Arena {
    async fn open() -> Self {
        let model = Punctual::default();
        let server = model.serve().await;
        let worker = format!(
            "concurrency = {AT_ONCE}\n[model]\nprovider = \"openai\"\nmodel = \"m-1\"\nbase_url = \"{}\"",
            server.uri()
        );
        let fleet = Fleet::of(&[("clerk", &worker)]).await;
        let worker = fleet.worker("w1").await;
        let wire = fleet.wire().await;
        let heard = Heard::all(&wire).await;
        Self {
            fleet,
            worker,
            wire,
            model,
            heard,
            _server: server,
        }
    }

    /// Plays all rounds; the model wins some, `rival` wins some, and nobody both.
    async fn play(&self, rival: &Rival) {
        let began = Instant::now();
        let seats = (0..AT_ONCE).map(|seat| self.play_in(seat, rival));
        let answered: usize = join_all(seats).await.iter().sum();
        let (took, code) = (began.elapsed(), rival.code());
        let told = format!("{ROUNDS} rounds in {took:?}: {answered} answered, the others {code}");
        say(&told);
        assert!(answered > 0 && answered < ROUNDS, "{told}");
        self.assert_settled().await;
    }

    async fn play_in(&self, seat: usize, rival: &Rival) -> usize {
        let mut answered = 0;
        // By how many steps the model answers before the rival strikes.
        let mut lead = 0;
        for round in 0..ROUNDS_EACH {
            let id = format!("r-{seat}-{round}");
            let request = request(&id, "clerk", &id);
            let heard = self.heard.expect(&request);
            let moment = Instant::now() + HEAD_START;
            self.model.answer_at(&id, shifted(moment, lead));
            rival.ask(&self.wire, &request).await;
            rival.strike(&self.wire, &request, moment).await;
            let result = within("its result", heard).await.expect("heard");
            let model_won = result["status"] == "ok";
            let code = result["error"]["code"].as_str();
            assert!(model_won || code == Some(rival.code()), "{result}");
            answered += usize::from(model_won);
            lead += if model_won { -1 } else { 1 };
        }
        answered
    }

    /// One terminal state each, nobody called the model twice, and every slot is free.
    async fn assert_settled(&self) {
        self.wire.until_all_is_done().await;
        assert_eq!(self.heard.count(), ROUNDS);
        assert_eq!(self.wire.messages(RESULTS).await, ROUNDS as u64);
        assert!(self.model.seen() <= ROUNDS, "{}", self.model.seen());
        self.worker.until_running("clerk", 0).await;
        self.assert_every_slot_is_free().await;
    }

    async fn assert_every_slot_is_free(&self) {
        let before = self.model.seen();
        let requests: Vec<_> = (0..AT_ONCE)
            .map(|it| request(&format!("last-{it}"), "clerk", &format!("last-{it}")))
            .collect();
        let far = Instant::now() + Duration::from_secs(3600);
        for request in &requests {
            self.model.answer_at(prompt_of(request), far);
            self.wire.ask(request).await;
        }
        until("each slot has a call", async || {
            (self.model.seen() == before + AT_ONCE).then_some(())
        })
        .await;
        assert_eq!(self.wire.messages(INVOKE).await, AT_ONCE as u64);
    }
}

fn prompt_of(request: &Value) -> &str {
    request["prompt"].as_str().expect("a prompt")
}

fn shifted(moment: Instant, lead: i32) -> Instant {
    let by = STEP * lead.unsigned_abs();
    if lead > 0 { moment - by } else { moment + by }
}

/// Who strikes while the model answers.
#[derive(Debug)]
enum Rival {
    Cancel(Box<RedisStore>),
    Deadline,
}

impl Rival {
    async fn cancel(fleet: &Fleet) -> Self {
        let url = fleet.servers.redis.url().parse().expect("a valid address");
        let store = RedisStore::connect(RedisOptions::new(url), Chance::system()).await;
        Self::Cancel(Box::new(store.expect("a store")))
    }

    const fn code(&self) -> &'static str {
        match self {
            Self::Cancel(_) => "CANCELLED",
            Self::Deadline => "TIMEOUT",
        }
    }

    async fn ask(&self, wire: &Wire, request: &Value) {
        let mut headers = HeaderMap::new();
        if let Self::Deadline = self {
            let deadline = Clock::system().now().saturating_add(HEAD_START);
            headers.insert("Puruto-Deadline", deadline.to_string());
        }
        let body = request.to_string();
        wire.publish_with("puruto.invoke.clerk", headers, body)
            .await;
    }

    async fn strike(&self, wire: &Wire, request: &Value, moment: Instant) {
        let Self::Cancel(store) = self else { return };
        sleep_until(moment).await;
        let id = request["request_id"].as_str().expect("an id");
        let key = RequestKey {
            target: "clerk".parse().expect("a name"),
            request: id.parse().expect("an id"),
        };
        store.cancel(&key).await.expect("flagged or done");
        let announced = json!({"target": "clerk", "request_id": id});
        let subject = "puruto.control.cancel";
        let sent = wire.client.publish(subject, announced.to_string().into());
        sent.await.expect("announced");
    }
}

#[tokio::test]
async fn a_cancel_against_a_completion_ends_in_one_of_them_a_thousand_times() {
    let arena = Arena::open().await;
    let rival = Rival::cancel(&arena.fleet).await;
    arena.play(&rival).await;
}

#[tokio::test]
async fn a_deadline_against_a_completion_ends_in_one_of_them_a_thousand_times() {
    Arena::open().await.play(&Rival::Deadline).await;
}

#[tokio::test]
async fn the_owner_of_a_cancelled_request_hangs_up_on_its_model_within_a_second() {
    let model = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = model.local_addr().expect("an address");
    let worker =
        format!("[model]\nprovider = \"openai\"\nmodel = \"m-1\"\nbase_url = \"http://{address}\"");
    let fleet = Fleet::of(&[("clerk", &worker)]).await;
    let _worker = fleet.worker("w1").await;
    let (wire, rival) = (fleet.wire().await, Rival::cancel(&fleet).await);
    let request = request("r-1", "clerk", "Hello");
    wire.ask(&request).await;
    // It reads the question and never answers.
    let (mut call, _) = within("the model is called", model.accept())
        .await
        .expect("a call");
    let mut question = [0; 4096];
    let asked = call.read(&mut question).await.expect("a question");
    assert!(asked > 0);

    let struck = Instant::now();
    rival.strike(&wire, &request, struck).await;
    let hung_up = async { while call.read(&mut question).await.is_ok_and(|more| more > 0) {} };
    within("the worker hangs up", hung_up).await;
    let took = struck.elapsed();

    assert!(took < Duration::from_secs(1), "{took:?}");
    let result = json_of(&wire.result(&request).await.payload);
    assert_eq!(result["error"]["code"], "CANCELLED", "{result}");
}

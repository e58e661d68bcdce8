//! The model at the end of a chain: it counts who asks, answers at once or when told, and notices
//! who hangs up.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{Router, body::Bytes, extract::State, http::header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};

/// A server for models of the kind `openai`; it ends with the value that stands for it.
#[derive(Debug)]
pub(crate) struct Leaves {
    address: String,
    ledger: Arc<Ledger>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct Ledger {
    calls: Mutex<HashMap<String, Calls>>,
    /// Whether answers are given at all.
    answers: watch::Sender<bool>,
    /// How long each takes.
    latency: Duration,
}

/// What became of the calls for one prompt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    /// How many there were.
    pub(crate) made: usize,
    /// How many of them were answered.
    pub(crate) answered: usize,
    /// When somebody hung up on one.
    pub(crate) hung_up: Vec<Instant>,
}

impl Calls {
    /// How many go on.
    fn open(&self) -> usize {
        self.made - self.answered - self.hung_up.len()
    }
}

impl Leaves {
    /// Answers each call after `latency`.
    pub(crate) async fn after(latency: Duration) -> Self {
        Self::serve(true, latency).await
    }

    /// Answers nobody until it is told to.
    pub(crate) async fn held_back() -> Self {
        Self::serve(false, Duration::ZERO).await
    }

    async fn serve(answers: bool, latency: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let ledger = Arc::new(Ledger {
            calls: Mutex::default(),
            answers: watch::Sender::new(answers),
            latency,
        });
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&ledger));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self {
            address,
            ledger,
            serving,
        }
    }

    /// The `worker.toml` of a Puruto that asks this model, `concurrency` requests at once.
    pub(crate) fn puruto(&self, concurrency: usize) -> String {
        let address = &self.address;
        format!(
            "concurrency = {concurrency}\n[model]\nprovider = \"openai\"\nmodel = \"m-1\"\n\
             base_url = \"http://{address}\"\n"
        )
    }

    /// From now on everybody is answered.
    pub(crate) fn answer_all(&self) {
        self.ledger.answers.send_replace(true);
    }

    /// What became of the calls for `prompt`.
    pub(crate) fn calls(&self, prompt: &str) -> Calls {
        let calls = self.ledger.calls();
        calls.get(prompt).cloned().unwrap_or_default()
    }

    /// How many calls there were.
    pub(crate) fn made(&self) -> usize {
        self.ledger.calls().values().map(|it| it.made).sum()
    }

    /// How many calls go on.
    pub(crate) fn open(&self) -> usize {
        self.ledger.calls().values().map(Calls::open).sum()
    }

    /// When somebody hung up, over all prompts.
    pub(crate) fn hung_up(&self) -> Vec<Instant> {
        let calls = self.ledger.calls();
        calls
            .values()
            .flat_map(|it| it.hung_up.iter().copied())
            .collect()
    }
}

impl Drop for Leaves {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Ledger {
    fn calls(&self) -> MutexGuard<'_, HashMap<String, Calls>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, prompt: &str, what: impl FnOnce(&mut Calls)) {
        what(self.calls().entry(prompt.to_owned()).or_default());
    }
}

/// A call that goes on; it is dropped unanswered when its caller hangs up.
struct Call {
    ledger: Arc<Ledger>,
    prompt: String,
    is_answered: bool,
}

impl Drop for Call {
    fn drop(&mut self) {
        let is_answered = self.is_answered;
        self.ledger.note(&self.prompt, |calls| {
            if is_answered {
                calls.answered += 1;
            } else {
                calls.hung_up.push(Instant::now());
            }
        });
    }
}

async fn answer(
    State(ledger): State<Arc<Ledger>>,
    body: Bytes,
) -> ([(axum::http::HeaderName, &'static str); 1], String) {
    let asked: Value = serde_json::from_slice(&body).expect("JSON");
    let prompt = prompt_of(&asked).expect("a prompt").to_owned();
    ledger.note(&prompt, |calls| calls.made += 1);
    let mut call = Call {
        ledger: Arc::clone(&ledger),
        prompt,
        is_answered: false,
    };
    let mut answers = ledger.answers.subscribe();
    answers.wait_for(|told| *told).await.expect("the ledger");
    sleep(ledger.latency).await;
    call.is_answered = true;
    let answer = json!({
        "id": "a-1", "object": "chat.completion", "model": "m-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": call.prompt},
                     "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    });
    ([(CONTENT_TYPE, "application/json")], answer.to_string())
}

/// What the last message of a call says.
fn prompt_of(asked: &Value) -> Option<&str> {
    let messages = asked.get("messages")?.as_array()?;
    messages.last()?.get("content")?.as_str()
}

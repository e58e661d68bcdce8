//! The model behind the targets, as a model sees it: who asked, and when.
//!
//! Speaks just enough of OpenAI's chat completions. No two of its answers are alike, so that two
//! executions of a request never have the same result.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{Router, body::Bytes, extract::State, http::StatusCode, http::header, routing::post};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle, time::sleep};

use super::{history::Event, prompt::Prompt, recorder::Recorder};

/// The stub; dropping it ends it.
#[derive(Debug)]
pub(super) struct Model {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Drop for Model {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

#[derive(Clone)]
struct Desk {
    recorder: Recorder,
    answers: Arc<AtomicU64>,
}

impl Model {
    /// Serves on a free port of the loopback address.
    pub(super) async fn start(recorder: Recorder) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let desk = Desk {
            recorder,
            answers: Arc::default(),
        };
        let router = Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(desk);
        let serving = tokio::spawn(async move {
            // It ends only with the task.
            drop(axum::serve(listener, router).await);
        });
        Ok(Self { address, serving })
    }

    /// Where its API starts.
    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

type Answer = (StatusCode, [(header::HeaderName, &'static str); 1], String);

async fn answer(State(desk): State<Desk>, body: Bytes) -> Answer {
    let json = [(header::CONTENT_TYPE, "application/json")];
    let Some(prompt) = prompt_of(&body) else {
        let error = json!({"error": {"message": "no prompt of this run"}});
        return (StatusCode::BAD_REQUEST, json, error.to_string());
    };
    desk.recorder.note(Event::ModelCalled {
        request: prompt.request.clone(),
    });
    let number = desk.answers.fetch_add(1, Ordering::Relaxed);
    sleep(prompt.takes.at_model(number)).await;
    let answer = json!({
        "id": format!("answer-{number}"), "model": "stub",
        "choices": [{"finish_reason": "stop", "message": {
            "role": "assistant", "content": format!("Answer {number} to {}", prompt.request),
        }}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    });
    (StatusCode::OK, json, answer.to_string())
}

fn prompt_of(body: &[u8]) -> Option<Prompt> {
    let call: Value = serde_json::from_slice(body).ok()?;
    let message = call.get("messages")?.as_array()?.last()?;
    message.get("content")?.as_str()?.parse().ok()
}

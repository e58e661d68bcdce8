//! The runtime as a library, asking a model server: tables, calls, and what came of them.

use std::{sync::Arc, time::Duration};

use puruto_fleet::{
    clock::{Chance, Clock},
    runtime::{
        AgentRuntime, CallFailed, Message, ModelAnswer, ModelCall, Shared, backoff::Backoff,
        config::ProviderConfig, retry::RetryPolicy,
    },
};
use serde_json::{Value, json};
use tokio::time::Instant;

/// The key that goes with each call.
pub(crate) const KEY: &str = "sk-models-open-sesame";
/// More time than any test takes.
pub(crate) const PLENTY: Duration = Duration::from_secs(60);

/// The table of a provider at `base_url`, with more lines.
pub(crate) fn table(provider: &str, base_url: &str, more: &str) -> String {
    format!(
        "provider = \"{provider}\"\nbase_url = \"{base_url}\"\nmodel = \"m-1\"\n\
         api_key_env = \"KEY\"\n{more}"
    )
}

/// A runtime as this table describes it; its first delay is short, since sockets want real time.
pub(crate) fn runtime(table: &str) -> AgentRuntime {
    runtime_with(table, Backoff::starting_at(Duration::from_millis(2)))
}

/// The same, with these delays.
pub(crate) fn runtime_with(table: &str, backoff: Backoff) -> AgentRuntime {
    let config: ProviderConfig = toml::from_str(table).expect("well formed");
    let shared = Shared::new(Clock::system(), Chance::seeded(11), Arc::new(()));
    let key = |name: &str| (name == "KEY").then(|| KEY.to_owned());
    let connector = config.connect(key, &shared);
    let retry = RetryPolicy::with_backoff(backoff);
    AgentRuntime::new(connector.expect("complete"), retry, shared)
}

/// A call that asks for this.
pub(crate) fn call(prompt: &str, limit: Duration) -> ModelCall {
    ModelCall::new(
        "r-1".parse().expect("valid"),
        "m-1".parse().expect("valid"),
        vec![Message::user(prompt)],
        Instant::now() + limit,
    )
}

/// What the model of this table says to a greeting.
pub(crate) async fn ask(table: &str) -> Result<ModelAnswer, CallFailed> {
    ask_within(table, PLENTY).await
}

/// The same, with little time.
pub(crate) async fn ask_within(table: &str, limit: Duration) -> Result<ModelAnswer, CallFailed> {
    runtime(table).call(&call("hello", limit)).await
}

/// A good answer in OpenAI's form, with this message.
pub(crate) fn chat(message: &Value) -> Value {
    json!({
        "id": "c-1",
        "object": "chat.completion",
        "model": "m-1-0815",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
    })
}

/// A good answer in OpenAI's form.
pub(crate) fn good() -> Value {
    chat(&json!({"role": "assistant", "content": "hi"}))
}

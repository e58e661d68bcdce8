//! Servers for the tests of the connectors, and a runtime that asks them.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::Connector;
use crate::{
    clock::{Chance, Clock},
    runtime::{
        AgentRuntime, CallFailed, Message, ModelAnswer, ModelCall, Shared, backoff::Backoff,
        config::ProviderConfig, retry::RetryPolicy,
    },
};

/// What the environment variable `KEY` holds.
pub(super) const KEY: &str = "sk-open-sesame";
/// More time than any test takes.
pub(super) const PLENTY: Duration = Duration::from_secs(30);

fn shared() -> Shared {
    Shared::new(Clock::system(), Chance::seeded(5), Arc::new(()))
}

fn connected(table: &str, shared: &Shared) -> Connector {
    let config: ProviderConfig = toml::from_str(table).expect("well formed");
    let env = |name: &str| (name == "KEY").then(|| KEY.to_owned());
    config.connect(env, shared).expect("complete")
}

/// The connector alone.
pub(super) fn connector(table: &str) -> Connector {
    connected(table, &shared())
}

/// A runtime whose first delay is short, since real sockets want real time.
pub(super) fn runtime(table: &str) -> AgentRuntime {
    runtime_with(table, shared())
}

/// The same, over pools and counters of one's own.
pub(super) fn runtime_with(table: &str, shared: Shared) -> AgentRuntime {
    let connector = connected(table, &shared);
    let retry = RetryPolicy::with_backoff(Backoff::starting_at(Duration::from_millis(2)));
    AgentRuntime::new(connector, retry, shared)
}

/// A call that says hello.
pub(super) fn call(limit: Duration) -> ModelCall {
    ModelCall::new(
        "r-1".parse().expect("valid"),
        "m-1".parse().expect("valid"),
        vec![Message::user("hello")],
        Instant::now() + limit,
    )
}

pub(super) async fn ask_within(table: &str, limit: Duration) -> Result<ModelAnswer, CallFailed> {
    runtime(table).call(&call(limit)).await
}

pub(super) async fn ask(table: &str) -> Result<ModelAnswer, CallFailed> {
    ask_within(table, PLENTY).await
}

/// A server that answers each of the first calls in its own way and every later one with `then`.
pub(super) async fn server(
    first: impl IntoIterator<Item = ResponseTemplate>,
    then: ResponseTemplate,
) -> MockServer {
    let server = MockServer::start().await;
    for response in first {
        let once = Mock::given(any()).respond_with(response);
        once.up_to_n_times(1).mount(&server).await;
    }
    Mock::given(any()).respond_with(then).mount(&server).await;
    server
}

/// How many calls the server saw.
pub(super) async fn calls(server: &MockServer) -> usize {
    server.received_requests().await.unwrap_or_default().len()
}

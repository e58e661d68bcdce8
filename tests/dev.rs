//! Local servers keep their data, and nothing outlives its starter.

mod support;
use support::Servers;

#[tokio::test]
async fn fresh_servers_answer() {
    let servers = Servers::start().await;
    assert!(servers.nats.url().starts_with("nats://127.0.0.1:"));
}

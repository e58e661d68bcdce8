//! Whether a gateway can serve, told at its own port as its servers come and go.

use super::{process::Gateway, translating};
use crate::{fleet::Fleet, patience::until};

/// Waits until these checks are all that it lacks; with none, it is ready.
async fn until_lacking(gateway: &Gateway, checks: &[&str]) {
    let what = format!("the gateway lacks {checks:?}");
    until(&what, async || {
        let told = gateway.told("/readyz").await;
        let lacking = told.body["not_ready"].as_array().expect("a list");
        let lacking: Vec<_> = lacking.iter().map(|it| &it["check"]).collect();
        let status = if checks.is_empty() { 200 } else { 503 };
        (lacking == checks && told.status == status).then_some(())
    })
    .await;
    assert_eq!(gateway.told("/livez").await.status, 200);
}

/// Whether the gateway's own binary says that it serves, and its reasons.
async fn health(fleet: &Fleet, gateway: &Gateway) -> (i32, String) {
    let at = format!("gateway.telemetry={}", gateway.telemetry());
    let told = fleet.puruto(&["health", "--gateway", "--set", &at]).await;
    (told.code, told.output)
}

#[tokio::test]
async fn a_gateway_is_not_ready_while_redis_is_away() {
    let mut fleet = translating().await;
    let gateway = fleet.gateway("g").await;
    until_lacking(&gateway, &[]).await;

    fleet.servers.redis.kill().await.expect("killed");

    until_lacking(&gateway, &["redis"]).await;
    let (code, why) = health(&fleet, &gateway).await;
    assert!(code == 1 && why.contains("redis at"), "{code} {why}");
    fleet.servers.redis.restart().await.expect("up again");
    until_lacking(&gateway, &[]).await;
    assert_eq!(health(&fleet, &gateway).await.0, 0);
}

#[tokio::test]
async fn a_gateway_is_not_ready_while_nats_is_away() {
    let mut fleet = translating().await;
    let gateway = fleet.gateway("g").await;
    until_lacking(&gateway, &[]).await;

    fleet.servers.nats.kill().await.expect("killed");

    until_lacking(&gateway, &["nats"]).await;
    fleet.servers.nats.restart().await.expect("up again");
    until_lacking(&gateway, &[]).await;
}

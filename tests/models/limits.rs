//! The bounds of a table and of a pool, as whoever runs into them is told.

use std::{iter::repeat_n, sync::Arc, time::Duration};

use futures_util::future::join_all;
use puruto_fleet::{
    clock::{Chance, Clock},
    runtime::{
        AgentRuntime, Fault, Shared,
        backoff::Backoff,
        config::ProviderConfig,
        connector::transport::{ConnectionLimit, PoolRules, Pools},
        fault::Phase,
        retry::RetryPolicy,
    },
};

use tokio::time::timeout;

use crate::{
    asking::{PLENTY, ask, call, good, table},
    fault_server::{Deed, FaultServer},
};

const SHORT: Duration = Duration::from_millis(150);

/// What a call to a server ends in that always does this, with these lines in the table.
async fn fault(deed: Deed, more: &str) -> Fault {
    let server = FaultServer::start([], deed).await;
    let table = table("openai", &server.base_url(), more);
    ask(&table).await.expect_err("no answer").fault
}

#[tokio::test]
async fn each_bound_of_a_table_ends_what_exceeds_it_and_is_told_by_its_name() {
    let answer = good().to_string();
    let begun = Deed::send("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{");
    let long = Deed::respond(200, "", &"x".repeat(1_025));
    let late = |phase| Fault::Timeout {
        phase,
        after: SHORT,
    };
    for (deed, line, expected) in [
        (
            Deed::silence(),
            "request_timeout = \"150ms\"",
            late(Phase::Attempt),
        ),
        (
            Deed::silence(),
            "first_byte_timeout = \"150ms\"",
            late(Phase::FirstByte),
        ),
        (
            begun.then_hang(),
            "between_bytes_timeout = \"150ms\"",
            late(Phase::BetweenBytes),
        ),
        (
            long,
            "body_max = \"1 KiB\"",
            Fault::BodyTooLarge { cap: 1_024 },
        ),
        (
            Deed::respond(200, "", &answer),
            "body_max = 9",
            Fault::BodyTooLarge { cap: 9 },
        ),
    ] {
        assert_eq!(fault(deed, line).await, expected, "{line}");
    }
}

/// A runtime whose pool has one connection, and so much time to wait for it.
fn crowded(table: &str, acquire_timeout: Duration) -> AgentRuntime {
    let pools = Pools::new(PoolRules {
        connections: ConnectionLimit::nearest(1),
        acquire_timeout,
        ..PoolRules::default()
    });
    let shared = Shared {
        pools,
        ..Shared::new(Clock::system(), Chance::seeded(3), Arc::new(()))
    };
    let config: ProviderConfig = toml::from_str(table).expect("well formed");
    let connector = config.connect(|_| None, &shared);
    let retry = RetryPolicy::with_backoff(Backoff::starting_at(Duration::from_millis(2)));
    AgentRuntime::new(connector.expect("complete"), retry, shared)
}

#[tokio::test]
async fn a_crowd_of_our_own_is_no_fault_of_the_server() {
    let server = FaultServer::start([Deed::silence()], Deed::json(&good())).await;
    let base_url = server.base_url();
    let table = format!("provider = \"openai\"\nbase_url = \"{base_url}\"\nmodel = \"m-1\"\n");
    let runtime = crowded(&table, SHORT);
    let first = call("hi", PLENTY);
    let mut held = Box::pin(runtime.call(&first));
    assert!(timeout(SHORT, &mut held).await.is_err(), "it is held");
    // More in vain than it takes of failures to open a circuit.
    let crowd = repeat_n((), 13).map(|()| async {
        let crowd = call("hi", SHORT * 2);
        runtime.call(&crowd).await
    });
    for outcome in join_all(crowd).await {
        let failed = outcome.expect_err("the one connection is held");
        let ours = matches!(
            failed.fault,
            Fault::Timeout {
                phase: Phase::Acquire,
                ..
            } | Fault::DeadlinePassed
        );
        assert!(ours, "{failed}");
    }
    assert_eq!(server.requests(), 1, "that of the call that holds it");
    drop(held);
    let next = runtime.call(&call("hi", PLENTY)).await;
    assert_eq!(next.expect("its circuit is closed").content, "hi");
}

#[tokio::test]
async fn a_circuit_that_opens_stops_also_those_who_wait_for_a_connection() {
    let server = FaultServer::start([], Deed::respond(500, "", "{}")).await;
    let base_url = server.base_url();
    let table = format!("provider = \"openai\"\nbase_url = \"{base_url}\"\nmodel = \"m-1\"\n");
    let runtime = crowded(&table, PLENTY);
    let crowd = repeat_n((), 30).map(|()| async {
        let crowd = call("hi", PLENTY);
        runtime.call(&crowd).await
    });
    let mut spared = 0;
    for outcome in join_all(crowd).await {
        let failed = outcome.expect_err("it always fails");
        spared += usize::from(failed.attempts == 0);
    }
    assert_eq!(server.requests(), 10, "as many as it takes to open it");
    assert!(spared >= 20, "{spared} were let through and made no call");
}
